import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../support/leasehold.ts';
import { place, workAt } from './cli-calls.ts';

test('each line of standard input, or of a file, becomes a task, and its id a line', async (t) => {
  const { call, cwd } = place(t);
  const piped = await call(['push', 'nums', '-'], '1\n{"two": 2}\n"three"');
  assert.equal(piped.lines.length, 3);
  writeFileSync(join(cwd, 'in.json'), '{\n  "one": "document"\n}\n');
  assert.equal((await call(['push', 'nums', '--file', 'in.json'])).lines.length, 1);
  const inputs = (await call(['tasks', 'list', '--json'])).objects().map(({ input }) => input);
  assert.deepEqual(inputs, [{ one: 'document' }, 'three', { two: 2 }, 1]);
});

test('a bad line ends the push; what came before it is told and stays', async (t) => {
  const { call } = place(t);
  const lines = Array.from({ length: 1500 }, (_, i) => String(i));
  const answer = await call(['push', 'nums', '-'], [...lines, 'oops'].join('\n'));
  assert.equal(answer.code, 2);
  assert.match(
    answer.stderr,
    /^1,500 tasks were pushed before this error and stay\.\nThe line 1501 of standard input is not valid/,
  );
  assert.equal((await call(['queues', 'list', '--json'])).objects()[0]?.ready, 1500);
});

test('a unique key leads to the same task, and another input under it is refused', async (t) => {
  const { call } = place(t);
  const [first] = (await call(['push', 'q', '1', '--unique', 'k', '--json'])).objects();
  const [second] = (await call(['push', 'q', '1', '--unique', 'k', '--json'])).objects();
  assert.deepEqual([first?.fresh, second?.fresh, second?.id], [true, false, first?.id]);
  const other = await call(['push', 'q', '2', '--unique', 'k']);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /unique key k already belongs/);
});

test('a result that is there takes the place of a run, by input or by key', async (t) => {
  const { call } = place(t);
  const push = async (inputs: readonly object[], ...args: readonly string[]): Promise<readonly string[]> =>
    (await call(['push', 'echo', '-', ...args], inputs.map((input) => JSON.stringify(input)).join('\n'))).lines;
  const likeInputs = [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ];
  const pushed = [
    ...(await push(likeInputs, '--reuse', '1h')),
    ...(await push([{ n: 1 }, { n: 2 }], '--reuse-key', 'k', '--reuse', '5m')),
    ...(await push([{ n: 3 }], '--reuse-key', 'k')),
  ];
  await call(['worker', '--slots', '1', '--idle-exit', '100ms']);
  const logOf = async (n: number): Promise<string> => (await call(['tasks', 'logs', pushed[n] as string])).stdout;
  for (const n of [0, 2]) assert.match(await logOf(n), /^\S+\t1\tlog\techo \S+\n$/);
  for (const [n, of] of [
    [1, 0],
    [3, 2],
    [4, 2],
  ] as const) {
    assert.match(await logOf(n), new RegExp(`^\\S+\\t1\\tsystem\\treused the result of ${pushed[of]}\n$`));
  }
  const [last] = (await call(['tasks', 'show', pushed[4] as string, '--json'])).objects();
  assert.deepEqual([last?.state, last?.result], ['completed', { n: 1 }]);
  assert.equal((await call(['push', 'echo', '--reuse', '0s'])).code, 2);
});

test('many copies are told in one line, to programs too', async (t) => {
  const { call } = place(t);
  const [summary] = (await call(['push', 'q', '--count', '2001', '--json'])).objects();
  assert.deepEqual([summary?.queue, summary?.pushed, summary?.fresh], ['q', 2001, 2001]);
  assert.equal((await call(['queues', 'list', '--json'])).objects()[0]?.ready, 2001);
});

test('who follows a push sees states and logs, and its result as JSON; the status is that of the task', async (t) => {
  const { call, cwd, url } = place(t);
  await call(['push', 'other']);
  const { engine, worker } = await workAt(t, url);
  const follow = async (end: (grant: Awaited<ReturnType<typeof engine.claim>>[number]) => Promise<unknown>) => {
    const following = run(t, ['push', 'job', '{}', '--max-attempts', '1', '--follow'], { cwd });
    const [grant] = await engine.claim({ worker, max: 1, queues: ['job'], waitMs: 30_000 });
    assert.ok(grant);
    await engine.logs.append(grant, [{ seq: 1, at: Date.now(), stream: 'stdout', text: 'working \u001b[2Jhard' }]);
    await following.says(/\tstdout\tworking hard\n/);
    await end(grant);
    return { following, ...(await following.ended) };
  };
  const fine = await follow((grant) => engine.complete(grant, { answer: 42 }));
  assert.equal(fine.code, 0);
  assert.match(fine.following.stdout, /^task_\S+\n\S+ ready\n\S+ running \(attempt 1\)\n/);
  assert.match(fine.following.stdout, /Z completed in \S+\n\{"answer":42\}\n$/);
  const bad = await follow((grant) => engine.fail(grant, new Error('no luck')));
  assert.equal(bad.code, 1);
  assert.match(bad.following.stdout, /Z failed: all its tries are used up; no luck\n$/);
  const cancelled = await follow(async (grant) => {
    await engine.cancel(grant.task);
    await engine.cancelled(grant);
  });
  assert.equal(cancelled.code, 1);
});

test('Ctrl-C ends the following and not the task', async (t) => {
  const { call, cwd } = place(t);
  const following = run(t, ['push', 'job', '--follow'], { cwd });
  await following.says(/ready\n/);
  following.child.kill('SIGINT');
  assert.deepEqual(await following.ended, { code: 130, signal: null });
  assert.match(following.stderr, /^Stopped following; the task goes on\./);
  assert.equal((await call(['tasks', 'list', '--json'])).objects()[0]?.state, 'ready');
});

test('a log is read to its end, and followed until the task ends', async (t) => {
  const { call, cwd, url } = place(t);
  const [id = ''] = (await call(['push', 'job'])).lines;
  assert.match((await call(['tasks', 'logs', id])).stderr, /has not been started/);
  const { engine, worker } = await workAt(t, url);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  await engine.logs.append(grant, [{ seq: 1, at: 0, stream: 'log', text: 'one' }]);
  const following = run(t, ['tasks', 'logs', id, '-f'], { cwd });
  await following.says(/\tlog\tone\n/);
  await engine.logs.append(grant, [{ seq: 2, at: 0, stream: 'log', text: 'two' }]);
  await following.says(/\tlog\ttwo\n/);
  await engine.complete(grant);
  assert.equal((await following.ended).code, 0);
  assert.deepEqual(
    (await call(['tasks', 'logs', id, '--json']))
      .objects()
      .map(({ id: of, attempt, seq, stream, text }) => [of, attempt, seq, stream, text]),
    [
      [id, 1, 1, 'log', 'one'],
      [id, 1, 2, 'log', 'two'],
    ],
  );
});
