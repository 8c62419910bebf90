import type { Artifact } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { World } from '../../core/world.ts';
import type { NodeAnswer } from '../../protocol/answers.ts';
import type {
  ArtifactLink,
  BegunTransfer,
  OutgoingFile,
  TransferCall,
  WhichArtifact,
} from '../../protocol/artifact-link.ts';
import type { LeaseProof, NewRequest } from '../../protocol/frames.ts';
import { fetchFile, sendFile } from './http-transfer.ts';
import { DEFAULT_PATIENCE_MS, patiently } from './patience.ts';
import type { AddressRules } from './transfer-address.ts';

/** How a joined worker exchanges artifacts. */
export interface ArtifactReach {
  /** How long a transfer is tried again; default five minutes. */
  readonly patienceMs?: number | undefined;
  /** Hosts beside the node that bytes may go to and come from. Undefined: as `AddressRules` says. */
  readonly hosts?: readonly string[] | undefined;
}

export interface NodeArtifactsOptions extends ArtifactReach {
  readonly world: World;
  readonly request: <R extends NewRequest>(request: R) => Promise<NodeAnswer<R['type']>>;
  /** Undefined: the lease is not held. */
  readonly proofOf: (lease: Lease) => LeaseProof | undefined;
  /** The address of the node in use. */
  readonly node: () => string;
  /** Whether the node can be asked at all. */
  readonly offered: () => boolean;
}

/** The artifacts of a session at a node: the node says where bytes go, and they travel beside the session. */
export class NodeArtifacts implements ArtifactLink {
  readonly #options: NodeArtifactsOptions;

  constructor(options: NodeArtifactsOptions) {
    this.#options = options;
  }

  async put(lease: Lease, file: OutgoingFile, { signal, onProgress }: TransferCall = {}): Promise<Artifact> {
    const { request } = this.#options;
    const { name, type: media, kind, size, sha256 } = file;
    const announced = { name, media, size, sha256, ...(kind === undefined ? {} : { kind }) };
    let begun: BegunTransfer | undefined;
    let arrived = false;
    return this.#patiently(name, 'stored', signal, async (renew) => {
      if (begun === undefined || renew) {
        const again = begun === undefined ? {} : { again: begun.id };
        begun = await request({ type: 'artifact_begin', lease: this.#proof(lease), ...announced, ...again });
      }
      if (!arrived) await sendFile(begun.transfer, file, this.#rules, { signal, onProgress });
      arrived = true;
      return request({ type: 'artifact_end', lease: this.#proof(lease), artifact: begun.id });
    });
  }

  async find(lease: Lease, { id, name, task, run }: WhichArtifact): Promise<Artifact> {
    const which = {
      ...(id === undefined ? {} : { artifact: id }),
      ...(name === undefined ? {} : { name }),
      ...(task === undefined ? {} : { task }),
      ...(run === true ? { run } : {}),
    };
    return this.#options.request({ type: 'artifact_find', lease: this.#proof(lease), ...which });
  }

  async fetch(
    lease: Lease,
    artifact: Artifact,
    path: string,
    { signal, onProgress }: TransferCall = {},
  ): Promise<void> {
    const { request } = this.#options;
    await this.#patiently(artifact.name, 'read', signal, async () => {
      const transfer = await request({ type: 'artifact_fetch', lease: this.#proof(lease), artifact: artifact.id });
      await fetchFile(transfer, artifact, path, this.#rules, { signal, onProgress });
    });
  }

  async list(lease: Lease, task?: string): Promise<readonly Artifact[]> {
    return this.#options.request({
      type: 'artifact_list',
      lease: this.#proof(lease),
      ...(task === undefined ? {} : { task }),
    });
  }

  get #rules(): AddressRules {
    return { node: this.#options.node(), hosts: this.#options.hosts };
  }

  #proof(lease: Lease): LeaseProof {
    const { offered, node, proofOf } = this.#options;
    if (!offered()) throw fault('NODE_TOO_OLD', { url: node(), call: 'it stores no artifacts' });
    const proof = proofOf(lease);
    if (proof === undefined) throw fault('LEASE_LOST', { task: lease.task, attempt: lease.attempt });
    return proof;
  }

  #patiently<T>(
    name: string,
    way: 'stored' | 'read',
    signal: AbortSignal | undefined,
    attempt: (renew: boolean) => Promise<T>,
  ): Promise<T> {
    const { world, patienceMs = DEFAULT_PATIENCE_MS } = this.#options;
    return patiently({ world, patienceMs, signal, name, way }, attempt);
  }
}
