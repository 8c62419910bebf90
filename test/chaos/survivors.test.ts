import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type App, open } from '../../src/app/open.ts';
import { type Running, run, temporaryFolder } from '../support/leasehold.ts';
import { isAlive, processesMarked, processesNamed, quoted, stateOf, stubborn, until, wayOut } from './survivors.ts';

const HANDLERS = fileURLToPath(new URL('./survivors-child.ts', import.meta.url));
const LEASE_MS = 1500;
/** The ladder of a worker: 2 s from the abort signal to SIGTERM, 2 s to SIGKILL. */
const LADDER_MS = 4000;
/** How much longer it may take: the news must come, and the signals must do their work. */
const SLACK_MS = 5000;
/** Processes take their time to start while other tests keep the host busy. */
const PATIENCE_MS = 30_000;

interface Scene {
  readonly app: App;
  /** Of the store. */
  readonly file: string;
  readonly worker: Running;
  /** Public ids of the command and of the function. */
  readonly ids: readonly [string, string];
  /** In the arguments of everything that the tasks start. */
  readonly token: string;
  /** In the environment of the worker and of its child processes. */
  readonly mark: string;
}

interface SceneOptions {
  readonly flags?: readonly string[];
  readonly timeout?: number;
}

async function openApp(t: TestContext, folder: string): Promise<{ app: App; file: string; url: string }> {
  const file = join(folder, 'survivors.db');
  const url = `sqlite:${file}`;
  const app = await open(url, { leaseMs: LEASE_MS });
  t.after(() => app.close());
  // Before the worker is there: whoever is stopped or killed must not be the one who takes leases back.
  assert.ok(await until(() => app.duties().includes('reaper'), PATIENCE_MS), 'the reaper begins');
  return { app, file, url };
}

function startWorker(t: TestContext, folder: string, args: readonly string[], mark: string): Running {
  const flags = ['--handlers', HANDLERS, '--slots', '4', '--lease-duration', `${LEASE_MS}ms`];
  return run(t, ['worker', ...flags, ...args], { cwd: folder, env: { SURVIVORS_MARK: mark } });
}

/** A worker that runs a command and a function, both with descendants that ignore SIGTERM or have left for a session. */
async function scene(t: TestContext, { flags = [], timeout }: SceneOptions = {}): Promise<Scene> {
  const folder = temporaryFolder(t);
  const token = `survivor-${randomUUID()}`;
  const mark = `mark-${randomUUID()}`;
  const { app, file, url } = await openApp(t, folder);
  const worker = startWorker(t, folder, ['--store', url, ...flags], mark);
  t.after(() => killAll(token, mark));
  const commands = [stubborn(token), ...(wayOut === undefined ? [] : [[...wayOut, ...stubborn(token)]])];
  const background = commands.map((command) => `${quoted(command)} &`).join('\n');
  const command = `trap '' TERM\n${background}\nwhile :; do sleep 0.2; done`;
  const once = { queue: 'survivors', maxAttempts: 1, ...(timeout === undefined ? {} : { timeout }) };
  const shell = await app.engine.push({ ...once, handler: 'shell', input: { command } });
  const brood = await app.engine.push({ ...once, handler: 'brood', input: { commands } });
  // The command itself, what it starts, and each of the same twice from the function.
  const family = 1 + 3 * commands.length;
  const grown = await until(() => processesNamed(token).length >= family, PATIENCE_MS);
  assert.ok(grown !== undefined, `the tasks start their processes:\n${worker.stdout}\n${worker.stderr}`);
  if (wayOut === undefined) t.diagnostic('nothing here can call setsid: that part is left out');
  return { app, file, worker, ids: [shell.id, brood.id], token, mark };
}

/** Whatever a failed test leaves behind. */
function killAll(token: string, mark: string): void {
  for (const { pid } of [...processesNamed(token), ...processesMarked(mark)]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone by now.
    }
  }
}

async function noneLeft(t: TestContext, token: string, graceMs: number): Promise<void> {
  const took = await until(() => processesNamed(token).length === 0, graceMs + SLACK_MS);
  const left = processesNamed(token).map(({ pid, command }) => `${pid} ${command}`);
  assert.ok(took !== undefined, `left after ${graceMs + SLACK_MS} ms:\n${left.join('\n')}`);
  t.diagnostic(`the last one was gone after ${Math.round(took)} ms`);
}

/** Nor any process of the worker itself. */
async function nobodyLeft(t: TestContext, { token, mark }: Scene, graceMs: number): Promise<void> {
  await noneLeft(t, token, graceMs);
  const gone = await until(() => processesMarked(mark).length === 0, SLACK_MS);
  assert.ok(gone !== undefined, `left of the worker:\n${processesMarked(mark).map(({ command }) => command)}`);
}

async function states({ app, ids }: Scene): Promise<readonly (string | undefined)[]> {
  return Promise.all(ids.map(async (id) => (await app.get(id))?.state));
}

async function finished({ app, ids }: Scene): Promise<readonly (readonly [string, string])[]> {
  const { engine } = app;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const records = await Promise.all(ids.map((id) => engine.finished(engine.parseId(id), signal)));
  return records.map(({ state, reason }) => [state, reason] as const);
}

/**
 * A process that is stopped in the middle of a write keeps the file locked, and nobody can reap then. So it is stopped while
 * the test has the lock: it may wait for a write of its own, and is in none.
 */
