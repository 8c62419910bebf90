import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BIN, LIBRARY, Running, type RunOptions, run, SOURCE_BIN, temporaryFolder } from '../../support/leasehold.ts';
import { type Answer, type Place, place } from './cli-calls.ts';

const TASKS = `import { task } from ${JSON.stringify(LIBRARY)};
export const greet = task('greet', { run(input, ctx) { ctx.log('hello'); ctx.progress({ half: 1 }); return { hello: input }; } });
export const refuse = task('refuse', { maxAttempts: 1, run() { throw new Error('not this'); } });
export const ask = task('ask', { async run(_, ctx) { return (await ctx.wait('yes', { approval: { title: 'Really?' } })).value; } });
export const listen = task('listen', { async run(input, ctx) {
  ctx.log('listening');
  const { value } = await ctx.wait('word', { signal: 'word:' + input });
  ctx.log('heard ' + value);
  return value;
} });`;

/** Gives a command a terminal; it comes with Linux and macOS. */
const TERMINAL = 'script';

/** What differs from run to run takes one form. */
function masked(text: string): string {
  return (
    text
      .replaceAll(/task_[\da-f-]{36}/g, 'TASK')
      .replaceAll(/wrk_[\da-f-]{36}/g, 'WORKER')
      .replaceAll(/lh_[a-z]+_[\w-]+/g, 'SECRET')
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3}Z)?/g, 'DATE')
      .replaceAll(/\b1\d{12}\b/g, 'MS')
      .replaceAll(/\((\d+s ago|now|in \d[^)]*)\)/g, '(AGO)')
      .replaceAll(/(in|took) \d[\d.]* ?m?s\b|in \d+m( \d+s)?/g, 'in TOOK')
      .replaceAll(/\(\d[\d.,k]*\/s\)/g, '(RATE)')
      .replaceAll(/"(tookMs|pid)":\d+/g, '"$1":N')
      // What was pushed is read again; a worker may have been faster.
      .replaceAll(/"state":"(ready|running|completed)"(?=,"createdAt")/g, '"state":"NOW"')
      .replaceAll(/leasehold-e2e-\w+/g, 'FOLDER')
      .replaceAll(/ +\d+ms/g, ' TOOK')
      .replaceAll(/ +/g, ' ')
      // Where the worker of the node comes from; the other one has the store itself.
      .replaceAll(/\t127\.0\.0\.1(?=\t|$)/gm, '\t–')
      .replaceAll(/(\t[\w.-]+\t)\d+(\tDATE)/g, '$1PID$2')
  );
}

/** One command at a time, in a folder with a node on a store that nobody else can open, and in one with a file and no node. */
interface Both {
  readonly through: Place;
  readonly direct: Place;
  /** Fails unless both say the same and end the same way. */
  readonly same: (args: readonly string[], input?: string) => Promise<Answer>;
}

async function both(t: TestContext): Promise<Both> {
  const [through, direct] = [place(t), place(t)];
  const node = run(t, ['up', '--store', 'memory:', '--port', '0', '--no-worker'], { cwd: through.cwd });
  await node.address();
  const same = async (args: readonly string[], input?: string): Promise<Answer> => {
    const [there, here] = await Promise.all([through.call(args, input), direct.call(args, input)]);
    const shown = ({ code, stdout, stderr }: Answer) => ({ code, stdout: masked(stdout), stderr: masked(stderr) });
    assert.deepEqual(shown(there), shown(here), args.join(' '));
    return there;
  };
  // Made by its first push, which a node needs not.
  await same(['push', 'first']);
  return { through, direct, same };
}

