import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, PASSWORD, server, stop } from './cli-postgres-calls.ts';

test('a node on Postgres runs what others push, follow, look at and repeat', async (t) => {
  const { call, callWith, start, cwd } = await server(t);
  const up = start(['up', '--port', '0', '--name', 'builtin']);
  await up.says(/is up at http:\S+ on postgres:\/\/leasehold@\S+; Ctrl-C/);

  const followed = await call(['push', 'shell', '{"command": "echo hello; echo there"}', '--follow']);
  assert.equal(followed.code, 0, followed.stderr);
  assert.match(followed.stdout, /hello[^]*there[^]*completed/);
  const [id = ''] = /task_[0-9a-f-]{36}/.exec(followed.stdout) ?? [];
  assert.notEqual(id, '');

  const page = await callWith(['tasks', 'show', id]);
  assert.match(page.stdout, /completed[^]*worker +builtin/, page.stderr);
  assert.match((await call(['tasks', 'logs', id])).stdout, /\thello\n[^]*\tthere\n/);
  assert.match((await callWith(['tasks', 'list'])).stdout, new RegExp(`^${id}\tcompleted\tshell\tshell\t1/3\t`));
  assert.equal((await call(['tasks', 'retry', id])).stdout, `${id} is ready again\n`);
  await until(async () => (await call(['tasks', 'show', id, '--json'])).objects()[0]?.attempt === 2);

  const [waits = ''] = (await call(['push', 'later', '--delay', '1h', '--priority', '-5'])).lines;
  const [shown] = (await call(['tasks', 'show', waits, '--json'])).objects();
  assert.deepEqual([shown?.state, shown?.priority], ['scheduled', -5]);
  assert.deepEqual((await call(['tasks', 'cancel', waits])).lines, [`${waits} cancelled`]);

  const [worker] = (await call(['workers', 'list', '--json'])).objects();
  assert.deepEqual([worker?.name, worker?.state], ['builtin', 'online']);
  assert.ok(Math.abs(Number(worker?.lastSeenAt) - Date.now()) < 60_000, 'times are those of a calendar');

  assert.match((await call(['queues', 'pause', 'mail'])).stdout, /^Paused mail/);
  assert.equal((await call(['push', 'mail', '--count', '250', '--json'])).objects()[0]?.pushed, 250);
  const mail = (await callWith(['queues', 'list', '--json'])).objects().find(({ name }) => name === 'mail');
  assert.deepEqual([mail?.ready, mail?.paused], [250, true]);
  assert.deepEqual((await call(['queues', 'purge', 'mail', '--yes'])).lines, ['Cancelled 250 tasks of mail.']);
  assert.match((await call(['queues', 'resume', 'mail'])).stdout, /^Resumed mail/);

  await up.says(/duties: stager, reaper, feed, cron, pruner, auditor/);
  const doctor = await call(['doctor']);
  assert.equal(doctor.code, 0, doctor.stdout);
  assert.match(doctor.stdout, /^ok {3}duties +all 7 are held by builtin$/m);
  assert.match(doctor.stdout, /^ok {3}store +postgres:\/\/leasehold@/m);
  const json = await callWith(['doctor', '--json']);
  assert.ok(
    json.objects().every(({ verdict }) => verdict !== 'fail'),
    json.stdout,
  );

  await stop(up);
  assert.match(up.stdout, /Everything acknowledged is in postgres:\/\/leasehold@/);
  assert.ok(!`${up.stdout}${up.stderr}`.includes(PASSWORD), up.stdout);
  assert.deepEqual(
    readdirSync(join(cwd, '.leasehold')).toSorted(),
    ['.gitignore', 'cluster-secret', 'token'],
    'nothing but its secrets is kept beside it',
  );
});

test('workers share the work of a node that runs none itself', async (t) => {
  const { call, start, url } = await server(t);
  const up = start(['up', '--no-worker', '--port', '0', '--json']);
  await up.says(/"event":"started"/);
  const workers = ['one', 'two'].map((name) => start(['worker', '--name', name, '--slots', '2', '--store', url]));
  for (const worker of workers) await worker.says(/Worker \w+ runs .* from postgres:\/\/leasehold@/);
  const pushed = await call(['push', 'echo', '--count', '20', '--follow']);
  assert.equal(pushed.code, 0, pushed.stderr);
  const once = await call(['worker', '--once', '--idle-exit', '100ms', '--json']);
  assert.equal(once.code, 0, once.stderr);
  assert.match(String(once.objects()[0]?.store), /^postgres:\/\/leasehold@/);
  const names = (await call(['workers', 'list', '--json'])).objects().map(({ name }) => name);
  assert.ok(names.includes('one') && names.includes('two'));
  for (const running of [...workers, up]) {
    await stop(running);
    assert.ok(!`${running.stdout}${running.stderr}`.includes(PASSWORD), running.stdout);
  }
});