async function freezeUntilLost(it: Scene): Promise<void> {
  const { pid = 0 } = it.worker.child;
  const file = new DatabaseSync(it.file, { timeout: PATIENCE_MS });
  file.exec('BEGIN IMMEDIATE');
  it.worker.child.kill('SIGSTOP');
  const stopped = await until(() => stateOf(pid) === 'T', PATIENCE_MS);
  file.exec('ROLLBACK');
  file.close();
  assert.ok(stopped !== undefined, 'the worker stops');
  const lost = async (): Promise<boolean> => (await states(it)).every((state) => state === 'failed');
  assert.ok((await until(lost, PATIENCE_MS)) !== undefined, `its leases are taken back: ${await states(it)}`);
}

async function endsWith(worker: Running, code: number): Promise<void> {
  const ended = await worker.ended;
  assert.deepEqual(ended, { code, signal: null }, `${worker.stdout}\n${worker.stderr}`);
}

describe('no process of a task survives', { concurrency: 3 }, () => {
  test('its cancellation', async (t) => {
    const it = await scene(t);
    for (const id of it.ids) assert.equal(await it.app.cancel(id), 'requested');
    await noneLeft(t, it.token, LADDER_MS);
    assert.deepEqual(await finished(it), [
      ['cancelled', 'requested'],
      ['cancelled', 'requested'],
    ]);
    it.worker.child.kill('SIGTERM');
    await endsWith(it.worker, 0);
    await nobodyLeft(t, it, 0);
  });

  test('its run timeout', async (t) => {
    // On a busy host the two need seconds to start what they start, and all of it must stand before the first is timed out.
    const timeout = 12_000;
    const it = await scene(t, { timeout });
    // The timeout counts from the start, which was before the scene stood.
    await noneLeft(t, it.token, timeout + LADDER_MS);
    assert.deepEqual(await finished(it), [
      ['failed', 'exhausted'],
      ['failed', 'exhausted'],
    ]);
    for (const id of it.ids) assert.match(JSON.stringify((await it.app.get(id))?.error), /RUN_TIMEOUT/);
    it.worker.child.kill('SIGTERM');
    await endsWith(it.worker, 0);
  });

  test('a lease that was lost while its worker was frozen', async (t) => {
    const it = await scene(t);
    await freezeUntilLost(it);
    assert.deepEqual(await finished(it), [
      ['failed', 'exhausted'],
      ['failed', 'exhausted'],
    ]);
    assert.notEqual(processesNamed(it.token).length, 0, 'a frozen worker can end nothing');
    it.worker.child.kill('SIGCONT');
    // The ladder is as steep as the lease is short.
    await noneLeft(t, it.token, LEASE_MS / 6);
    it.worker.child.kill('SIGTERM');
    await endsWith(it.worker, 0);
  });

  test('a drain that takes longer than it may', async (t) => {
    const it = await scene(t, { flags: ['--drain-timeout', '300ms'] });
    it.worker.child.kill('SIGTERM');
    await noneLeft(t, it.token, 300 + LADDER_MS);
    await endsWith(it.worker, 0);
    await nobodyLeft(t, it, 0);
    assert.deepEqual(await states(it), ['ready', 'ready'], `given back for others to run:\n${it.worker.stdout}`);
    for (const id of it.ids) assert.equal((await it.app.get(id))?.tries, 0, 'with its try');
  });

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    test(`a second ${signal}, which ends the worker with ${code}`, async (t) => {
      const it = await scene(t);
      it.worker.child.kill(signal);
      await it.worker.says(/[Oo]nce more|again/);
      it.worker.child.kill(signal);
      await noneLeft(t, it.token, 0);
      await endsWith(it.worker, code);
      await nobodyLeft(t, it, 0);
    });
  }

  test('SIGKILL of its worker', async (t) => {
    const it = await scene(t);
    it.worker.child.kill('SIGKILL');
    await nobodyLeft(t, it, 0);
    assert.deepEqual(await finished(it), [
      ['failed', 'exhausted'],
      ['failed', 'exhausted'],
    ]);
  });

  test('its timeout when it ignores all signals; it is tried again and then fails', async (t) => {
    const folder = temporaryFolder(t);
    const { app, url } = await openApp(t, folder);
    const worker = startWorker(t, folder, ['--store', url], `mark-${randomUUID()}`);
    const { id } = await app.engine.push({
      queue: 'survivors',
      handler: 'hang',
      input: {},
      timeout: 300,
      maxAttempts: 2,
      retry: { baseMs: 10 },
    });
    const task = app.engine.parseId(id);
    const { state, reason, tries, result } = await app.engine.finished(task, AbortSignal.timeout(PATIENCE_MS));
    assert.deepEqual([state, reason, tries], ['failed', 'exhausted', 2]);
    assert.match(result ?? '', /RUN_TIMEOUT/);
    assert.deepEqual(
      (await app.engine.attempts(task)).map(({ outcome }) => outcome),
      ['retried'],
    );
    const pids: number[] = [];
    for await (const { text } of app.handle(id).logs()) {
      const pid = /^pid (\d+)$/.exec(text)?.[1];
      if (pid !== undefined) pids.push(Number(pid));
    }
    assert.equal(new Set(pids).size, 2, 'each try had a process of its own');
    for (const pid of pids) assert.ok(!isAlive(pid), `process ${pid} is gone`);
    worker.child.kill('SIGTERM');
    await endsWith(worker, 0);
  });
});
