import { fault, isEngineError } from '../../core/errors.ts';
import { DEFAULT_STALE_MS } from '../../core/placement/worker.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { CredentialSafe } from '../../operate/credentials/safe.ts';
import { SIGNER_NAME, SIGNER_VERSION } from '../../operate/credentials/signer.ts';
import type { Store } from '../../store/store.ts';
import { operate } from '../operate.ts';
import type { SecretSource } from './secret-source.ts';

/** How a store and the secret that is found here fit together. */
export interface SecretStatus {
  /** Where it was looked for. */
  readonly place: string;
  readonly fits: 'yes' | 'no' | 'missing' | 'no node has come yet';
}

export async function secretStatus(url: string, source: SecretSource): Promise<SecretStatus> {
  return withStore(url, async (store) => {
    const { place } = source;
    const [pin, text] = [await store.secretPin({}), source.read()];
    if (pin === undefined) return { place, fits: 'no node has come yet' };
    if (text === undefined) return { place, fits: 'missing' };
    return { place, fits: new ClusterSecret(text, store.clusterKey).fingerprint === pin.fingerprint ? 'yes' : 'no' };
  });
}

export interface RenewedSecret {
  readonly place: string;
  /** Whether it was made here; false: it was given, or was here already. */
  readonly made: boolean;
  /** Credentials that go on under the new secret. */
  readonly kept: number;
  /** Credentials that nobody can open any more. */
  readonly lost: readonly string[];
}

export interface RenewWishes {
  /** The secret that the store has had until now, where another one is in its place already. */
  readonly earlier?: Pick<SecretSource, 'read'> | undefined;
  /** Go on although values of credentials are lost with the old secret. */
  readonly lose?: boolean;
}

/**
 * Lets the store take another secret: the one that is here, or a new one if that is its own already or if there is none. All that
 * was signed with the old one is void. Refused while nodes run, which would go on with the old one.
 */
export function renewSecret(url: string, source: SecretSource, wishes: RenewWishes = {}): Promise<RenewedSecret> {
  const { earlier, lose = false } = wishes;
  return withStore(url, async (store) => {
    await requireNoNode(store);
    const pin = await store.secretPin({});
    const fingerprintOf = (text: string): string => new ClusterSecret(text, store.clusterKey).fingerprint;
    const here = source.read();
    const made = here === undefined || fingerprintOf(here) === pin?.fingerprint;
    // Before it is replaced: what is sealed opens with the secret that the store knows.
    const old = [here, earlier?.read(), source.earlier?.()].find(
      (one) => one !== undefined && fingerprintOf(one) === pin?.fingerprint,
    );
    await requireOld(store, old, lose);
    const text = made ? source.replace?.() : here;
    if (text === undefined) {
      const hint = `Put another secret there (openssl rand -base64 32), for all nodes, and say this again.`;
      throw fault('CONFLICT', { problem: `${source.place} has the secret that the store knows already` }, { hint });
    }
    const kept = await sealedAnew(store, new ClusterSecret(text, store.clusterKey), old);
    source.settled?.();
    return { place: source.place, made, ...kept };
  });
}

/** Whoever loses the values of credentials says so. */
async function requireOld(store: Store, old: string | undefined, lose: boolean): Promise<void> {
  if (old !== undefined || lose) return;
  const sealed = (await store.credentialValues({})).length;
  if (sealed === 0) return;
  const hint =
    'Name the file with the old secret: --earlier-secret-file FILE. If it is lost, --force goes on without: set the values again then, and enrol the workers again.';
  const problem = `${sealed} credentials are sealed under the secret of the store, which is not here`;
  throw fault('CONFLICT', { problem }, { hint });
}

/** The store takes the secret and what was sealed anew in one write. Values keep their keys, which are wrapped anew. */
async function sealedAnew(
  store: Store,
  secret: ClusterSecret,
  old: string | undefined,
): Promise<Pick<RenewedSecret, 'kept' | 'lost'>> {
  const after = new CredentialSafe(secret);
  const before = old === undefined ? undefined : new CredentialSafe(new ClusterSecret(old, store.clusterKey));
  const lost: string[] = [];
  const values = (await store.credentialValues({})).flatMap(({ name, valueVersion, sealed }) => {
    const anew = before && wrapped(after, before, name, valueVersion, sealed);
    if (anew === undefined) lost.push(name);
    return anew === undefined ? [] : [{ name, valueVersion, sealed: anew }];
  });
  const signer = await store.credentialSigner({});
  const key = signer && before && wrapped(after, before, SIGNER_NAME, SIGNER_VERSION, signer.sealed);
  await store.credentialReseal({
    fingerprint: secret.fingerprint,
    values,
    ...(signer === undefined ? {} : { signer: key === undefined ? null : { ...signer, sealed: key } }),
  });
  return { kept: values.length, lost };
}

function wrapped(
  after: CredentialSafe,
  before: CredentialSafe,
  name: string,
  version: number,
  sealed: string,
): string | undefined {
  try {
    return after.wrapAnew(before, name, version, sealed);
  } catch (error) {
    if (isEngineError(error, 'CREDENTIAL_LOCKED')) return undefined;
    throw error;
  }
}

async function requireNoNode(store: Store): Promise<void> {
  const { now, nodes } = await store.nodeList();
  const living = nodes.filter(({ left, beatAt }) => !left && now - beatAt < DEFAULT_STALE_MS).map(({ id }) => id);
  if (living.length === 0) return;
  const hint = 'Stop all nodes first; one that was killed is forgotten after 30 seconds. Nothing was changed.';
  throw fault('CONFLICT', { problem: `nodes run on the store: ${living.join(', ')}` }, { hint });
}

async function withStore<T>(url: string, work: (store: Store) => Promise<T>): Promise<T> {
  const operator = await operate({ store: url });
  try {
    return await work(operator.engine.store);
  } finally {
    await operator.close();
  }
}