/** A worker in each of the two places; the ready ones are gone through by both in the same way. */
async function workers(t: TestContext, { through, direct }: Both): Promise<void> {
  const made = await through.call(['workers', 'create', 'box', '--tag', 'gpu', '--any', '--json']);
  const [{ secret }] = made.objects() as [{ secret: string }];
  await direct.call(['workers', 'create', 'box', '--tag', 'gpu', '--any']);
  // The worker of the node has joined it: the channel that its task waits on is not one of its own.
  for (const place of [through, direct]) await place.call(['workers', 'permit', 'box', '--channel', 'word:*']);
  const file = readFileSync(join(through.cwd, '.leasehold/node.json'), 'utf8');
  const { url } = JSON.parse(file) as { readonly url: string };
  const common = ['--name', 'box', '--tag', 'gpu', '--handlers', 'tasks.ts', '--allow', 'none', '--slots', '1'];
  for (const [{ cwd }, way] of [
    [through, ['--join', url, '--secret', secret]],
    [direct, []],
  ] as const) {
    writeFileSync(join(cwd, 'tasks.ts'), TASKS);
    await run(t, ['worker', ...way, ...common], { cwd }).says(/Worker box runs/);
  }
}

test('pushes, lists and pages are the same through a node as on a store', async (t) => {
  const { same } = await both(t);
  await same(['push', 'papers', '{"a":1}', '--priority', '3', '--delay', '1h', '--max-attempts', '5']);
  await same(['push', 'papers', '-', '--json'], '{"n":1}\n{"n":2}\n');
  await same(['push', 'papers', '--count', '1500']);
  await same(['push', 'keyed', '{}', '--unique', 'k', '--json']);
  await same(['push', 'keyed', '{}', '--unique', 'k', '--json']);
  assert.equal((await same(['push', 'keyed', '{"b":2}', '--unique', 'k'])).code, 1);
  assert.equal((await same(['push', 'papers', '{', '--json'])).code, 2);
  assert.equal((await same(['push', 'papers', '--limit', 'nolimit'])).code, 3);
  assert.equal((await same(['push', 'papers', '-'], '{"n":1}\nno json\n')).code, 2);
  await same(['tasks', 'list']);
  await same(['tasks', 'list', '--queue', 'papers', '--queue', 'keyed', '--limit', '1100', '--json']);
  await same(['tasks', 'list', '--state', 'scheduled']);
  await same(['tasks', 'show', '2']);
  await same(['tasks', 'show', '2', '--json']);
  assert.equal((await same(['tasks', 'show', '77777'])).code, 3);
  assert.equal((await same(['tasks', 'show', 'nonsense'])).code, 2);
  await same(['tasks', 'explain', '2']);
  await same(['tasks', 'explain', '2', '--json']);
  await same(['tasks', 'logs', '2']);
  await same(['queues', 'list']);
  await same(['queues', 'list', '--json']);
  await same(['tags']);
  await same(['approvals']);
});

test('what is changed through a node is told as on a store', async (t) => {
  const { same } = await both(t);
  await same(['push', 'papers', '--count', '300']);
  await same(['tasks', 'cancel', '2', '3', '77777']);
  assert.equal((await same(['tasks', 'cancel', '4', 'nonsense', '5'])).code, 2);
  await same(['tasks', 'list', '--state', 'cancelled']);
  await same(['tasks', 'cancel', '4', '5', '--json']);
  await same(['tasks', 'retry', '2', '--json']);
  assert.equal((await same(['tasks', 'retry', '3', '6'])).code, 1);
  await same(['tasks', 'cancel', '7', '--tree', '--dry-run']);
  await same(['tasks', 'cancel', '7', '--tree', '--json']);
  await same(['tasks', 'retry', '7', '--tree']);
  await same(['tasks', 'retry', '--queue', 'papers', '--state', 'cancelled', '--dry-run']);
  await same(['tasks', 'retry', '--queue', 'papers', '--state', 'cancelled', '--yes']);
  await same(['queues', 'pause', 'papers']);
  await same(['queues', 'pause', 'later', '--json']);
  await same(['queues', 'resume', 'papers', '--json']);
  assert.equal((await same(['queues', 'resume', 'nobody'])).code, 3);
  await same(['queues', 'purge', 'papers', '--dry-run']);
  assert.equal((await same(['queues', 'purge', 'papers'])).code, 2, 'nobody can be asked');
  await same(['queues', 'purge', 'papers', '--yes']);
  await same(['queues', 'purge', 'papers', '--yes', '--json']);
  await same(['queues', 'list']);

  await same(['limits', 'set', 'api', '--concurrent', '4', '--rate', '100/1m']);
  await same(['limits', 'set', 'api', '--rate-burst', '7', '--by', 'deploy-42']);
  await same(['limits', 'set', 'api', '--rate-burst', '7']);
  await same(['limits', 'set', 'api', '--rate', 'none', '--per-key', '2', '--json']);
  assert.equal((await same(['limits', 'set', 'api', '--rate-burst', '7'])).code, 2);
  await same(['push', 'papers', '--limit', 'api:alice*2']);
  await same(['limits', 'list']);
  await same(['limits', 'show', 'api']);
  await same(['limits', 'show', 'api', '--json']);
  await same(['limits', 'pause', 'api', '--for', '1h', '--key', 'alice']);
  assert.equal((await same(['limits', 'pause', 'api', '--for', '1h', '--key', 'bob'])).code, 3);
  await same(['limits', 'resume', 'api', '--key', 'alice']);
  await same(['limits', 'remove', 'api', '--by', 'ada']);
  assert.equal((await same(['limits', 'show', 'api'])).code, 3);
});

