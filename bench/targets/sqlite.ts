import { LIBRARY } from '../contenders/library.ts';
import { REFERENCE } from '../contenders/sqlite/index.ts';
import { atLeast, atMost, ENGINE, engine, plain, ratio, type Target } from './target.ts';

const library = (key: string): Target['figure'] => ratio({ key, contender: LIBRARY }, { contender: ENGINE });

export const sqliteTargets: readonly Target[] = [
  atLeast('drain, 1 process / plainjob', 5, '×', engine('drain 1', { contender: 'plainjob' })),
  atLeast('drain, 4 processes / plainjob', 2.5, '×', engine('drain 4', { contender: 'plainjob' })),
  atLeast('drain, 1 process / floor batch FULL', 0.35, '×', engine('drain 1', { contender: REFERENCE })),
  atLeast('push, 16 callers / coalesced floor FULL', 0.6, '×', engine('push 16', { contender: REFERENCE })),
  atLeast('push, 256 callers', 60_000, '/s', plain('push 256', ENGINE)),
  atLeast('push, bulk / bulk floor FULL', 0.7, '×', engine('push bulk', { contender: REFERENCE })),
  atLeast('drain, 1 M finished behind / empty', 0.9, '×', engine('growth 1000000', { key: 'growth 0' })),

  atLeast('library: drain, 1 process / engine', 0.7, '×', library('drain 1')),
  atLeast('library: push, 16 callers / engine', 0.7, '×', library('push 16')),
  atMost('library: push to start in one process, p50', 0.5, 'ms', plain('latency 1', LIBRARY)),
  atMost('library: push to start across two processes, p50 / floor batch FULL', 1, '×', (figures) =>
    figures.ratioOfMedians({ key: 'latency 2', contender: LIBRARY }, { key: 'latency 2', contender: REFERENCE }),
  ),
  atLeast('library: no-op tasks in child processes, 4 slots', 2000, '/s', plain('children 4', LIBRARY)),
  atLeast('library: no-op tasks in child processes, 8 slots', 2000, '/s', plain('children 8', LIBRARY)),
  atMost('library: push to start in a warm child, p50', 3, 'ms', plain('children latency', LIBRARY)),
  atMost('library: child killed to start in the spare, p50', 100, 'ms', plain('children replaced', LIBRARY)),
  atMost('library: greatest lateness of a 10 ms timer under load', 50, 'ms', plain('timer', LIBRARY, 100)),
  atMost('library: memory of an idle worker, built package', 80, 'MB', plain('rss built', LIBRARY)),
];