test('who only looks makes no tables; migrate does, says so, and refuses what has left it behind', async (t) => {
  const { call, url } = await server(t);
  for (const args of [
    ['tasks', 'list'],
    ['queues', 'list'],
    ['workers', 'list'],
  ]) {
    const answer = await call(args);
    assert.equal(answer.code, 3, args.join(' '));
    assert.match(answer.stderr, /^There is no store in postgres:\/\/leasehold@/);
  }
  assert.equal((await call(['doctor'])).code, 1);
  const dry = await call(['migrate', '--dry-run']);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(
    dry.stdout,
    /^postgres:\S+ has no tables of leasehold yet; this program knows version \d+\.\n {2}001-kernel/,
  );
  assert.match(dry.stdout, /compatible from version 1[^]*Nothing was changed; \d+ to run\.\n$/);
  assert.deepEqual(await ask(url, "SELECT FROM pg_namespace WHERE nspname = 'leasehold'"), []);

  const five = await Promise.all(Array.from({ length: 5 }, () => call(['migrate', '--json'])));
  for (const { code, stderr } of five) assert.equal(code, 0, stderr);
  const ran = five.flatMap((answer) => answer.objects()[0]?.migrations as { name: string }[]);
  assert.equal(ran.filter(({ name }) => name === '001-kernel').length, 1, 'one of them does it');
  assert.match((await call(['migrate'])).stdout, /has schema version \d+; .*\nNothing to do\.\n$/);

  await ask(url, "UPDATE leasehold.meta SET value = '99' WHERE key = 'schema'");
  assert.match((await call(['migrate'])).stdout, /Nothing to do: the store is newer/);
  await ask(url, "UPDATE leasehold.meta SET value = '99' WHERE key = 'compatible_from'");
  for (const args of [['migrate'], ['migrate', '--dry-run'], ['push', 'q'], ['tasks', 'list']]) {
    const refused = await call(args);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^The store has schema version 99, newer than this program understands\.\nUpgrade/);
  }
});

test('backup and restore answer with the commands of Postgres', async (t) => {
  const { call, callBare, url } = await server(t);
  const backup = await call(['backup', 'monday.dump']);
  assert.equal(backup.code, 2);
  assert.match(
    backup.stderr,
    /\npg_dump --format=custom --schema=leasehold --file=monday\.dump '?postgres:\/\/leasehold@/,
  );
  const restore = await callBare(['restore', 'monday.dump', '--store', `${url}&schema=lh&pool=3`, '--json']);
  assert.equal(restore.code, 2);
  assert.match(restore.stderr, /pg_restore --clean/);
  assert.doesNotMatch(restore.stderr, /schema=lh|pool=3/, 'what is ours the tools would refuse');
});

test('no address that is wrong brings its password to light', async (t) => {
  const { callBare } = await server(t);
  const addresses = [
    `postgres://me:${PASSWORD}@127.0.0.1:1/work`,
    `postgres://me@127.0.0.1:1/work?password=${PASSWORD}`,
    `postgres://me:${PASSWORD}@127.0.0.1:1/work?pool=none`,
    `postgres://me:${PASSWORD}@127.0.0.1:1/work?schema=Not%20One`,
    `postgres://me:a@b${PASSWORD}@127.0.0.1:1/work`,
    `postgres://me:${PASSWORD}@127.0.0.1:notaport/work`,
    `postgress://me:${PASSWORD}@db/work`,
    `mysql://me:${PASSWORD}@db/work`,
  ];
  const calls = [
    ['tasks', 'list'],
    ['push', 'q'],
    ['up', '--port', '0'],
    ['worker', '--once'],
    ['doctor'],
    ['migrate'],
    ['backup', 'x'],
    ['migrate', '--dry-run'],
  ];
  await Promise.all(
    addresses.flatMap((address, i) =>
      // All of them with one address, and one with each.
      calls
        .filter((_, n) => i === 0 || i === n)
        .flatMap((args) =>
          [[], ['--json']].map(async (more) => {
            const answer = await callBare([...args, ...more, '--store', address]);
            assert.notEqual(answer.code, 0, `${args.join(' ')} ${address}: ${answer.stdout}`);
          }),
        ),
    ),
  );
});

test('limits, tags and what is said of workers work on a server as on a file', async (t) => {
  const { call, start } = await server(t);
  assert.equal((await call(['limits', 'set', 'api', '--concurrent', '1', '--rate', '600/1m', '--by', 'ada'])).code, 0);
  const worker = start(['worker', '--name', 'box', '--slots', '4', '--worker-priority', '3', '--json']);
  await worker.says(/"box"/);
  assert.equal((await call(['workers', 'list', '--json'])).objects()[0]?.priority, 3);
  const [held = ''] = (await call(['push', 'shell', '{"command":"sleep 60"}', '--limit', 'api:alice'])).lines;
  await until(async () => (await call(['tasks', 'list', '--state', 'running'])).lines.length === 1);
  const [id = ''] = (await call(['push', 'echo', '--limit', 'api', '--require', 'gpu'])).lines;
  const [why] = (await call(['tasks', 'explain', id, '--json'])).objects();
  assert.match(String(why?.summary), /^The limit api is full: 1 of 1/);
  assert.deepEqual(why?.workers, [{ name: 'box', eligible: false, reasons: ['lacks the tag gpu'] }]);
  assert.deepEqual((await call(['tags'])).lines, ['gpu\t0\techo\t–\t–\t–']);
  assert.deepEqual((await call(['workers', 'tag', 'box', '--add', 'gpu'])).lines, ['box carries gpu.']);
  const [limit] = (await call(['limits', 'show', 'api', '--json'])).objects();
  assert.deepEqual([limit?.used, limit?.cap, limit?.waiting, limit?.changedBy], [1, 1, 1, 'ada']);
  assert.match(
    (await call(['limits', 'pause', 'api', '--key', 'alice', '--for', '5m'])).stdout,
    /^Paused api for alice/,
  );
  assert.match((await call(['limits', 'resume', 'api', '--key', 'alice'])).stdout, /^Resumed api for alice/);
  await call(['tasks', 'cancel', held]);
  await until(async () => (await call(['tasks', 'list', '--state', 'completed'])).lines.length === 1);
  assert.deepEqual((await call(['workers', 'drain', 'box'])).lines, [
    'box is drained: it has no task, and takes none.',
  ]);
  await stop(worker);
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}
