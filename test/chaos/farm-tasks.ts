/** What the farm's workers run: every kind of handler, each of which writes down when it starts and how it ends. */
import { setTimeout as pause } from 'node:timers/promises';
import type { TaskContext, TaskOptions } from '../../src/worker/definition.ts';
import { giveUp, retryAfter } from '../../src/worker/outcome.ts';
import { task } from '../../src/worker/task.ts';
import { type End, Notes, now } from './farm-notes.ts';

export interface FarmInput {
  readonly key: string;
  readonly ms?: number;
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
  return brand === undefined ? { key, attempt: ctx.attempt } : value;
}

function threw(ctx: TaskContext, error: unknown): never {
  end(ctx, 'threw', error);
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
];
export const APART = [separate, longApart, hang, childKiller];
export const SHELL_TRIES = { shell: MANY, 'shell-fails': 2 };
