/** What the farm's workers run: every kind of handler, each of which writes down when it starts and how it ends. */
import { setTimeout as pause } from 'node:timers/promises';
import { isEngineError } from '../../../src/core/errors.ts';
import type { TaskContext, TaskOptions } from '../../../src/worker/define/definition.ts';
import { giveUp, retryAfter } from '../../../src/worker/define/outcome.ts';
import { task } from '../../../src/worker/define/task.ts';
import type { StepPolicy } from '../../../src/worker/durable/durable-context.ts';
import { type End, Notes, now } from './farm-notes.ts';

export interface FarmInput {
  readonly key: string;
  readonly ms?: number;
  readonly channel?: string;
}

type Body = (ctx: TaskContext, input: FarmInput) => unknown;

/** Enough for all the kills that can befall one task: an innocent one must not run out of tries. */
const MANY = 60;
const RETRY = { baseMs: 20, maxMs: 100 };
const OUTCOME = Symbol.for('leasehold.outcome');
const worker = Number(process.env['FARM_WORKER'] ?? process.pid);
const notes = new Notes(process.env['FARM_FOLDER'] ?? '.', 'run');

function begin({ id, attempt, tries, maxAttempts }: TaskContext): void {
  notes.write({ note: 'start', id, attempt, tries, max: maxAttempts, pid: process.pid, worker, at: now() });
}

function end({ id, attempt }: TaskContext, how: End['how'], error?: unknown): void {
  // What waits with a signal throws with the reason of the signal as its cause.
  const why = (error as { cause?: { why?: unknown } } | undefined)?.cause?.why;
  const stopped = typeof why === 'string' ? { why } : {};
  notes.write({ note: 'end', id, attempt, how, ...stopped, at: now() });
}

function answer(ctx: TaskContext, { key }: FarmInput, value: unknown): unknown {
  const brand = (value as { [OUTCOME]?: End['how'] } | undefined)?.[OUTCOME];
  end(ctx, brand ?? 'done');
  return brand === undefined ? { key, attempt: ctx.attempt, ...(value as object | undefined) } : value;
}

function threw(ctx: TaskContext, error: unknown): never {
  end(ctx, (error as Error | undefined)?.name === 'ParkedError' ? 'parked' : 'threw', error);
  throw error;
}

type FarmOptions = Omit<TaskOptions<undefined, unknown>, 'run' | 'input'>;

function farmTask(name: string, options: FarmOptions, body: Body) {
  return task(name, {
    queue: 'farm',
    maxAttempts: MANY,
    retry: RETRY,
    ...options,
    run(input, ctx) {
      const given = input as FarmInput;
      begin(ctx);
      let value: unknown;
      try {
        value = body(ctx, given);
      } catch (error) {
        return threw(ctx, error);
      }
      // Not `await`: the functions that are not asynchronous must end in the same turn.
      if (!(value instanceof Promise)) return answer(ctx, given, value);
      return value.then(
        (result) => answer(ctx, given, result),
        (error: unknown) => threw(ctx, error),
      );
    },
  });
}

const apart = { isolation: 'process', module: import.meta.url } as const;

// Inline