test('workers and what waits for somebody are ruled through a node as on a store', async (t) => {
  const two = await both(t);
  const { same } = two;
  await workers(t, two);
  await same(['workers', 'list']);
  await same(['tags']);
  await same(['push', 'greet', '{"a":1}', '--follow']);
  await same(['push', 'greet', '{"a":1}', '--follow', '--require', 'gpu', '--json']);
  await same(['tasks', 'logs', '2']);
  await same(['tasks', 'logs', '2', '--json']);
  await same(['tasks', 'logs', '2', '-f']);
  assert.equal((await same(['push', 'refuse', '--max-attempts', '1', '--follow'])).code, 1);
  await same(['tasks', 'show', '4']);

  await same(['push', 'ask']);
  await same(['push', 'listen', '1']);
  // One slot and in their order: when this has ended, both wait.
  await same(['push', 'greet', '--follow']);
  await same(['approvals']);
  await same(['approvals', '--json']);
  await same(['tasks', 'show', '6']);
  assert.equal((await same(['approve', '5', '--action', 'maybe'])).code, 2);
  await same(['approve', '5', '--data', '{"fine":true}', '--by', 'ada', '--json']);
  assert.equal((await same(['reject', '5'])).code, 1);
  await same(['tasks', 'logs', '5', '-f']);
  await same(['tasks', 'show', '5', '--json']);
  await same(['signal', 'word:1', '"go"']);
  await same(['signal', 'nobody', '--broadcast', '--json']);

  await same(['workers', 'create', 'laptop', '--tag', 'eu', '--worker-priority', '-3', '--code']);
  assert.equal((await same(['workers', 'create', 'laptop'])).code, 1);
  await same(['workers', 'disable', 'laptop', 'box']);
  await same(['workers', 'enable', 'box', '--json']);
  await same(['workers', 'priority', 'box', '7']);
  await same(['workers', 'priority', 'box', 'none']);
  await same(['workers', 'tag', 'box', '--add', 'fast']);
  assert.equal((await same(['workers', 'tag', 'box', '--remove', 'nothing', '--json'])).code, 0);
  await same(['workers', 'drain', 'box']);
  await same(['workers', 'drain', 'nobody']);
  await same(['workers', 'rotate', 'laptop', '--grace', '1h']);
  await same(['workers', 'remove', 'laptop', '--yes', '--json']);
  assert.equal((await same(['workers', 'remove', 'laptop', '--yes'])).code, 3);
});

