import { fault } from '../../core/errors.ts';
import { DEFAULT_STALE_MS } from '../../core/placement/worker.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
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
}

/**
 * Lets the store take another secret: the one that is here, or a new one if that is its own already or if there is none. All that
 * was signed with the old one is void. Refused while nodes run, which would go on with the old one.
 */
export function renewSecret(url: string, source: SecretSource): Promise<RenewedSecret> {
  return withStore(url, async (store) => {
    await requireNoNode(store);
    const pin = await store.secretPin({});
    const fingerprintOf = (text: string): string => new ClusterSecret(text, store.clusterKey).fingerprint;
    const here = source.read();
    const made = here === undefined || fingerprintOf(here) === pin?.fingerprint;
    const text = made ? source.replace?.() : here;
    if (text === undefined) {
      const hint = `Put another secret there (openssl rand -base64 32), for all nodes, and say this again.`;
      throw fault('CONFLICT', { problem: `${source.place} has the secret that the store knows already` }, { hint });
    }
    await store.secretPin({ fingerprint: fingerprintOf(text), replace: true });
    return { place: source.place, made };
  });
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
