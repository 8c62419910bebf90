import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIBRARY } from '../../support/leasehold.ts';
import { place, workAt } from './cli-calls.ts';

const TASKS = `import { task, workflow } from ${JSON.stringify(LIBRARY)};
export const ship = task('ship', { async run(_, ctx) {
  const { value } = await ctx.wait('review', { approval: { title: 'Ship "it"\\x1b[31m?', form: { n: 1 } }, timeout: '1h' });
  return value;
} });
export const choose = task('choose', { async run(_, ctx) {
  const { value } = await ctx.wait('way', { approval: { title: 'Which way?', actions: ['left', 'to the right'] } });
  return value.action;
} });
export const listen = task('listen', { run: async (input, ctx) => (await ctx.wait('word', { signal: 'word:' + input })).value });
export const pair = workflow('pair', async ({ n }, wf) => {
  const [a, b] = await Promise.all([wf.approval('a'), wf.approval('b')]);
  return [n, a.action, b.action];
});`;

/** A folder in which handlers wait, and a worker that runs what can be run. */
function waiting(t: Parameters<typeof place>[0]) {
  const { cwd, call, url } = place(t);
  writeFileSync(join(cwd, 'tasks.ts'), TASKS);
  const work = async (): Promise<string> => {
    const answer = await call(['worker', '--handlers', 'tasks.ts', '--idle-exit', '150ms', '--allow', 'none']);
    assert.equal(answer.code, 0, answer.stderr);
    return answer.stdout;
  };
  const push = async (...args: readonly string[]): Promise<string> => {
    const answer = await call(['push', ...args]);
    assert.equal(answer.code, 0, answer.stderr);
    return answer.lines[0] ?? '';
  };
  const result = async (id: string) => (await call(['tasks', 'show', id, '--json'])).objects()[0]?.result;
  return { call, url, work, push, result };
}

test('what is asked is listed, and the first decision reaches the task with its data and its author', async (t) => {
  const { call, work, push, result } = waiting(t);
  const [id, other] = [await push('ship'), await push('ship')];
  assert.match(await work(), /Stopped\. 2 gave their slot back to wait\./);
  const [row = '', second = ''] = (await call(['approvals'])).lines;
  const [first, actions, , until, queue, handler, asks] = row.split('\t');
  assert.deepEqual([first, actions, queue, handler], [id, 'approve,reject', 'ship', 'ship']);
  assert.ok(Date.parse(until ?? '') > Date.now());
  assert.match(asks ?? '', /^Ship "it".*\?$/);
  assert.ok(!row.includes('\u001b'), 'nothing of it reaches the terminal');
  assert.ok(second.startsWith(other));
  const [asked] = (await call(['approvals', '--json'])).objects();
  assert.deepEqual([asked?.id, asked?.key, asked?.form], [id, 'review#0', { n: 1 }]);
  const page = (await call(['tasks', 'show', id])).stdout;
  assert.match(page, /waiting\n[^]*asks +Ship "it"[^]*Next: leasehold approve task_\S+\n +leasehold reject task_/);
  assert.match((await call(['tasks', 'list'])).stdout, /waiting.*goes on in .* at the latest/);

  const decided = await call(['approve', id, '--data', '{"speed":"fast"}', '--by', 'ada']);
  assert.deepEqual([decided.code, decided.lines], [0, [`${id} goes on: approve, by ada.`]]);
  const late = await call(['reject', id]);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /does not wait for a decision[^]*"leasehold tasks show task_\S+" says how it stands/);
  const [rejected] = (await call(['reject', other, '--json', '--by', 'bob'])).objects();
  assert.deepEqual(rejected, { id: other, action: 'reject', by: 'bob' });
  await work();
  assert.deepEqual(await result(id), { action: 'approve', value: { speed: 'fast' }, by: 'ada' });
  assert.deepEqual(await result(other), { action: 'reject', by: 'bob' });
  assert.deepEqual((await call(['approvals'])).lines, []);
});

test('a task that offers actions of its own takes those and no others, and the error names them', async (t) => {
  const { call, work, push, result } = waiting(t);
  const id = await push('choose');
  await work();
  const wrong = await call(['approve', id]);
  assert.equal(wrong.code, 2);
  assert.match(
    wrong.stderr,
    /--action is not valid: "approve": it is one of left, to the right\.\nName one of them: leasehold approve \S+ --action NAME/,
  );
  assert.match((await call(['tasks', 'show', id])).stdout, /--action left\n.*--action 'to the right'/);
  assert.equal((await call(['approve', id, '--action', 'to the right'])).code, 0);
  await work();
  assert.equal(await result(id), 'to the right');
});

