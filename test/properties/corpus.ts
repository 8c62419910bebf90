import type { PushRequest } from '../../src/engine/push/push.ts';
import { DAY_MS, type ModelPolicy } from './model-parts.ts';

/** What operations choose from. Position 0 is the plainest, because shrinking moves towards it. */

export const QUEUES = ['alpha', 'beta', 'gamma'] as const;
export const HANDLERS = ['run', 'Walk/far:2'] as const;
export const PRIORITIES = [0, 0, 5, -5, 32_767, -32_768] as const;
export const MAX_TRIES = [3, 1, 2, 50] as const;
export const LEASES_MS = [30_000, 30_000, 5_000, 120_000, DAY_MS] as const;
/** The long ones lie beyond the 24.8 days that a timer of the platform can wait. */
export const DELAYS_MS = [1_000, 1, 250, 45_000, DAY_MS, 25 * DAY_MS, 30 * DAY_MS] as const;

const DEFAULT_POLICY: ModelPolicy = { baseMs: 1_000, factor: 2, maxMs: 3_600_000, jitter: 0.5 };
export const POLICIES: readonly (readonly [PushRequest['retry'], ModelPolicy])[] = [
  [undefined, DEFAULT_POLICY],
  [
    { baseMs: 0, jitter: 0 },
    { ...DEFAULT_POLICY, baseMs: 0, jitter: 0 },
  ],
  [
    { baseMs: '200ms', factor: 10, maxMs: '5s', jitter: 0 },
    { baseMs: 200, factor: 10, maxMs: 5_000, jitter: 0 },
  ],
  [{ jitter: 1 }, { ...DEFAULT_POLICY, jitter: 1 }],
];

export const KEYS = ['order-1', 'order-2', 'ключ 🔑'] as const;
export const WINDOWS_MS = [DAY_MS, 1_000, 3_600_000, 7 * DAY_MS] as const;
export const OPS = ['op-1', 'op-2', 'op-3', 'op 4 ✓'] as const;

const deep = (levels: number): unknown => (levels === 0 ? 'bottom' : [deep(levels - 1)]);

/** Inputs, results and errors that must come back as they were given. */
export const VALUES: readonly unknown[] = [
  undefined,
  { n: 1 },
  null,
  { b: [1, 2.5, -0, 5e-324], a: { nested: true } },
  'plain',
  { text: 'Grüße, 世界 \u{1F600} \uFFFF \u2028 \u0001' },
  deep(64),
  'x'.repeat(1_022),
  'x'.repeat(1_023),
  '世'.repeat(1_000),
  '世'.repeat(1_030),
  { blob: 'y'.repeat(20_000) },
  { a: { nested: true }, b: [1, 2.5, 0, 5e-324] },
];

const half = '\ud800';
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

/** Inputs that must be refused: what a store would choke on, change, or never give back. */
export const POISON: readonly (readonly [unknown, string])[] = [
  ['a NUL \u0000 inside', 'INVALID_INPUT'],
  [{ 'key\u0000': 1 }, 'INVALID_INPUT'],
  [`half ${half} a pair`, 'INVALID_INPUT'],
  [{ [half]: 1 }, 'INVALID_INPUT'],
  [deep(65), 'INVALID_INPUT'],
  [deep(5_000), 'INVALID_INPUT'],
  ['x'.repeat(1_048_575), 'TOO_LARGE'],
  [Object.assign([], { length: 2_000_000 }), 'TOO_LARGE'],
  [10n, 'INVALID_INPUT'],
  [Number.NaN, 'INVALID_INPUT'],
  [{ n: Number.POSITIVE_INFINITY }, 'INVALID_INPUT'],
  [1e308, 'INVALID_INPUT'],
  [2 ** 53, 'INVALID_INPUT'],
  [() => 1, 'INVALID_INPUT'],
  [new Map(), 'INVALID_INPUT'],
  [cyclic, 'INVALID_INPUT'],
  [JSON.parse('{"__proto__": 1}'), 'INVALID_INPUT'],
];

/** Requests with something else wrong about them. */
export const WRONG: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ queue: 'Not A Name' }, 'INVALID_INPUT'],
  [{ queue: '' }, 'INVALID_INPUT'],
  [{ queue: 'a\u0000b' }, 'INVALID_INPUT'],
  [{ handler: 'späße' }, 'INVALID_INPUT'],
  [{ handler: undefined }, 'INVALID_INPUT'],
  [{ priority: 1.5 }, 'INVALID_INPUT'],
  [{ priority: 40_000 }, 'INVALID_INPUT'],
  [{ maxAttempts: 0 }, 'INVALID_INPUT'],
  [{ delay: -1 }, 'INVALID_INPUT'],
  [{ delay: 'soon' }, 'INVALID_INPUT'],
  [{ delay: '101y' }, 'INVALID_INPUT'],
  [{ delay: 1, runAt: 1 }, 'INVALID_INPUT'],
  [{ runAt: -1 }, 'INVALID_INPUT'],
  [{ runAt: 0.5 }, 'INVALID_INPUT'],
  [{ unique: '' }, 'INVALID_INPUT'],
  [{ unique: 'a\u0000b' }, 'INVALID_INPUT'],
  [{ unique: half }, 'INVALID_INPUT'],
  [{ unique: 'k'.repeat(256) }, 'INVALID_INPUT'],
  [{ unique: { key: 'k', window: '8d' } }, 'INVALID_INPUT'],
  [{ op: '' }, 'INVALID_INPUT'],
  [{ op: 'tab\there' }, 'INVALID_INPUT'],
  [{ retry: { jitter: 2 } }, 'INVALID_INPUT'],
  [{ retry: { base: 1 } }, 'INVALID_INPUT'],
  [{ colour: 'red' }, 'UNKNOWN_OPTION'],
];

/** Schedules whose slots are the multiples of their period. */
export const SCHEDULES: readonly (readonly [cron: string, periodMs: number])[] = [
  ['0 0 * * *', DAY_MS],
  ['*/5 * * * *', 300_000],
  ['0 */6 * * *', 6 * 3_600_000],
];
