import assert from 'node:assert/strict';
import { env } from 'node:process';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { scaled } from '../support/scale.ts';
import { Gates, type Ground, type StoreKind } from './rig.ts';
import { runSteps } from './run.ts';
import { type Step, Steps, tellSteps } from './steps.ts';

/** Steps of a run, and how often the whole state is compared on the way; answers and the feed are compared each time. */
export const LENGTH = 100;
export const EVERY = 10;
/** So many runs must have reached every rare path. */
const ENOUGH = 100;

const VERBS = ['complete', 'fail', 'give up', 'come back later', 'release', 'bounce', 'cancelled', 'renew'];
const STATES = ['ready', 'running', 'scheduled', 'completed', 'failed', 'cancelled', 'unknown'];

/** Every call in every state: nearly all of them are illegal transitions. */
const EVERY_TRANSITION: readonly string[] = [...VERBS, 'cancel', 'retry'].flatMap((verb) =>
  STATES.map((state) => `${verb} of a task that is ${state}`),
);

/** Rare paths that a set of runs must have reached, or it has shown less than it says. */
const SOMETIMES: readonly string[] = [
  ...VERBS.map((verb) => `stale ${verb} refused`),
  'forged lease refused',
  'lost answer repeated',
  'granted again',
  'lease reaped',
  'reaped: exhausted',
  'reaped: cancelled',
  'reaped: again at once',
  'reaped: again later',
  'the reaper came too late',
  'cancel requested after the reaper looked',
  'failed: exhausted',
  'failed: gave_up',
  'failed: undeliverable',
  'given back after a cancel request',
  'renewal told of a cancel request',
  'finished task retried',
  'staged',
  'unique key led to its task',
  'unique key refused for another input',
  'push repeated by its op',
  'operation id refused for other content',
  'claim repeated by its op',
  'claim waited and got work',
  'disabled worker got nothing',
  'poison refused',
  'poisoned result refused',
  'wrong number refused',
  'many refused for one bad item',
  'cron slot fired',
  'cron slot contested',
  'trigger declared again',
  'duty taken over',
  'duty held by the other process',
  'write of a deposed duty holder refused',
  'task pruned',
  'event pruned',
  'reader told to start over',
  'more than 24.8 days passed',
  'wall clock set back',
  'wall clock set ahead',
  'closed and opened again',
  'crashed and opened again',
];

const IN_THE_CALLERS_TRANSACTION = ['pushed in the caller’s transaction', 'caller rolled back'] as const;
const RARE: Readonly<Record<StoreKind, readonly string[]>> = {
  memory: [...SOMETIMES, 'calls shared a commit'],
  file: [
    ...SOMETIMES,
    'calls shared a commit',
    'busy and tried again',
    'busy until the deadline',
    'host rebooted',
    ...IN_THE_CALLERS_TRANSACTION,
  ],
  postgres: [...SOMETIMES, ...IN_THE_CALLERS_TRANSACTION],
};

/**
 * `LEASEHOLD_SEED=123` repeats a whole set of runs, `LEASEHOLD_SEED=123/4:0:1` the one that failed, shrunk as it was.
 * Without one the ladders say the same each time; `LEASEHOLD_SEED=$RANDOM` looks for something new.
 */
export function chosenSeed(): { readonly seed: number; readonly path?: string } {
  const [seed, path] = (env['LEASEHOLD_SEED'] ?? '').split('/');
  if (!seed) return { seed: 2026 };
  return { seed: Number(seed), ...(path ? { path } : {}) };
}

/** Lets fast-check draw lists of steps, runs each on a store and on the model, and compares. */
export async function compare(t: TestContext, ground: Ground, runs = scaled(100, 2_000)): Promise<void> {
  const { kind } = ground;
  t.after(() => ground.remove());
  const gates = new Gates();
  const started = performance.now();
  const { seed, path } = chosenSeed();
  const outcome = await fc.check(
    fc.asyncProperty(new Steps(kind, LENGTH), (steps) => runSteps(ground, steps, gates, { every: EVERY })),
    { numRuns: runs, seed, ...(path === undefined ? {} : { path }) },
  );
  if (outcome.failed) assert.fail(explain(outcome));
  const seconds = (performance.now() - started) / 1000;
  const operations = outcome.numRuns * LENGTH;
  t.diagnostic(
    `${outcome.numRuns} runs, ${operations} operations, ${Math.round(operations / seconds)} a second, seed ${seed}`,
  );
  const reached = (names: readonly string[]): readonly [string, number][] =>
    names.map((name) => [name, gates.counts.get(name) ?? 0]);
  const transitions = reached(EVERY_TRANSITION);
  const least = transitions.reduce((a, b) => (b[1] < a[1] ? b : a));
  t.diagnostic(`every call in every state: ${transitions.length} pairs, ${least[0]} the rarest with ${least[1]}`);
  const rare = reached(RARE[kind]);
  t.diagnostic(rare.map(([name, count]) => `${name}: ${count}`).join(' · '));
  const missed = [...transitions, ...rare].filter(([, count]) => count === 0).map(([name]) => name);
  // A few runs cannot meet everything.
  if (path === undefined && runs >= ENOUGH) assert.deepEqual(missed, [], `never reached with seed ${seed}`);
}

function explain(outcome: fc.RunDetails<[readonly Step[]]>): string {
  const { seed, counterexamplePath, numShrinks, numRuns, errorInstance, counterexample } = outcome;
  const error = errorInstance instanceof Error ? errorInstance : new Error(String(errorInstance));
  return [
    error.message,
    `Run ${numRuns}, shrunk ${numShrinks} times. Repeat it: LEASEHOLD_SEED=${seed}/${counterexamplePath}`,
    'The steps, each with the numbers of its choices:',
    tellSteps(counterexample?.[0] ?? []),
    error.cause instanceof Error ? (error.cause.stack ?? '') : '',
  ].join('\n');
}
