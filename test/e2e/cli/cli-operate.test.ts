import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, SOURCE_BIN } from '../../support/leasehold.ts';
import { place, workAt } from './cli-calls.ts';

test('a task goes through push, list, show, cancel and retry, under its id and its number', async (t) => {
  const { call } = place(t);
  const pushed = await call(['push', 'papers', '{"doi": "10.1000/182"}', '--handler', 'summarise', '--priority', '-5']);
  assert.equal(pushed.code, 0, pushed.stderr);
  const [id = ''] = pushed.lines;
  assert.match(id, /^task_[0-9a-f-]{36}$/);

  const [row = ''] = (await call(['tasks', 'list'])).lines;
  assert.deepEqual(row.split('\t').slice(0, 5), [id, 'ready', 'papers', 'summarise', '0/3']);

  const [task] = (await call(['tasks', 'show', id, '--json'])).objects();
  assert.deepEqual(
    [task?.id, task?.queue, task?.handler, task?.state, task?.input, task?.priority, task?.maxAttempts],
    [id, 'papers', 'summarise', 'ready', { doi: '10.1000/182' }, -5, 3],
  );
  const page = await call(['tasks', 'show', '1']);
  assert.match(page.stdout, new RegExp(`^${id}\\n`));
  assert.match(page.stdout, /○ ready\n +why +No worker is online\.\n/);
  assert.match(page.stdout, /\nNext: start a worker/);

  assert.deepEqual((await call(['tasks', 'cancel', id])).lines, [`${id} cancelled`]);
  assert.deepEqual((await call(['tasks', 'cancel', id, '--json'])).objects(), [{ id, answer: 'finished' }]);
  const [cancelled] = (await call(['tasks', 'list', '--state', 'cancelled', '--json'])).objects();
  assert.deepEqual([cancelled?.id, cancelled?.reason], [id, 'requested']);

  assert.deepEqual((await call(['tasks', 'retry', '1'])).lines, ['1 is ready again']);
  const again = await call(['tasks', 'retry', '1']);
  assert.equal(again.code, 1);
  assert.deepEqual(again.lines, ['1 is ready: only a finished task can be run again']);
});

test('a queue is listed, paused, resumed and purged; a purge asks, or wants --yes', async (t) => {
  const { call } = place(t);
  const filled = await call(['push', 'mail', '--count', '2500']);
  assert.equal(filled.code, 0, filled.stderr);
  assert.match(filled.stdout, /^Pushed 2,500 tasks to mail in \S+ \(\S+\/s\)\.\nFirst task_\S+, last task_\S+\.\n$/);
  await call(['push', 'mail', '--delay', '1h']);

  assert.match(
    (await call(['queues', 'pause', 'mail'])).stdout,
    /^Paused mail: 2500 ready and 1 scheduled tasks wait, 0 run on/,
  );
  assert.deepEqual((await call(['queues', 'list'])).lines, ['mail\t2500\t0\t1\t0\t0\t0\t0\tpaused']);
  assert.match((await call(['queues', 'resume', 'mail'])).stdout, /^Resumed mail: 2500 tasks are ready/);
  const [queue] = (await call(['queues', 'list', '--json'])).objects();
  assert.deepEqual([queue?.name, queue?.paused, queue?.ready, queue?.scheduled], ['mail', false, 2500, 1]);

  const dry = await call(['queues', 'purge', 'mail', '--dry-run', '--json']);
  assert.deepEqual(dry.objects(), [{ queue: 'mail', cancelled: 2501, dryRun: true }]);
  const unasked = await call(['queues', 'purge', 'mail']);
  assert.equal(unasked.code, 2);
  assert.match(
    unasked.stderr,
    /Cancel 2,500 ready and 1 scheduled tasks of mail\? There is no terminal to ask on\.\nSay --yes/,
  );
  assert.equal((await call(['queues', 'list', '--json'])).objects()[0]?.ready, 2500, 'nothing was changed');
  assert.deepEqual((await call(['queues', 'purge', 'mail', '--yes'])).lines, ['Cancelled 2,501 tasks of mail.']);
  assert.deepEqual((await call(['queues', 'purge', 'mail', '--yes'])).lines, ['Nothing waits in mail.']);
});

test('everything that failed in a queue runs again after one command', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'mail', '--count', '3', '--max-attempts', '1']);
  const { engine, worker } = await workAt(t, url);
  for (const grant of await engine.claim({ worker, max: 3 })) await engine.fail(grant, new Error('no luck'));
  assert.equal((await call(['tasks', 'retry', '--queue', 'mail', '--state', 'failed'])).code, 2, 'nobody to ask');
  const dry = await call(['tasks', 'retry', '--queue', 'mail', '--state', 'failed', '--dry-run']);
  assert.deepEqual(dry.lines, ['Would run 3 failed tasks of mail again; nothing was changed.']);
  const done = await call(['tasks', 'retry', '--queue', 'mail', '--state', 'failed', '--yes']);
  assert.deepEqual(done.lines, ['3 tasks of mail are ready again.']);
  assert.equal((await call(['queues', 'list', '--json'])).objects()[0]?.ready, 3);
  for (const args of [
    ['tasks', 'retry'],
    ['tasks', 'retry', '--queue', 'mail'],
    ['tasks', 'retry', '--queue', 'mail', '--state', 'ready'],
    ['tasks', 'retry', '1', '--queue', 'mail'],
  ]) {
    assert.equal((await call(args)).code, 2, args.join(' '));
  }
});