test('who follows a task through a node that is killed goes on with the next one, without a gap or a repeat', async (t) => {
  const { cwd, call, url } = place(t);
  writeFileSync(join(cwd, 'tasks.ts'), TASKS);
  const up = (port: string): Running => run(t, ['up', '--port', port, '--no-worker'], { cwd });
  const first = up('0');
  const { port } = new URL(await first.address());
  const worker = run(t, ['worker', '--store', url, '--handlers', 'tasks.ts', '--allow', 'none'], { cwd });
  await worker.says(/runs .*listen/);
  const follower = run(t, ['push', 'listen', '7', '--follow'], { cwd });
  const [id = ''] = await follower.says(/task_\S+/);
  await follower.says(/waiting/);
  const reader = run(t, ['tasks', 'logs', id, '-f'], { cwd });
  await reader.says(/listening/);
  first.child.kill('SIGKILL');
  await first.ended;
  assert.ok(existsSync(join(cwd, '.leasehold/node.json')), 'it could not take its file back');
  const direct = await call(['tasks', 'show', id, '--json']);
  assert.equal(direct.objects()[0]?.state, 'waiting', 'without its node the store answers');
  await up(port).address();
  assert.equal((await call(['signal', 'word:7', '"found"'])).code, 0);
  assert.deepEqual([await follower.ended, await reader.ended], Array(2).fill({ code: 0, signal: null }));
  assert.deepEqual(
    masked(follower.stdout)
      .split('\n')
      .filter((line) => !/ready/.test(line)),
    [
      'TASK',
      'DATE running (attempt 1)',
      'DATE\t1\tlog\tlistening',
      'DATE waiting (attempt 1)',
      'DATE running (attempt 2)',
      'DATE\t2\tlog\tlistening',
      'DATE\t2\tlog\theard found',
      'DATE completed in TOOK',
      '"found"',
      '',
    ],
  );
  assert.match(follower.stderr, /The node is away[^]*The node is back/);
  assert.deepEqual(masked(reader.stdout).match(/listening|heard found/g), ['listening', 'listening', 'heard found']);
});

test('a command asks the node that is named, else the store that is named, else the node of its folder', async (t) => {
  const here = place(t);
  const node = run(t, ['up', '--store', 'memory:', '--port', '0', '--no-worker'], { cwd: here.cwd });
  const address = await node.address();
  const file = join(here.cwd, '.leasehold/node.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await here.call(['push', 'in-memory']);
  await here.call(['push', 'in-a-file', '--store', here.url]);
  const queues = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    (await here.call(['queues', 'list', ...args], '', env)).stdout.split('\t')[0];
  const elsewhere = ['--data-dir', join(here.cwd, 'nothing-here')];
  const token = { LEASEHOLD_TOKEN: tokenOf(here) };
  assert.equal(await queues([]), 'in-memory');
  assert.equal(await queues(['--store', here.url]), 'in-a-file');
  assert.equal(await queues([], { LEASEHOLD_STORE: here.url }), 'in-a-file');
  assert.equal(await queues(['--store', here.url], { LEASEHOLD_SERVER: address }), 'in-a-file');
  assert.equal(await queues(['--server', address], { LEASEHOLD_STORE: here.url }), 'in-memory');
  assert.equal(await queues([...elsewhere, '--server', address], token), 'in-memory');
  assert.equal(await queues(elsewhere, { LEASEHOLD_SERVER: `${address}/`, ...token }), 'in-memory');
  const two = await here.call(['queues', 'list', '--server', address, '--store', here.url]);
  assert.deepEqual(
    [two.code, two.stderr.split('\n')[0]],
    [2, 'The --server is not valid: a store is named as well, and only one of them can be asked.'],
  );

  const wrong = await here.call(['queues', 'list', '--token', 'lh_adm_wrong']);
  assert.equal(wrong.code, 4);
  assert.match(wrong.stderr, /needs a token[^]*LEASEHOLD_TOKEN/);
  const none = await here.call(['queues', 'list', ...elsewhere, '--server', address, '--json']);
  assert.equal(none.code, 4, 'there is no token in that folder');
  assert.equal((JSON.parse(none.stderr) as { error: { code: string } }).error.code, 'UNAUTHENTICATED');
  const bad = await here.call(['queues', 'list', '--server', 'not an address']);
  assert.equal(bad.code, 2);

  node.child.kill('SIGTERM');
  assert.deepEqual(await node.ended, { code: 0, signal: null });
  assert.ok(!existsSync(file), 'a node that stops takes its file with it');
  const gone = await here.call(['queues', 'list', '--server', address]);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /No node can be reached at http:[^]*nobody listens there\.\nCheck the address/);
  writeFileSync(file, JSON.stringify({ url: address, pid: process.pid }));
  assert.equal(await queues([]), 'in-a-file', 'a file that leads nowhere is no node');
});