export const quick = farmTask('quick', { queue: 'quick' }, () => undefined);
export const turn = farmTask('turn', { queue: 'quick' }, () => new Promise((resolve) => setImmediate(resolve)));
export const chatty = farmTask('chatty', {}, async (ctx) => {
  ctx.log(`line 1 of attempt ${ctx.attempt}`);
  ctx.progress({ done: 1, of: 2 });
  await pause(2);
  ctx.log(`line 2 of attempt ${ctx.attempt}`);
  ctx.progress({ done: 2, of: 2 });
});
/** Half of them take their time the second time, so that a late result of the first attempt meets a newer one at work. */
export const sleeper = farmTask('sleeper', {}, (ctx, { ms = 0 }) =>
  pause(ctx.attempt === 2 && ms % 2 < 1 ? ms + 800 : ms, undefined, { signal: ctx.signal }),
);
export const busy = farmTask('busy', {}, (_ctx, { ms = 0 }) => {
  const until = now() + ms;
  while (now() < until);
});
export const later = farmTask('later', {}, (ctx) => (ctx.attempt <= 2 ? retryAfter(20, 'not yet') : undefined));
export const flaky = farmTask('flaky', {}, (ctx) => {
  if (ctx.tries < 3) throw new Error('a bad day');
});
export const hopeless = farmTask('hopeless', { maxAttempts: 2 }, (ctx) => {
  throw new Error(`no luck in attempt ${ctx.attempt}`);
});
export const quitter = farmTask('quitter', {}, (ctx) => giveUp(new Error(`no use in attempt ${ctx.attempt}`)));
export const overdue = farmTask('overdue', { maxAttempts: 2, timeout: 150 }, (ctx) =>
  pause(60_000, undefined, { signal: ctx.signal }),
);
export const long = farmTask('long', {}, (ctx) => pause(600_000, undefined, { signal: ctx.signal }));
/** Nothing can shield the worker from it: it has no module. */
export const killer = farmTask('killer', { maxAttempts: 2 }, () => process.kill(process.pid, 'SIGKILL'));
/** Kills its worker once, and then only the process that it is moved to. */
export const shieldedKiller = farmTask('shielded-killer', { maxAttempts: 3, module: import.meta.url }, () =>
  process.kill(process.pid, 'SIGKILL'),
);

// Scheduled: behind limits and deadlines, waiting, remembering

/** From the next line on it may have given its lease back. */
function waits({ id, attempt }: TaskContext): void {
  notes.write({ note: 'waits', id, attempt, at: now() });
}

/** It waits for answers of the store, so that it may come to its end long after it was told to stop. */
function heeds({ id, attempt, signal }: TaskContext): void {
  signal.addEventListener('abort', () => notes.write({ note: 'stopped', id, attempt, at: now() }));
}

function kept({ id, attempt }: TaskContext, place: string, value: unknown): void {
  notes.write({ note: 'kept', id, attempt, place, value, at: now() });
}

function rest(ctx: TaskContext, ms: number): Promise<void> {
  return pause(ms, undefined, { signal: ctx.signal });
}

export const limited = farmTask('limited', {}, (ctx, { ms = 0 }) => rest(ctx, ms / 6));
export const rated = farmTask('rated', {}, () => undefined);
export const hasty = farmTask('hasty', {}, (ctx, { ms = 0 }) => rest(ctx, ms / 20));
export const stoodUp = farmTask('stood-up', { waitTimeout: 200 }, () => undefined);

export const listener = farmTask('listener', {}, async (ctx, { channel = '', ms = 0 }) => {
  heeds(ctx);
  waits(ctx);
  const { value } = await ctx.wait<string>('word', { signal: channel });
  kept(ctx, 'word', value);
  await rest(ctx, ms / 4);
  return { word: value };
});
/** The signal comes at about the time at which it gives up. */
export const impatient = farmTask('impatient', {}, async (ctx, { channel = '', ms = 0 }) => {
  heeds(ctx);
  waits(ctx);
  const { outcome, value = null } = await ctx.wait<string>('word', { signal: channel, timeout: Math.ceil(ms / 2) });
  kept(ctx, 'word', outcome === 'woken' ? value : null);
  await rest(ctx, ms / 8);
  return { word: outcome === 'woken' ? value : null };
});

