import { CREDENTIAL_NAME, type CredentialValue, readValue } from '../../core/credential/value.ts';
import { isEngineError } from '../../core/errors.ts';
import type {
  CredentialAck,
  CredentialFeed,
  CredentialLevel,
  CredentialOrder,
  VaultReport,
} from '../../protocol/credential-envelope.ts';
import { openEnvelope } from './envelope.ts';
import type { Shelf } from './shelf.ts';

const MAX_CREDENTIALS = 1000;
/** Orders that may wait. A node sends again what was not acknowledged. */
const MAX_WAITING = 2 * MAX_CREDENTIALS;
/** Removed credentials whose versions are remembered. */
const MAX_REMEMBERED = MAX_CREDENTIALS;

/** Who asks for credentials: the names, and their values when they are needed. */
export interface CredentialSource {
  has(name: string): boolean;
  /** Undefined: it is not held. */
  read(name: string): Promise<CredentialValue | undefined>;
}

type Warn = (message: string, error?: unknown, about?: Readonly<Record<string, unknown>>) => void;

/** What a worker holds of credentials. Orders are carried out one after the other. */
export class Vault implements CredentialSource {
  readonly worker: string;
  readonly #shelf: Shelf;
  /** The oldest change first. */
  readonly #kept = new Map<string, { readonly version: number; readonly held: boolean }>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(worker: string, shelf: Shelf) {
    this.worker = worker;
    this.#shelf = shelf;
    for (const { name, version, held } of shelf.found) this.#kept.set(name, { version, held });
  }

  get level(): CredentialLevel {
    return this.#shelf.level;
  }

  /** What it says of itself. A link says it anew at each connection, so the list is that of the moment in which it is read. */
  get report(): VaultReport {
    const { keys, level } = this.#shelf;
    const holds = (): VaultReport['holds'] => this.#holds();
    return {
      key: keys.publicKey,
      level,
      get holds() {
        return holds();
      },
    };
  }

  #holds(): VaultReport['holds'] {
    return [...this.#kept].flatMap(([name, { version, held }]) => (held ? [{ name, version }] : []));
  }

  has(name: string): boolean {
    return this.#kept.get(name)?.held === true;
  }

  async read(name: string): Promise<CredentialValue | undefined> {
    const known = this.#kept.get(name);
    if (known?.held !== true) return undefined;
    const text = await this.#shelf.read(name);
    if (text !== undefined) return readValue(text);
    // Somebody else has removed the file. The next report says so, and the node gives it again; an order may have been quicker.
    if (this.#kept.get(name) === known) this.#keep(name, known.version, false);
    return undefined;
  }

  /** Does what a node orders, until the returned function is called. */
  follow(feed: CredentialFeed, warn: Warn): () => void {
    return feed.subscribe((order) => {
      if (this.#waiting >= MAX_WAITING) return;
      void this.take(order, () => feed.signer)
        .then((ack) => {
          if (ack.status === 'failed') warn('a credential was not taken', ack.error, { credential: order.name });
          return feed.ack(ack);
        })
        // It says what it holds when it connects again.
        .catch((error: unknown) => warn('the node did not take an acknowledgement', error, { credential: order.name }));
    });
  }

  /** Never rejects: what became of an order is in its acknowledgement. */
  take(order: CredentialOrder, signer: () => string): Promise<CredentialAck> {
    this.#waiting++;
    const taken = this.#last.then(() => this.#carryOut(order, signer()));
    this.#last = taken;
    return taken;
  }

  async #carryOut(order: CredentialOrder, signer: string): Promise<CredentialAck> {
    const { name, version } = order;
    try {
      if ('removed' in order) {
        await this.#remove(name);
        return { name, version, status: 'removed' };
      }
      await this.#store(order, signer);
      return { name, version, status: 'stored', level: this.level };
    } catch (error) {
      return { name, version, status: 'failed', level: this.level, error: sayWhy(error) };
    } finally {
      this.#waiting--;
    }
  }

  async #store(order: Exclude<CredentialOrder, { readonly removed: true }>, signer: string): Promise<void> {
    const { name, version } = order;
    // It becomes the name of a file, whoever says it.
    if (!CREDENTIAL_NAME.test(name)) throw new Error('that is no name of a credential');
    const known = this.#kept.get(name);
    if (known !== undefined && version < known.version)
      throw new Error(`version ${version} is older than version ${known.version}, which this worker has seen`);
    if (known?.held === true && version === known.version && (await this.#shelf.read(name)) !== undefined) return;
    const pinned = this.#shelf.signer;
    if (pinned !== undefined && signer !== '' && pinned !== signer)
      throw new Error('another cluster has signed it than the one that this worker was enrolled at; enrol it again');
    const value = openEnvelope({ worker: this.worker, name, version }, order.envelope, this.#shelf.keys, signer);
    if (known?.held !== true && this.#holds().length >= MAX_CREDENTIALS)
      throw new Error(`this worker holds ${MAX_CREDENTIALS} credentials, and no more`);
    if (pinned === undefined) await this.#shelf.pin(signer);
    if (this.#shelf.signer !== signer) throw new Error('another process of this worker believes another cluster');
    await this.#shelf.put(name, version, JSON.stringify(value));
    this.#keep(name, version, true);
  }

  /**
   * Whatever version the order names: who may not have it any more must not keep it. What counts later is the version that was seen
   * signed, because an order to remove bears no signature.
   */
  async #remove(name: string): Promise<void> {
    const known = this.#kept.get(name);
    if (known?.held !== true) return;
    await this.#shelf.remove(name, known.version);
    this.#keep(name, known.version, false);
    const removed = [...this.#kept].filter(([, { held }]) => !held);
    for (const [old] of removed.slice(0, Math.max(0, removed.length - MAX_REMEMBERED))) {
      await this.#shelf.forget(old);
      this.#kept.delete(old);
    }
  }

  #keep(name: string, version: number, held: boolean): void {
    this.#kept.delete(name);
    this.#kept.set(name, { version, held });
  }
}

const MAX_SAID = 500;

/** Errors of the system name a path, which is nobody else's business. */
function sayWhy(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const own = isEngineError(error) || code === undefined;
  return (own ? message : `the vault cannot be written (${code})`).slice(0, MAX_SAID);
}