function tokenOf({ cwd }: Place): string {
  return readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim();
}

test('a list that is watched says in a pipe what has changed, and ends in order', async (t) => {
  const here = place(t);
  await run(t, ['up', '--port', '0', '--no-worker'], { cwd: here.cwd }).address();
  await here.call(['push', 'papers']);
  for (const way of [[], ['--store', here.url]]) {
    const watching = run(t, ['queues', 'list', '--watch', ...way], { cwd: here.cwd });
    await watching.says(/^papers\t/);
    const before = Number((/^papers\t(\d+)/.exec(watching.stdout) ?? [])[1]);
    await here.call(['push', 'papers']);
    await watching.says(new RegExp(`\npapers\t${before + 1}\t`));
    watching.child.kill('SIGINT');
    assert.deepEqual(await watching.ended, { code: 0, signal: null });
    assert.equal(watching.stdout.match(/\n/g)?.length, 2, 'what has not changed is not said again');
  }
});

test('who works on a store loads nothing of HTTP, and who asks a node no store and no shapes', async (t) => {
  const here = place(t);
  const hook = join(temporaryFolder(t), 'hook.mjs');
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module';
     const loaded = new Set();
     registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
     process.on('exit', () => console.error([...loaded].join('\\n')));`,
  );
  // Of the sources: which of their files are together in one of the bundle is looked at in test/e2e/start.test.ts.
  const options: RunOptions = { cwd: here.cwd, program: SOURCE_BIN, nodeArgs: ['--import', hook] };
  const loadedBy = async (...args: string[]): Promise<string> => {
    const command = run(t, args, options);
    assert.equal((await command.ended).code, 0, command.stderr);
    return command.stderr;
  };
  const HTTP = /node_modules\/(zod|ws|fastify|prom-client|pg)\/|src\/client\/|protocol\/routes/;
  for (const args of [
    ['push', 'q'],
    ['tasks', 'list'],
    ['workers', 'list'],
    ['worker', '--once', '--idle-exit', '1ms', '--allow', 'none'],
  ]) {
    assert.doesNotMatch(
      (await loadedBy(...args, '--store', here.url)).replace(/^.*server\/\w+\.ts$/gm, ''),
      HTTP,
      args.join(' '),
    );
  }
  await run(t, ['up', '--port', '0', '--no-worker'], { cwd: here.cwd }).address();
  for (const args of [
    ['push', 'q'],
    ['tasks', 'list'],
    ['limits', 'set', 'a', '--concurrent', '1'],
  ]) {
    const loaded = await loadedBy(...args);
    assert.match(loaded, /src\/client\/client\.ts/);
    assert.doesNotMatch(
      loaded,
      /node_modules\/(zod|ws|fastify|prom-client|pg)\/|src\/(store|engine)\/(?!store\.ts|check|log)/,
      args.join(' '),
    );
  }
});

test('on a terminal a watched list is drawn anew in its place', { skip: noTerminal() }, async (t) => {
  const here = place(t);
  await here.call(['push', 'papers']);
  const line = `exec '${process.execPath}' '${BIN}' queues list --watch`;
  const args = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null'];
  const child = spawn(TERMINAL, args, { cwd: here.cwd, env: { ...process.env, SHELL: '/bin/sh', NO_COLOR: '1' } });
  t.after(() => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'));
  const terminal = new Running(child);
  await terminal.says(/\[2J.\[Hqueue [^]*?papers +1 /);
  await here.call(['push', 'papers']);
  await terminal.says(/\[J\r\n.\[Hqueue [^]*?papers +2 /);
  child.stdin.write('\u0003');
  assert.equal((await terminal.ended).code, 0);
});

function noTerminal(): string | false {
  const found = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, TERMINAL)));
  return found ? false : 'there is no script(1)';
}
