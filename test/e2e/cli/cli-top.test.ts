import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BIN, Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { RealNode } from '../../support/real-node.ts';
import { place } from './cli-calls.ts';

/** Gives a command a terminal; it comes with Linux and macOS. */
const TERMINAL = 'script';
const skip = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, TERMINAL)))
  ? false
  : 'there is no script(1)';

/** `leasehold top` on a terminal of 100 by 30; behind it the terminal says how it was left. */
class Screen {
  readonly terminal: Running;

  constructor(t: TestContext, cwd: string, args: readonly string[] = []) {
    const command = `sh -c 'echo pid $$; exec "${process.execPath}" "${BIN}" top ${args.join(' ')}'`;
    const line = `stty cols 100 rows 30; ${command}; code=$?; stty -a; echo "ended $code"`;
    const words = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null'];
    const child = spawn(TERMINAL, words, { cwd, env: { ...process.env, SHELL: '/bin/sh', NO_COLOR: '1' } });
    t.after(() => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'));
    this.terminal = new Running(child);
  }

  /** Presses keys, and waits for what the screen says to that. */
  async press(keys: string, pattern: RegExp): Promise<void> {
    this.terminal.stdout = '';
    this.terminal.child.stdin.write(keys);
    await this.terminal.says(pattern);
  }

  /** The other screen is left, the cursor is back, lines are lines again: as it was. */
  async isGivenBack(): Promise<void> {
    const [all] = await this.terminal.says(/\[\?1049l[^]*ended \d+/);
    assert.match(all, /ended 0$/, all);
    assert.match(this.terminal.stdout, /\[\?7h.\[\?25h.\[\?1049l/);
    assert.match(all, /[^-]icanon/);
    assert.match(all, /[^-]echo\b/);
    await this.terminal.ended;
  }
}

test('top shows a node on a terminal, does what its keys say, and gives the terminal back on q', {
  skip,
}, async (t) => {
  const cwd = temporaryFolder(t);
  const node = await RealNode.start(t, ['--name', 'the-node'], cwd);
  const id = await node.push({
    queue: 'papers',
    handler: 'shell',
    input: { command: 'echo it says hello; sleep 600' },
  });
  const top = new Screen(t, cwd, ['--interval', '200ms']);
  await top.terminal.says(/\[\?1049h/);
  await top.terminal.says(/1 queues[^]*papers[^]*2 workers[^]*3 running tasks/);
  await top.press('3', /▸3 running tasks/);
  await top.press('\r', /▸task task_[^]*it says hello/);
  await top.press('\u001b', /1 queues/);
  await top.press('?', /Keys[^]*pause or resume the queue/);
  await top.press(' ', /1 queues/);
  await top.press('1p', /Pause queue papers\? [^]*y yes/);
  await top.press('n', /Nothing was changed/);
  assert.equal((await node.call('GET', '/queues/papers')).paused, false);
  await top.press('py', /Paused papers: 0 ready tasks wait, 1 run on/);
  assert.equal((await node.call('GET', '/queues/papers')).paused, true);
  await top.press('2dy', /the-node takes nothing more/);
  assert.equal((await node.call('GET', '/workers/the-node')).enabled, false);
  await top.press('3cy', /its worker is asked to stop/);
  await node.until(async () => (await node.task(id)).state === 'cancelled', 'the task is cancelled');
  await top.press('/nosuch\r', /Nothing here matches the filter/);
  top.terminal.child.stdin.write('q');
  await top.isGivenBack();
});

test('Ctrl-C and SIGTERM give the terminal back as well', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  await RealNode.start(t, ['--no-worker'], cwd);
  const [byKey, bySignal] = [new Screen(t, cwd), new Screen(t, cwd)];
  const [, pid = ''] = await bySignal.terminal.says(/pid (\d+)/);
  await Promise.all([byKey, bySignal].map(({ terminal }) => terminal.says(/5 events/)));
  byKey.terminal.child.stdin.write('\u0003');
  await byKey.isGivenBack();
  process.kill(Number(pid), 'SIGTERM');
  await bySignal.isGivenBack();
});

test('who may only read sees why nothing is changed', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  const node = await RealNode.start(t, ['--no-worker'], cwd);
  await node.push({ queue: 'papers' });
  const { token } = await node.call('POST', '/tokens', { name: 'looks', role: 'read' });
  const top = new Screen(t, temporaryFolder(t), ['--server', node.url, '--token', token]);
  await top.terminal.says(/may only read[^]*papers/);
  await top.press('py', /not allowed/);
  assert.equal((await node.call('GET', '/queues/papers')).paused, false);
  top.terminal.child.stdin.write('q');
  await top.isGivenBack();
});

test('while the node is away the last picture stays, and heals when it is back', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  const node = await RealNode.start(t, ['--no-worker'], cwd);
  await node.push({ queue: 'papers' });
  const top = new Screen(t, cwd, ['--interval', '200ms']);
  await top.terminal.says(/papers/);
  top.terminal.stdout = '';
  await node.stop();
  await top.terminal.says(/node away since \d\d:\d\d:\d\d/);
  await top.press('\u000c', /node away since[^]*papers/);
  top.terminal.stdout = '';
  run(t, ['up', '--port', new URL(node.url).port, '--no-worker'], { cwd });
  await top.terminal.says(/leader [^]*leasehold \d/);
  top.terminal.child.stdin.write('q');
  await top.isGivenBack();
});

test('in a pipe and with --json it is the overview, an object a line, until it is stopped', async (t) => {
  const here = place(t);
  const none = await here.call(['top', '--json', '--once']);
  assert.equal(none.code, 3, none.stderr);
  const node = await RealNode.start(t, ['--no-worker'], here.cwd);
  const once = await here.call(['top', '--json', '--once']);
  assert.equal(once.code, 0, once.stderr);
  assert.equal(once.objects().length, 1);
  assert.equal(typeof once.objects()[0]?.sentence, 'string');
  assert.equal((await here.call(['top', '--once'])).objects().length, 1);
  const piped = run(t, ['top', '--interval', '100ms'], { cwd: here.cwd });
  await piped.says(/(\{.*\}\n){3}/);
  piped.child.kill('SIGTERM');
  assert.deepEqual(await piped.ended, { code: 0, signal: null });
  assert.equal((await here.call(['top', '--interval', '1ms'])).code, 2);
  assert.equal((await here.call(['top', '--json', '--once', '--server', node.url, '--token', 'wrong'])).code, 4);
});
