import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../support/leasehold.ts';
import { scaled } from '../../support/scale.ts';
import { ask, server, stop } from './cli-postgres-calls.ts';

test('a store moves to Postgres with everything in it, once and for good', async (t) => {
  const { callBare, call, cwd, url } = await server(t);
  const [id = ''] = (await callBare(['push', 'echo', '{"n":1}', '--store', 'sqlite:work.db'])).lines;
  await callBare(['push', 'later', '--count', '500', '--delay', '1h', '--store', 'sqlite:work.db']);
  const at = ['--store', 'sqlite:work.db'];
  for (const args of [
    ['limits', 'set', 'openai', '--concurrent', '9', '--by', 'ada'],
    ['limits', 'set', 'openai', '--concurrent', '2', '--per-key', '1', '--rate', '600/1h', '--by', 'bob'],
    ['workers', 'tag', 'gpu-box', '--add', 'gpu'],
    ['workers', 'priority', 'gpu-box', '7'],
  ]) {
    assert.equal((await callBare([...args, ...at])).code, 0, args.join(' '));
  }
  const limited = ['--limit', 'openai:alice', '--require', 'gpu', '--fair', 'alice'];
  const [picky = ''] = (await callBare(['push', 'echo', '{"n":2}', ...limited, ...at])).lines;
  await callBare(['limits', 'pause', 'openai', '--key', 'alice', '--for', '1h', ...at]);
  await callBare(['signal', 'early', '"kept"', ...at]);
  const move = ['migrate', '--from', 'sqlite:work.db', '--to', url];
  const dry = await callBare([...move, '--dry-run']);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(
    dry.stdout,
    /^From \/\S+work\.db\nto postgres:\S+\ntasks 502: 2 ready, 500 scheduled\nqueue 2, lane 3, limit_def 1, limit_change 2, slot 2, lane_slot 2/,
  );
  assert.match(dry.stdout, /Nothing was changed\.\n$/);

  const node = run(t, ['up', '--port', '0', '--store', 'sqlite:work.db', '--no-worker'], { cwd });
  await node.says(/is up/);
  const busy = await callBare(move);
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /a process has it open\.\nStop all nodes/);
  await stop(node);

  const moved = await callBare([...move, '--json']);
  assert.equal(moved.code, 0, moved.stderr);
  assert.deepEqual([moved.objects()[0]?.result, moved.objects()[0]?.dryRun], ['moved', false]);
  assert.match((await call(['tasks', 'show', id])).stdout, new RegExp(`^${id}\\n`), 'under the same id');
  const worker = await call(['worker', '--once']);
  assert.equal(worker.code, 0, worker.stderr);
  assert.equal((await call(['tasks', 'show', id, '--json'])).objects()[0]?.state, 'completed');
  // What was said of limits and workers holds, and what waited for them goes on when they let it.
  const [limit] = (await call(['limits', 'show', 'openai', '--json'])).objects();
  assert.deepEqual(
    (limit as { history: { by: string }[] }).history.map(({ by }) => by),
    ['bob', 'ada'],
  );
  const gpu = ['worker', '--once', '--name', 'gpu-box', '--idle-exit'];
  await call([...gpu, '200ms']);
  assert.match((await call(['tasks', 'explain', picky])).stdout, /openai:alice +0 of 1 in use; nothing starts before/);
  await call(['limits', 'resume', 'openai', '--key', 'alice']);
  // It ends with the task; on a busy host the first look alone may take longer than a moment.
  assert.equal((await call([...gpu, '30s'])).code, 0);
  const [ran] = (await call(['tasks', 'show', picky, '--json'])).objects();
  assert.deepEqual([ran?.state, ran?.worker], ['completed', 'gpu-box']);

  for (const args of [
    ['push', 'echo'],
    ['tasks', 'list'],
    ['up', '--port', '0'],
    ['worker', '--once'],
    ['migrate'],
    ['backup', 'x.db'],
  ]) {
    const refused = await callBare([...args, '--store', 'sqlite:work.db']);
    assert.equal(refused.code, 1, args.join(' '));
    assert.match(
      refused.stderr,
      /^The store was moved to postgres:\/\/leasehold@\S+, and gives out no more work here\./,
    );
  }
  assert.match(
    (await callBare(['doctor', '--store', 'sqlite:work.db'])).stdout,
    /^fail schema +the store was moved to postgres/m,
  );
  assert.equal((await callBare(move)).code, 1);
});

test('a move that is killed at any moment is ended by the same command', async (t) => {
  const { callBare, cwd, url } = await server(t);
  await callBare(['push', 'later', '--count', '5000', '--delay', '1h', '--store', 'sqlite:seed.db']);
  const outcomes = new Set<unknown>();
  for (const [i, afterMs] of Array.from({ length: scaled(4, 30) }, (_, n) => 300 + n * scaled(250, 35)).entries()) {
    const file = `work-${i}.db`;
    assert.equal((await callBare(['backup', file, '--store', 'sqlite:seed.db'])).code, 0);
    const move = ['migrate', '--from', `sqlite:${file}`, '--to', `${url}&schema=killed_${i}`, '--json'];
    const first = run(t, move, { cwd });
    const timer = setTimeout(() => first.child.kill('SIGKILL'), afterMs);
    const { signal } = await first.ended;
    clearTimeout(timer);
    const file1 = await callBare(['queues', 'list', '--store', `sqlite:${file}`]);
    const again = await callBare(move);
    // Before the mark the file is a store; from then on it is none, and only the other side may be one.
    if (file1.code === 0) assert.equal(again.objects()[0]?.result, 'moved');
    else assert.match(file1.stderr, /^The store was moved to/);
    if (signal === null) assert.match(again.stderr, /^\{"error":\{"code":"STORE_MOVED"/);
    else outcomes.add(again.code === 0 ? again.objects()[0]?.result : 'had ended');
    const rows = await ask(url, `SELECT count(*)::int AS n FROM killed_${i}.task`);
    assert.deepEqual(rows, [{ n: 5000 }]);
    assert.notEqual((await callBare(['queues', 'list', '--store', `sqlite:${file}`])).code, 0);
  }
  t.diagnostic(`outcomes of the second call: ${[...outcomes].join(', ')}`);
});

test('half a move, and moves that there are not, are wrong usage', async (t) => {
  const { callBare, url } = await server(t);
  await callBare(['push', 'echo', '--store', 'sqlite:work.db']);
  for (const [args, says] of [
    [['--from', 'sqlite:work.db'], /--from is not valid: it is given without the other/],
    [['--to', url], /--to is not valid/],
    [['--from', url, '--to', 'sqlite:other.db'], /only a SQLite store can be moved/],
    [['--from', 'sqlite:work.db', '--to', 'sqlite:other.db'], /to Postgres only/],
  ] as const) {
    const answer = await callBare(['migrate', ...args]);
    assert.equal(answer.code, 2, answer.stderr);
    assert.match(answer.stderr, says);
  }
  assert.equal((await callBare(['migrate', '--from', 'sqlite:none.db', '--to', url])).code, 3);
});