test('a signal wakes who has waited longest, is kept when nobody waits, and a broadcast wakes them all', async (t) => {
  const { call, work, push, result } = waiting(t);
  const early = await call(['signal', 'word:1', '"kept"']);
  assert.equal(early.code, 3, 'there is no store yet');
  const first = await push('listen', '"1"');
  const kept = await call(['signal', 'word:1', '"kept"']);
  assert.deepEqual(kept.lines, ['No task waits on word:1 now: the signal is kept for the next one.']);
  assert.deepEqual((await call(['signal', 'word:2', '--broadcast'])).lines, [
    'No task waits on word:2: nothing was woken.',
  ]);
  await work();
  assert.equal(await result(first), 'kept');

  const ids = [await push('listen', '"2"'), await push('listen', '"2"'), await push('listen', '"2"')];
  await work();
  assert.match(
    (await call(['tasks', 'show', ids[0] ?? ''])).stdout,
    /a signal on word:2[^]*Next: leasehold signal word:2 JSON/,
  );
  assert.deepEqual((await call(['signal', 'word:2', '{"n":1}'])).lines, [`${ids[0]} goes on`]);
  const [all] = (await call(['signal', 'word:2', '--broadcast', '--json'])).objects();
  // Three slots park at once, so who of the others was first is open.
  const woken = (all as { readonly woken: readonly string[] }).woken.toSorted();
  assert.deepEqual({ ...all, woken }, { channel: 'word:2', woken: ids.slice(1).toSorted(), kept: false });
  await work();
  assert.deepEqual([await result(ids[0] ?? ''), await result(ids[1] ?? '')], [{ n: 1 }, null]);
});

test('bad words are wrong usage, unknown tasks are not found, and nothing is changed', async (t) => {
  const { call, push } = waiting(t);
  const id = await push('ship');
  for (const [args, code, says] of [
    [['signal', 'c', '{bad'], 2, /not JSON[^]*Quote it for the shell/],
    [['signal', 'c', '1', '--limit', '3'], 2, /--limit/],
    [['approve', id, '--data', 'bad'], 2, /not JSON[^]*--data/],
    [['approve', 'task_nonsense'], 2, /task/],
    [['approve', '4711'], 3, /^There is no task 4711\.\n"leasehold approvals" lists/],
    [['reject', id], 1, /does not wait for a decision/],
  ] as const) {
    const answer = await call(args);
    assert.equal(answer.code, code, `${args.join(' ')}: ${answer.stderr}`);
    assert.match(answer.stderr, says);
  }
});

test('a priority that was set for a name is taken away again, also of names that other programs make', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'echo']);
  const { engine } = await workAt(t, url);
  await engine.store.workerRegister({ name: 'host:123:run', incarnation: 'x', slots: 1, tags: [], priority: 4 });
  const priorities = async (): Promise<unknown> => {
    const workers = (await call(['workers', 'list', '--json'])).objects();
    return workers.find(({ name }) => name === 'host:123:run')?.priority;
  };
  assert.deepEqual((await call(['workers', 'priority', 'host:123:run', '-9'])).lines, [
    'host:123:run has priority -9.',
  ]);
  assert.equal(await priorities(), -9);
  assert.deepEqual((await call(['workers', 'priority', 'host:123:run', 'none'])).lines, [
    'host:123:run has its own priority again.',
  ]);
  assert.equal(await priorities(), 4);
  const [said] = (await call(['workers', 'priority', 'host:123:run', 'none', '--json'])).objects();
  assert.deepEqual(said, { name: 'host:123:run', enabled: true, tags: [], workers: 1, running: 0 });
  assert.equal((await call(['workers', 'priority', 'tester', 'much'])).code, 2);
});

test('a workflow in code is run by its name, and of its approvals the one that is named is decided', async (t) => {
  const { call, work } = waiting(t);
  const running = call(['run', '--workflow', 'pair', '--input', '{"n":2}', '--execution-id', 'pair/1', '--json']);
  const asked = async () => (await call(['approvals', '--json'])).objects();
  let over = false;
  void running.then(() => (over = true));
  while ((await asked()).length === 0) {
    assert.ok(!over, 'it waits for its approvals');
    await work();
  }
  const [first, second] = await asked();
  assert.deepEqual([first?.key, second?.key], ['approval:a#0', 'approval:b#0']);
  const id = String(first?.id);
  const wrong = await call(['approve', id, '--key', 'approval:c#0']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /does not wait for a decision of the key approval:c#0/);
  assert.equal((await call(['approve', id, '--key', 'approval:b#0'])).code, 0);
  await work();
  assert.deepEqual(
    (await asked()).map(({ key }) => key),
    ['approval:a#0'],
  );
  assert.equal((await call(['reject', id])).code, 0);
  await work();
  const { code, stdout, stderr } = await running;
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), [2, 'reject', 'approve']);
  const refused = await call(['run', 'order.yml', '--workflow', 'pair']);
  assert.equal(refused.code, 2);
});
