import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { TaskDefinition } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { type App, type OpenOptions, open } from '../open.ts';

// Steps and waits through the library, in real time.

const folder = tempFolder('remember');

async function real(t: TestContext, url = 'memory:', options: OpenOptions = {}): Promise<App> {
  const app = await open(url, options);
  t.after(() => app.close({ drainMs: 0 }));
  return app;
}

/** Waits until this task asks for an approval, and answers it. */
async function approvalOf(app: App, id: string) {
  for (;;) {
    const found = (await app.approvals()).find((one) => one.id === id);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('an agent that fails, waits for a decision and for its children does nothing twice', async (t) => {
  const app = await real(t);
  const calls: string[] = [];
  const look = task('look', { input: z.object({ what: z.string() }), run: ({ what }) => `${what} found` });
  const agent = task('agent', {
    input: z.object({ goal: z.string() }),
    retry: { baseMs: 1 },
    async run({ goal }, ctx) {
      const messages = ctx.list<string>('messages');
      await messages.push(goal);
      for (let turn = 0; turn < 3; turn++) {
        const reply = await ctx.step('model', () => {
          calls.push(`model ${messages.length}`);
          return `thought ${turn}`;
        });
        await messages.push(reply);
      }
      if (ctx.attempt === 1) throw new Error('the network is gone');
      const children = await Promise.all(['a', 'b'].map((what) => ctx.spawn(look, { what })));
      const { value: found } = await ctx.wait('found', { children });
      for (const { result } of found) await messages.push(result ?? 'nothing');
      const { value } = await ctx.wait<{ note: string }>('review', { approval: { title: 'Send?' } });
      if (value.action !== 'approve') return { sent: false, messages: [] };
      await ctx.step('send', () => void calls.push('send'), { policy: 'exact' });
      return { sent: true, note: value.value?.note, messages: messages.values() };
    },
  });
  const worker = app.worker({ tasks: [agent, look], slots: 2 });
  await worker.start();
  const handle = await app.push(agent, { goal: 'go' });
  const asked = await approvalOf(app, handle.id);
  assert.deepEqual([asked.title, asked.actions, asked.key], ['Send?', ['approve', 'reject'], 'review#0']);
  assert.match((await app.explain(handle.id)).summary, /decide/);
  assert.equal(await refusal(app.decide(handle.id, { action: 'maybe' })), 'INVALID_INPUT');
  const decisions = await Promise.allSettled(
    ['ada', 'bob'].map((by) => app.decide(handle.id, { action: 'approve', value: { note: by }, by })),
  );
  assert.deepEqual(decisions.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const { sent, note, messages } = await handle.result();
  assert.equal(sent, true);
  assert.ok(note === 'ada' || note === 'bob');
  assert.deepEqual(messages, ['go', 'thought 0', 'thought 1', 'thought 2', 'a found', 'b found']);
  assert.deepEqual(calls, ['model 1', 'model 2', 'model 3', 'send']);
  assert.equal(await refusal(app.decide(handle.id, { action: 'approve' })), 'CONFLICT');
});

test('waits for times and signals end by the duties of the process, and time goes on without a worker', async (t) => {
  const app = await real(t, `sqlite:${join(folder, `${randomUUID()}.db`)}`, { durability: 'normal' });
  const nap = task('nap', {
    async run(_, ctx) {
      await ctx.wait('nap', { for: '30ms' });
      const word = await ctx.wait<string>('word', { signal: `word:${ctx.id}` });
      const late = await ctx.wait('late', { signal: 'never', timeout: 20 });
      return [word.value, late.outcome, ctx.attempt];
    },
  });
  const worker = app.worker({ tasks: [nap] });
  await worker.start();
  const handles = await app.pushMany(nap, Array.from({ length: 20 }));
  await Promise.all(handles.map(({ id }) => app.signal(`word:${id}`, `for ${id}`)));
  for (const handle of handles) {
    const [word, late, attempt] = (await handle.result()) as [string, string, number];
    assert.deepEqual([word, late], [`for ${handle.id}`, 'timed_out']);
    assert.ok(attempt >= 3, `attempt ${attempt}`);
  }
  assert.equal(worker.stats.settled.completed, 20);
});

test('a task in a child process has the same steps and waits as one in the loop', async (t) => {
  const app = await real(t);
  const file = join(folder, 'far.ts');
  const from = new URL('../../worker/define/task.ts', import.meta.url).href;
  writeFileSync(
    file,
    `import { task } from ${JSON.stringify(from)};
    export const far = task('far', { isolation: 'process', module: import.meta.url, async run(input, ctx) {
      const pid = await ctx.step('pid', () => process.pid);
      const list = ctx.list('l');
      await list.push(ctx.attempt);
      const child = await ctx.spawn({ queue: 'near', handler: 'near' }, { n: 20 });
      const { value: [{ result }] } = await ctx.wait('child', { children: [child] });
      const { value } = await ctx.wait('word', { signal: 'far' });
      return { remembered: typeof pid, list: list.values(), result, value, attempt: ctx.attempt };
    } });`,
  );
  const { far } = (await import(pathToFileURL(file).href)) as { far: TaskDefinition<unknown, unknown> };
  const near = task('near', { run: (input) => (input as { n: number }).n + 1 });
  const worker = app.worker({ tasks: [far, near], slots: 2 });
  await worker.start();
  const handle = await app.push(far, null);
  while ((await handle.state()) !== 'waiting' || (await app.engine.waits.of(handle.task))?.key !== 'word#0') {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await app.signal('far', 'near enough');
  const { attempt, ...result } = (await handle.result()) as { attempt: number };
  assert.deepEqual(result, { remembered: 'number', list: [1], result: 21, value: 'near enough' });
  assert.ok(attempt >= 2);
});

test('a graph of defined tasks has handles by name, passes results on, and knows optional and failed dependencies', async (t) => {
  const app = await real(t);
  const part = task('part', { input: z.object({ n: z.number() }), maxAttempts: 1, run: ({ n }) => 10 / 0 + n });
  const half = task('half', { input: z.object({ n: z.number() }), run: ({ n }) => n / 2 });
  const sum = task('sum', {
    run: async (_, ctx) => {
      const before = await ctx.dependencies();
      return before.map(({ state, result, optional }) => ({ state, result, optional }));
    },
  });
  const worker = app.worker({ tasks: [part, half, sum] });
  await worker.start();
  const early = await app.push(half, { n: 2 });
  const graph = await app.pushGraph([
    { task: half, input: { n: 8 } },
    { name: 'bad', task: part, input: { n: 1 } },
    { task: sum, after: ['half', { on: 'bad', optional: true }, early, { on: early.id }] },
    { name: 'never', task: sum, after: ['bad'], priority: 3 },
  ]);
  assert.deepEqual(Object.keys(graph), ['half', 'bad', 'sum', 'never']);
  assert.deepEqual(await graph.sum?.result(), [
    { state: 'completed', result: 1, optional: false },
    { state: 'completed', result: 4, optional: false },
    { state: 'failed', optional: true },
  ]);
  await assert.rejects(graph.never?.result() as Promise<unknown>, /it was cancelled/);
  assert.equal(await refusal(app.pushGraph([{ task: half, input: { n: 'x' } }])), 'INVALID_INPUT');
  assert.equal(await refusal(app.pushGraph([{ task: sum, after: ['nobody'] }])), 'INVALID_INPUT');
  assert.equal(await refusal(app.pushGraph([{ task: sum, speed: 1 } as never])), 'UNKNOWN_OPTION');
});

test('limits and workers can be set through the library', async (t) => {
  const app = await real(t);
  await app.setLimit('api', { concurrent: 2 }, 'ada');
  assert.deepEqual(
    (await app.limits()).map(({ name, limit }) => [name, limit?.concurrent]),
    [['api', 2]],
  );
  await app.removeLimit('api');
  assert.equal(await refusal(app.removeLimit('nobody')), 'NOT_FOUND');
  await app.setWorker({ name: 'w1', enabled: false });
});
