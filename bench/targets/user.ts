/** What a user of the library is promised: issue by issue, within one run. */
import { LIBRARY } from '../contenders/library.ts';
import { PEERS, REFERENCE as PG_FLOOR, FLOOR as PG_SINGLE } from '../contenders/postgres/index.ts';
import { PEER, SINGLE, REFERENCE as SQLITE_FLOOR } from '../contenders/sqlite/index.ts';
import { percentile } from '../figures.ts';
import { atLeast, atMost, fastest, lowest, plain, ratio, type Target } from './target.ts';

type Figure = Target['figure'];

const own = (key: string, under: string): Figure => ratio({ key, contender: LIBRARY }, { key: under });
const against = (key: string, contender: string): Figure => ratio({ key, contender: LIBRARY }, { contender });
const cold = (contender: string): Figure =>
  ratio({ key: 'push cold', contender: LIBRARY }, { key: 'push 1', contender });
const samples = (percent: number, contender: string): Figure => lowest('latency', percent, [contender], LIBRARY);

/** Its own worst of a round, in the median, over the lowest that a peer has. */
const worst =
  (peers: readonly string[]): Figure =>
  (figures) => {
    const of = (contender: string): number => percentile(figures.get('latency worst', contender), 50) ?? Number.NaN;
    const best = Math.min(...peers.map(of).filter((value) => !Number.isNaN(value)));
    const ours = of(LIBRARY);
    return Number.isNaN(ours) || best === Number.POSITIVE_INFINITY ? undefined : ours / best;
  };

const SHARED: readonly Target[] = [
  atLeast('drain with a limit that does not bind / without', 0.9, '×', own('limit', 'lane 1')),
  atLeast('drain, 1 M finished behind / empty', 0.85, '×', own('growth finished', 'growth 0')),
  atLeast('drain, 1 M finished and 1 M pending behind / empty', 0.85, '×', own('growth pending', 'growth 0')),
  atMost('idle worker process, memory', 75, 'MB', plain('idle rss', LIBRARY)),
];

export const userOnSqlite: readonly Target[] = [
  atLeast('drain, 1 process / plainjob', 5, '×', against('drain warm 1', PEER)),
  atLeast('drain, 1 process / batched floor', 0.35, '×', against('drain warm 1', SQLITE_FLOOR)),
  atLeast('drain, 4 processes / plainjob', 3, '×', against('drain warm 4', PEER)),
  atLeast('drain, 4 processes / own 1 process', 0.7, '×', own('drain warm 4', 'drain warm 1')),
  atMost('CPU per task, warm', 22, 'µs', plain('cpu warm 1', LIBRARY)),
  atMost('CPU per task, cold / warm', 3, '×', own('cpu cold 1', 'cpu warm 1')),
  atLeast('push, 1 caller, warm / raw FULL insert', 0.75, '×', against('push 1', SINGLE)),
  atLeast('push, 1 caller, cold / raw FULL insert', 0.3, '×', cold(SINGLE)),
  atLeast('push, 16 callers / coalesced floor', 0.7, '×', against('push 16', SQLITE_FLOOR)),
  atMost('push to start across processes, p50 / plainjob', 1, '×', samples(50, PEER)),
  atMost('push to start across processes, p99 / plainjob', 2, '×', samples(99, PEER)),
  atLeast('work pool, 4 processes, one at a time / by hand', 0.4, '×', against('work 1', SINGLE)),
  atLeast('work pool, 4 processes, 16 claims in flight', 3000, '/s', plain('work 16', LIBRARY)),
  atLeast('drain, 10,000 lanes / one', 0.6, '×', own('lanes', 'lane 1')),
  ...SHARED,
];

export const userOnPostgres: readonly Target[] = [
  atLeast('drain, 1 process / fastest peer', 1.4, '×', fastest('drain warm 1', PEERS, LIBRARY)),
  atLeast('drain, 4 long-lived processes / fastest peer', 1.1, '×', fastest('drain warm 4', PEERS, LIBRARY)),
  atLeast('drain, 4 cold processes / fastest peer', 0.9, '×', fastest('drain cold 4', PEERS, LIBRARY)),
  atLeast('drain, 1 process / batched floor', 0.5, '×', against('drain warm 1', PG_FLOOR)),
  atMost('CPU per task, client and server', 65, 'µs', plain('cpu warm 1', LIBRARY)),
  atMost('worker process, CPU of its start', 0.3, 's', plain('start cpu', LIBRARY)),
  atMost('push to start across processes, p50 / best peer', 1, '×', lowest('latency', 50, PEERS, LIBRARY)),
  atMost('push to start across processes, p99 / floor', 1.5, '×', samples(99, PG_FLOOR)),
  atMost('push to start across processes, worst of the first 100 / best peer', 2, '×', worst(PEERS)),
  atLeast('push, 1 caller / raw insert', 0.6, '×', against('push 1', PG_SINGLE)),
  atLeast('drain, 10,000 lanes / one', 0.75, '×', own('lanes', 'lane 1')),
  ...SHARED,
];
