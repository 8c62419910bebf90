import { FLOOR, PEERS, REFERENCE } from '../contenders/postgres/index.ts';
import { atLeast, atMost, ENGINE, engine, fastest, lowest, plain, type Target } from './target.ts';

export const postgresTargets: readonly Target[] = [
  atLeast('drain, 1 process / fastest peer', 1.5, '×', fastest('drain 1', PEERS)),
  atLeast('drain, 4 processes / fastest peer', 1.25, '×', fastest('drain 4', PEERS)),
  atLeast('drain, 1 process / batched floor', 0.6, '×', engine('drain 1', { contender: REFERENCE })),
  atMost('CPU per task, server and client, 1 process', 50, 'µs', plain('cpu 1', ENGINE)),

  atLeast('push, 1 caller', 2500, '/s', plain('push 1', ENGINE)),
  atLeast('push, 16 callers', 15_000, '/s', plain('push 16', ENGINE)),
  atLeast('push, 8 processes × 2 callers / plain INSERT', 0.55, '×', engine('push 8x2', { contender: FLOOR })),
  atLeast('push, bulk / bulk floor', 0.7, '×', engine('push bulk', { contender: FLOOR })),

  atMost('push to start across two processes, p50 / best peer', 1, '×', lowest('latency 2', 50, PEERS)),
  atMost('push to start across two processes, p99 / best peer', 1.2, '×', lowest('latency 2', 99, PEERS)),

  atLeast('drain, 1 M finished behind / empty', 0.9, '×', engine('growth finished', { key: 'growth 0' })),
  atLeast('drain, 1 M pending besides / empty', 0.7, '×', engine('growth pending', { key: 'growth 0' })),
  atLeast('drain, old snapshot held / without', 0.7, '×', engine('snapshot held', { key: 'snapshot no' })),
];
