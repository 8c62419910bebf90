import { THREE } from '../cluster/contenders.ts';
import { atMost, plain, type Target } from './target.ts';

const worst = (key: string): Target['figure'] => plain(key, THREE, 100);

export const clusterTargets: readonly Target[] = [
  atMost('rolling restart: pushes that failed', 0, '', worst('rolling failed')),
  atMost('rolling restart: tasks lost', 0, '', worst('rolling lost')),
  atMost('rolling restart: attempts that were begun and repeated', 0, '', worst('rolling repeated')),
  atMost('rolling restart: leases that ran out', 0, '', worst('rolling expired')),
  // What the guide of three nodes says.
  atMost('rolling restart: longest without a leader', 1500, 'ms', worst('rolling leaderless')),
  atMost('rolling restart: longest without a start, though one could', 500, 'ms', worst('rolling gap')),
];