test('what a worker does shows in the list of workers and in the page of a task', async (t) => {
  const { call, url } = place(t);
  const [id = ''] = (await call(['push', 'mail'])).lines;
  const { engine, worker } = await workAt(t, url);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  const [shown] = (await call(['workers', 'list', '--json'])).objects();
  assert.deepEqual([shown?.name, shown?.slots, shown?.running], ['tester', 10, 1]);
  assert.equal((await call(['workers', 'list'])).lines[0]?.split('\t')[0], 'tester');
  assert.match((await call(['tasks', 'show', id])).stdout, /worker +tester\n +lease +\d+s left/);
  assert.match((await call(['tasks', 'cancel', id])).stdout, /asked to stop/);
  assert.match((await call(['tasks', 'show', id])).stdout, /cancel +asked for/);
});

test('what is not there is not found: a store, a task, a queue', async (t) => {
  const { call, cwd } = place(t);
  for (const args of [
    ['tasks', 'list'],
    ['queues', 'list'],
    ['workers', 'list'],
    ['queues', 'pause', 'q'],
  ]) {
    const answer = await call(args);
    assert.equal(answer.code, 3, args.join(' '));
    assert.match(
      answer.stderr,
      /^There is no store \.leasehold\/leasehold\.db\.\n"leasehold up" and "leasehold push" make one/,
    );
  }
  assert.equal(existsSync(join(cwd, '.leasehold')), false);
  await call(['push', 'mail']);
  for (const args of [
    ['tasks', 'show', '99'],
    ['tasks', 'logs', '99'],
    ['tasks', 'logs', '99', '-f'],
    ['tasks', 'cancel', '1', '99'],
    ['tasks', 'retry', '99'],
    ['queues', 'purge', 'nope', '--yes'],
    ['queues', 'resume', 'nope'],
  ]) {
    assert.equal((await call(args)).code, 3, args.join(' '));
  }
});

test('wrong usage has status 2 and says what would be right', async (t) => {
  const { call } = place(t);
  for (const [args, says] of [
    [['push'], /"leasehold push" needs QUEUE/],
    [['push', 'q', '{a:1}'], /JSON is not valid: it is not JSON.*\nQuote it for the shell/],
    [['push', 'q', '1', '2'], /takes no argument like "2"/],
    [['push', 'q', '1', '--file', 'x'], /give one of them/],
    [['push', 'q', '--file', 'missing.json'], /missing\.json is not valid: it cannot be read/],
    [['push', 'q', '--unique', 'k', '--count', '2'], /one key holds one task/],
    [['push', 'Not A Queue'], /queue name is not valid/],
    [['push', 'q', '--delay', '5'], /"5" is not a duration/],
    [['push', 'q', '--store', 'memory:'], /belongs to one process/],
    [['tasks'], /^leasehold tasks list\|show\|explain\|logs\|cancel\|retry/],
    [['tasks', 'lsit'], /there is no "tasks lsit"\.\nDid you mean "leasehold tasks list"\?/],
    [['tasks', 'show'], /needs ID/],
    [['tasks', 'show', 'task_x'], /not the id of a task of this cluster/],
    [['tasks', 'list', '--state', 'done'], /"done" is not one of ready/],
    [['task', 'list'], /Did you mean "leasehold tasks"\?/],
  ] as const) {
    if (args[0] === 'tasks' && args[2] === 'task_x') await call(['push', 'mail']);
    const answer = await call(args);
    assert.equal(answer.code, 2, `${args.join(' ')}: ${answer.stderr}`);
    assert.match(answer.stderr, says);
    assert.equal(answer.stdout, '');
  }
});

test('with --json an error is an object too', async (t) => {
  const { call } = place(t);
  const answer = await call(['tasks', 'show', '1', '--json']);
  const { error } = JSON.parse(answer.stderr) as { error: { code: string } };
  assert.equal(error.code, 'NOT_FOUND');
});

/** Runs before the entry, and says the name of every module of the store or the engine that is loaded. */
const TELLTALE = `import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    if (/\\/src\\/(store|engine)\\//.test(url)) process.stderr.write(url + '\\n');
    return next(url, context);
  } });`;

test('the version and the help load neither store nor engine', async (t) => {
  const { cwd } = place(t);
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(TELLTALE)}`];
  for (const args of [
    ['version'],
    ['--help'],
    ['tasks', '--help'],
    ['help', 'tasks'],
    ['help', 'tasks', 'list'],
    ['tasks', 'list', '--help'],
    ['push', '-h'],
    ['queues', 'purge', '--help'],
    ['limits', 'set', '--help'],
    ['tags', '--help'],
    ['doctor', '--help'],
  ]) {
    const entry = run(t, args, { cwd, program: SOURCE_BIN, nodeArgs });
    assert.equal((await entry.ended).code, 0, args.join(' '));
    assert.match(entry.stdout, /^leasehold /);
    assert.equal(entry.stderr, '', args.join(' '));
  }
  const list = run(t, ['tasks', 'list'], { cwd, program: SOURCE_BIN, nodeArgs });
  await list.ended;
  // There is no store here, so that no adapter is loaded either.
  assert.match(list.stderr, /src\/engine\//, 'the telltale tells');
});

test('the help of a command has its usage and examples', async (t) => {
  const { call } = place(t);
  const { stdout } = await call(['push', '--help']);
  assert.match(stdout, /^leasehold push QUEUE \[JSON\|-\] \[OPTIONS\]\n[^]*Examples:\n {2}leasehold push/);
});
