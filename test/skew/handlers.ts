/** The handlers of these tests: one for each thing that a worker and a node say to each other. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { AnyTask } from '../../src/worker/define/definition.ts';
import { task } from '../../src/worker/define/task.ts';

/** The queue of all of them. A joined worker spawns into the queue of its own task. */
export const QUEUE = 'work';
/** Another queue, and a channel that belongs to no handler. */
export const ABROAD = 'abroad-queue';
/** What each run has done, one line each, in the folder of the worker. */
export const TRACES = 'traces';

const LOOK_MS = 20;

interface Keyed {
  readonly key: string;
}

export function handlersIn(folder: string): readonly AnyTask[] {
  const trace = (what: string): void => appendFileSync(join(folder, TRACES), `${what}\n`);
  /** Until the test lets the task go on, or somebody stops it. */
  const gate = async (key: string, signal: AbortSignal): Promise<void> => {
    while (!existsSync(join(folder, key))) {
      signal.throwIfAborted();
      await pause(LOOK_MS);
    }
  };
  const queue = QUEUE;
  const echo = task('echo', { queue, run: (input) => input });
  const held = task('held', {
    queue,
    run: async (input, ctx) => {
      const { key } = input as Keyed;
      ctx.log(`before ${key}`);
      await ctx.step('began', () => trace(`held ${key} began`));
      // From here on it needs no node.
      trace(`held ${key} waits`);
      await gate(key, ctx.signal);
      ctx.log(`after ${key}`);
      trace(`held ${key} ended`);
      return key;
    },
  });
  return [
    echo as AnyTask,
    held as AnyTask,
    task('lines', {
      queue,
      run: (_, ctx) => {
        for (const word of ['one', 'two', 'three']) ctx.log(word);
        ctx.progress({ done: 3, of: 3 });
        return 'said';
      },
    }),
    // Its first try ends between two steps.
    task('steps', {
      queue,
      run: async (input, ctx) => {
        const { key } = input as Keyed;
        const step = (name: string, policy: 'repeat' | 'exact') =>
          ctx.step(name, () => trace(`steps ${key} ${name}`), { policy });
        await step('first', 'repeat');
        if (ctx.tries === 1) throw new Error('between two steps');
        await step('second', 'exact');
        const list = ctx.list<number>('numbers');
        for (const number of [1, 2]) await list.push(number);
        return { numbers: list.values(), time: await ctx.step('time', () => 7) };
      },
    }),
    task('parent', {
      queue,
      run: async (input, ctx) => {
        const child = await ctx.spawn(echo, { from: 'parent' });
        const slow = await ctx.spawn(held, input);
        const { outcome, value } = await ctx.wait('children', { children: [child, slow] });
        return { outcome, results: value.map(({ state, result }) => ({ state, result })) };
      },
    }),
    // A node may want permissions of its worker for both.
    task('abroad', {
      queue,
      run: async (_, ctx) => {
        const child = await ctx.spawn({ queue: ABROAD, handler: 'echo' }, 'abroad');
        const { value } = await ctx.wait('child', { children: [child] });
        const heard = await ctx.wait('go', { signal: ABROAD });
        return [value[0]?.result, heard.value];
      },
    }),
    task('signal', {
      queue,
      run: async (input, ctx) => {
        const { key } = input as Keyed;
        await ctx.step('before', () => trace(`signal ${key} waits`));
        const heard = await ctx.wait('go', { signal: `signal:${key}` });
        return heard;
      },
    }),
    task('approval', {
      queue,
      run: (input, ctx) => ctx.wait('leave', { approval: { title: 'May it go on?', context: input, form: { of: 1 } } }),
    }),
    task('nap', { queue, run: (_, ctx) => ctx.wait('nap', { for: 10 }) }),
    task('flaky', {
      queue,
      run: (_, { tries }) => {
        if (tries < 3) throw new Error(`try ${tries}`);
        return tries;
      },
    }),
    task('failing', {
      queue,
      run: () => {
        throw new Error('always');
      },
    }),
    task('hang', {
      queue,
      run: async (input, { signal }) => {
        const { key } = input as Keyed;
        trace(`hang ${key} began`);
        await gate('never', signal);
      },
    }),
    task('gather', {
      queue,
      run: async (_, ctx) => (await ctx.dependencies()).map(({ state, result }) => ({ state, result })),
    }),
    task('kept', {
      queue,
      run: (input) => {
        trace(`kept ${(input as Keyed).key}`);
        return 'computed';
      },
    }),
  ];
}
