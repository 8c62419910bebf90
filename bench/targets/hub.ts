import { BULLMQ, DIRECT, HUB } from '../contenders/hub/index.ts';
import { percentile } from '../figures.ts';
import { atLeast, atMost, plain, ratio, type Target } from './target.ts';

const LATENCY = 'latency 2';

export const hubTargets: readonly Target[] = [
  atMost('idle worker: memory of the node (RSS)', 20, 'kB', plain('idle rss', HUB)),
  atMost('all workers idle: CPU of the node', 5, '%', plain('idle cpu', HUB)),
  atMost('all workers idle: statements', 10, '/s', plain('idle statements', HUB)),
  atMost('all workers idle: statements that are theirs', 10, '/s', plain('idle added', HUB)),
  atMost('a tenth reads nothing: growth of the node / its bound', 1, '×', (figures) =>
    figures.ratio({ key: 'stalled growth', contender: HUB }, { key: 'stalled bound', contender: HUB }),
  ),
  atMost('node killed: until the last worker works again', 30, 's', plain('storm last', HUB)),
  atLeast('no-op tasks, hub / direct', 0.6, '×', ratio({ key: 'throughput', contender: HUB }, { contender: DIRECT })),
  atLeast('no-op tasks, hub / BullMQ', 2, '×', ratio({ key: 'throughput', contender: HUB }, { contender: BULLMQ })),
  atMost('push to start, p50, hub − direct', 2, 'ms', (figures) => {
    const [hub, direct] = [HUB, DIRECT].map((name) => percentile(figures.get(LATENCY, name), 50));
    return hub === undefined || direct === undefined ? undefined : hub - direct;
  }),
];