export const offspring = farmTask('offspring', {}, (ctx, { ms = 0 }) => rest(ctx, ms / 10));
export const family = farmTask('family', {}, async (ctx, { key, ms = 0 }) => {
  heeds(ctx);
  const keys = Array.from({ length: 2 + (Math.floor(ms) % 2) }, (_, i) => `${key}.${i}`);
  notes.write({ note: 'spawns', id: ctx.id, attempt: ctx.attempt, keys });
  // All of one limit: they could never run if their parent kept what it has taken of it.
  const children = await Promise.all(keys.map((one) => ctx.spawn(offspring, { key: one, ms }, { limits: ['kin'] })));
  waits(ctx);
  const { value } = await ctx.wait('home', { children });
  const home = value.map(({ state, result }) => `${state} ${(result as Partial<FarmInput> | undefined)?.key}`);
  kept(ctx, 'home', home);
  return { home };
});

async function inSteps(ctx: TaskContext, { ms = 0 }: FarmInput): Promise<unknown> {
  const { id, attempt } = ctx;
  heeds(ctx);
  const step = async (place: string, policy: StepPolicy): Promise<void> => {
    const code = async (): Promise<string> => {
      notes.write({ note: 'step', id, attempt, place, policy, at: now() });
      await rest(ctx, ms / 20);
      // Of this very run: had it run twice, one would see it.
      return `${attempt} at ${now()}`;
    };
    kept(ctx, place, await ctx.step(place, code, { policy }));
  };
  await step('first', 'repeat');
  await rest(ctx, ms / 8);
  waits(ctx);
  await ctx.wait('nap', { for: Math.ceil(ms / 20) });
  await step('second', 'relaunch');
  await rest(ctx, ms / 8);
  try {
    await step('third', 'exact');
  } catch (error) {
    if (!isEngineError(error, 'STEP_UNCERTAIN')) throw error;
    return { uncertain: true };
  }
}
export const stepper = farmTask('stepper', {}, inSteps);
export const stepperApart = farmTask('stepper-apart', { queue: 'apart', ...apart }, inSteps);

/** Of graphs; what they wait for is up to the client. */
export const node = farmTask('node', {}, async (ctx, { ms = 0 }) => {
  heeds(ctx);
  const after = (await ctx.dependencies()).map(({ id, state }) => `${id} ${state}`);
  await rest(ctx, ms / 10);
  return { after };
});
export const badNode = farmTask('bad-node', {}, (ctx) => giveUp(new Error(`no use in attempt ${ctx.attempt}`)));

// In child processes

export const separate = farmTask('separate', { queue: 'apart', ...apart }, (_ctx, { ms = 0 }) => pause(ms));
export const longApart = farmTask('long-apart', { queue: 'apart', ...apart }, (ctx) =>
  pause(600_000, undefined, { signal: ctx.signal }),
);
export const hang = farmTask('hang', { queue: 'apart', maxAttempts: 2, timeout: 200, ...apart }, () => {
  process.on('SIGTERM', () => {});
  return pause(600_000);
});
export const childKiller = farmTask('child-killer', { queue: 'apart', maxAttempts: 2, ...apart }, () =>
  process.kill(process.pid, 'SIGKILL'),
);

/** For `sh -c`: it knows its lease from its environment, as all that a task starts do. */
export function shellInput(folder: string, key: string, exitCode: number): { readonly command: string } {
  const line = `'{"note":"start","lease":"%s","pid":%d,"at":0}\\n' "$LEASEHOLD_LEASE" $$`;
  return {
    command: `printf ${line} >> '${folder}/shell.jsonl'; printf '%s %s' ${key} "$LEASEHOLD_LEASE"; exit ${exitCode}`,
  };
}

export const SHELL = { queue: 'shell', handler: 'shell', retry: RETRY } as const;
export const INLINE = [
  quick,
  turn,
  chatty,
  sleeper,
  busy,
  later,
  flaky,
  hopeless,
  quitter,
  overdue,
  long,
  killer,
  shieldedKiller,
  limited,
  rated,
  hasty,
  stoodUp,
  listener,
  impatient,
  family,
  offspring,
  stepper,
  node,
  badNode,
];
export const APART = [separate, longApart, hang, childKiller, stepperApart];
export const SHELL_TRIES = { shell: MANY, 'shell-fails': 2 };
