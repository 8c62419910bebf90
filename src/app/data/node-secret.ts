import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import type { EarlierLeases } from '../../server/workers/lease-tokens.ts';
import type { SecretPin, Store } from '../../store/store.ts';
import type { SecretSource } from './secret-source.ts';

/** What a node signs with. */
export interface NodeSecret {
  readonly secret: ClusterSecret;
  /** Leases that were granted before there was a secret, as long as there are some. */
  readonly earlier: EarlierLeases | undefined;
}

/**
 * Lets a node work on a store if it has the secret of its cluster. The first node of a store makes one, or brings its own; from
 * then on the store refuses every other. A node that is refused leaves nothing behind.
 */
export async function admitNode(store: Store, source: SecretSource): Promise<NodeSecret> {
  // In this order: the file of a first node is there before the store knows of it.
  const pin = await store.secretPin({});
  const found = source.read();
  const made = found === undefined && pin === undefined ? source.make?.() : undefined;
  const text = found ?? made?.secret;
  if (text === undefined) throw refused(source, 'does not have it');
  const secret = new ClusterSecret(text, store.clusterKey);
  const { fingerprint } = secret;
  const kept = pin ?? (await store.secretPin({ fingerprint }));
  if (kept?.fingerprint !== fingerprint) {
    made?.undo();
    throw refused(source, 'has another one');
  }
  return { secret, earlier: await earlierLeases(store, kept) };
}

const PAGE = 500;

/** Only leases that are older than the secret: nobody can add to them. */
async function earlierLeases(store: Store, { leasesBefore }: SecretPin): Promise<EarlierLeases | undefined> {
  if (leasesBefore === undefined) return undefined;
  const keyOf = ({ task, attempt }: Lease): string => `${task}/${attempt}`;
  const held = await store.leaseList({});
  const earlier = new Set<string>();
  for (let at = 0; at < held.length; at += PAGE) {
    const page = held.slice(at, at + PAGE);
    const records = await store.taskGet({ tasks: page.map(({ task }) => task) });
    for (const [i, lease] of page.entries()) {
      const record = records[i];
      if (record?.attempt === lease.attempt && (record.startedAt ?? Number.POSITIVE_INFINITY) <= leasesBefore) {
        earlier.add(keyOf(lease));
      }
    }
  }
  return earlier.size === 0 ? undefined : { clusterKey: store.clusterKey, has: (lease) => earlier.has(keyOf(lease)) };
}

function refused({ place }: SecretSource, how: string): Error {
  return fault(
    'CONFLICT',
    { problem: `the nodes of this store share a secret, and this node ${how} (${place})` },
    {
      hint: [
        'Take the secret from a node that has it, the file cluster-secret in its data folder, and give it to this one: as that file',
        '(mode 0600), as LEASEHOLD_CLUSTER_SECRET, or with --cluster-secret-file FILE. If it is lost, stop all nodes and say',
        '"leasehold cluster secret --renew": workers elsewhere then lose what they run, and log in again.',
      ].join('\n'),
    },
  );
}
