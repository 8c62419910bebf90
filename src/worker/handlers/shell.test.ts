import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { onGroupReport } from '../runner/child/group-reports.ts';
import { makeShell, type ShellOptions, type ShellResult } from './shell.ts';
import { problemOf, type TriedOut, tryOut } from './try-out.test.ts';

const folder = tempFolder('shell');

/** Keeps what is written, and tells when a text has come. */
class Screen extends Writable {
  #text = '';
  #waiting: { readonly text: string; readonly tell: () => void }[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#text += chunk.toString();
    this.#waiting = this.#waiting.filter(({ text, tell }) => {
      if (!this.#text.includes(text)) return true;
      tell();
      return false;
    });
    done();
  }

  get text(): string {
    return this.#text;
  }

  shows(text: string): Promise<void> {
    if (this.#text.includes(text)) return Promise.resolve();
    return new Promise((tell) => this.#waiting.push({ text, tell }));
  }
}

interface Run {
  readonly tried: Promise<TriedOut>;
  readonly stdout: Screen;
  readonly stderr: Screen;
  readonly stop: AbortController;
}

function begin(input: unknown, options: ShellOptions = {}): Run {
  const stdout = new Screen();
  const stderr = new Screen();
  const stop = new AbortController();
  const shell = makeShell({ stdout, stderr, ...options });
  return { tried: tryOut(shell, input, stop.signal), stdout, stderr, stop };
}

async function resultOf({ tried }: Run): Promise<ShellResult> {
  const { ended } = await tried;
  assert.equal(ended.kind, 'done', JSON.stringify(ended));
  return (ended as { result: ShellResult }).result;
}

/** A process that has ended but was not reaped yet does not live. */
function lives(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
}

describe('a command that runs', () => {
  test('its output is handed on and its result says how it went', async () => {
    const run = begin({ command: 'echo one; echo two >&2; echo three' });
    const { durationMs, ...result } = await resultOf(run);
    assert.deepEqual(result, { exitCode: 0, stdout: 'one\nthree\n', truncated: false });
    assert.ok(durationMs >= 0 && Number.isInteger(durationMs));
    assert.equal(run.stdout.text, 'one\nthree\n');
    assert.equal(run.stderr.text, 'two\n');
  });

  test('its output is handed on while it runs', async () => {
    const go = join(folder, 'go');
    const run = begin({ command: 'echo ready; while [ ! -e "$GO" ]; do sleep 0.01; done; echo done', env: { GO: go } });
    await run.stdout.shows('ready\n');
    assert.equal(run.stdout.text, 'ready\n');
    writeFileSync(go, '');
    await resultOf(run);
    assert.equal(run.stdout.text, 'ready\ndone\n');
  });

  test('arguments reach a program as they are: no shell reads them', async () => {
    const trap = join(folder, 'trapped');
    const args = [`; touch ${trap}`, `$(touch ${trap})`, `\`touch ${trap}\``, '* ~ $HOME', '', '-n', 'a\nb'];
    const run = begin({ argv: [process.execPath, '-p', 'JSON.stringify(process.argv.slice(1))', '--', ...args] });
    assert.deepEqual(JSON.parse((await resultOf(run)).stdout), args);
    assert.equal(existsSync(trap), false);
  });

  test('what it reads is what it was given, and a command that does not read is not hurt', async () => {
    const stdin = 'ü'.repeat(200_000);
    const read = begin({ argv: ['wc', '-c'], stdin });
    assert.equal((await resultOf(read)).stdout.trim(), '400000');
    await resultOf(begin({ command: 'true', stdin }));
    assert.equal((await resultOf(begin({ argv: ['cat'] }))).stdout, '', 'without stdin there is nothing to read');
  });

  test('it runs in the folder that it names', async () => {
    assert.equal((await resultOf(begin({ command: 'pwd -P', cwd: folder }))).stdout.trim(), folder);
  });

  test('the result holds the last 64 KiB of its output, in whole characters, and the stream holds all', async () => {
    const run = begin({ argv: [process.execPath, '-e', `process.stdout.write('é'.repeat(100_000) + 'x')`] });
    const { stdout, truncated } = await resultOf(run);
    assert.equal(truncated, true);
    assert.equal(stdout, `${'é'.repeat(32 * 1024 - 1)}x`);
    assert.equal(run.stdout.text, `${'é'.repeat(100_000)}x\n`);
  });

  test('a last line without its end gets one, so that the next task begins a line of its own', async () => {
    const run = begin({ command: 'printf a; printf b >&2' });
    assert.equal((await resultOf(run)).stdout, 'a');
    assert.equal(run.stdout.text, 'a\n');
    assert.equal(run.stderr.text, 'b\n');
  });

  test('output is read no faster than it is taken', async () => {
    let most = 0;
    const slow: Writable = new Writable({
      highWaterMark: 1_000,
      write(_chunk, _encoding, done) {
        most = Math.max(most, slow.writableLength);
        setImmediate(done);
      },
    });
    await resultOf(begin({ command: 'head -c 5000000 /dev/zero' }, { stdout: slow }));
    assert.ok(most > 0 && most <= 128 * 1024, `${most} bytes waited`);
  });
});

describe('the environment', () => {
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: '/home/somebody',
    LC_ALL: 'C',
    TZ: 'UTC',
    LEASEHOLD_LEASE: '7/1',
    LEASEHOLD_WORKER: 'inc',
    LEASEHOLD_HANDLERS: '{"secret":"canary"}',
    LEASEHOLD_TOKEN: 'canary',
    AWS_SECRET_ACCESS_KEY: 'canary',
    NODE_OPTIONS: '--canary',
  };

  test('a command sees the allow-list and what its input adds, and no secret of the worker', async () => {
    const run = begin({ argv: ['env'], env: { MINE: 'yes', TZ: 'Asia/Tokyo' } }, { env });
    const seen = (await resultOf(run)).stdout.trim().split('\n').sort();
    assert.deepEqual(seen, [
      'HOME=/home/somebody',
      'LC_ALL=C',
      'LEASEHOLD_LEASE=7/1',
      'LEASEHOLD_WORKER=inc',
      'MINE=yes',
      `PATH=${env.PATH}`,
      'TZ=Asia/Tokyo',
    ]);
  });

  test('a command cannot take the marks off by which it is found', async () => {
    const refused = await begin({ command: 'true', env: { LEASEHOLD_LEASE: '' } }).tried;
    assert.match(problemOf(refused).message, /env\.LEASEHOLD_LEASE: names that begin with LEASEHOLD_ are reserved/);
  });
});

describe('a command that fails', () => {
  test('the error has the exit code and the last 20 lines that it said', async () => {
    const run = begin({ command: 'for i in $(seq 1 30); do echo "line $i" >&2; done; exit 3' });
    const { ended } = await run.tried;
    assert.equal(ended.kind, 'failed');
    const { code, exitCode, message } = (ended as unknown as { error: Error & { code: string; exitCode: number } })
      .error;
    assert.equal(code, 'EXIT');
    assert.equal(exitCode, 3);
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 11}`);
    assert.equal(message, `The command ended with exit code 3.\n${lines.join('\n')}`);
  });

  test('the error names the signal that ended it, and never the command', async () => {
    const problem = problemOf(await begin({ command: 'kill -USR1 $$ # canary' }).tried);
    assert.deepEqual(problem, { kind: 'failed', code: 'SIGNAL', message: 'The command was ended by SIGUSR1.' });
  });

  test('a folder that is not there is no reason to try again', async () => {
    for (const cwd of [join(folder, 'missing'), process.execPath]) {
      const problem = problemOf(await begin({ command: 'true', cwd }).tried);
      assert.deepEqual(problem, {
        kind: 'giveUp',
        code: 'NO_FOLDER',
        message: `There is no folder ${JSON.stringify(cwd)} on this worker.`,
      });
    }
  });

  test('a program that is not there is no reason to try again', async () => {
    const problem = problemOf(await begin({ argv: ['no-such-program-here'] }).tried);
    assert.deepEqual(problem, {
      kind: 'giveUp',
      code: 'NOT_STARTED',
      message: 'The command could not be started (ENOENT).',
    });
  });

  test('a wrong input is refused before anything runs', async () => {
    const cases: [unknown, RegExp][] = [
      [{}, /must have either command or argv/],
      [{ command: 'true', argv: ['true'] }, /must have either command or argv/],
      [{ argv: [] }, /argv: must have at least 1 entry/],
      [{ argv: [''] }, /argv\.0: must not be empty/],
      [{ argv: ['a\0b'] }, /argv\.0: must not contain NUL/],
      [{ command: '' }, /command: must not be empty/],
      [{ command: 'true', env: { 'A B': '1' } }, /env\.A B: is not the name of a variable/],
      [{ command: 'true', shell: true }, /shell: there is no such field/],
    ];
    for (const [input, expected] of cases) {
      const { kind, message } = problemOf(await begin(input).tried);
      assert.equal(kind, 'giveUp');
      assert.match(message, expected);
    }
  });
});

describe('the end of a command', () => {
  test('a stop is a signal to the whole group, and a command that listens may say good-bye', async () => {
    const command = `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`;
    const run = begin({ command }, { killMs: 60_000 });
    await run.stdout.shows('ready');
    run.stop.abort(new Error('cancelled'));
    assert.deepEqual(problemOf(await run.tried), { kind: 'failed', message: 'cancelled', code: undefined });
    assert.equal(run.stdout.text, 'ready\nbye\n');
  });

  test('who does not listen is killed, with all its children', async () => {
    const command = `trap '' TERM; sh -c 'echo $$; while :; do sleep 1; done' & echo $$; echo ready; wait; wait; sleep 1000`;
    const run = begin({ command }, { killMs: 50 });
    await run.stdout.shows('ready');
    run.stop.abort(new Error('timeout'));
    assert.equal(problemOf(await run.tried).message, 'timeout');
    const pids = run.stdout.text.match(/\d+/g)?.map(Number) ?? [];
    assert.ok(pids.length >= 1);
    assert.deepEqual(pids.filter(lives), []);
  });

  test('a child that outlives the stop of its parent has the same time to end, then it is killed', async () => {
    const command = `(trap '' TERM; echo child; while :; do sleep 1; done) & trap 'exit 0' TERM; echo ready; wait`;
    const run = begin({ command }, { killMs: 100 });
    await Promise.all([run.stdout.shows('ready'), run.stdout.shows('child')]);
    const before = performance.now();
    run.stop.abort(new Error('stop'));
    await run.tried;
    assert.ok(performance.now() - before >= 95);
  });

  test('a task that was stopped before it began starts nothing', async () => {
    const trace = join(folder, 'trace');
    const shell = makeShell();
    await tryOut(shell, { argv: ['touch', trace] }, AbortSignal.abort(new Error('too late')));
    assert.equal(existsSync(trace), false);
  });

  test('what it leaves behind is ended when it ends, whether or not that holds the output open', async () => {
    for (const redirect of ['>/dev/null 2>&1', '']) {
      const { stdout } = await resultOf(begin({ command: `sleep 1000 ${redirect} & echo $!` }));
      assert.equal(lives(Number(stdout)), false, redirect);
    }
  });

  test('what still writes when the command ends may finish that', async () => {
    const run = begin({ command: `(sleep 0.05; echo late) & echo early` });
    assert.equal((await resultOf(run)).stdout, 'early\nlate\n');
  });

  test('a process that left the group and holds the output open does not hold the task', {
    skip: process.platform !== 'linux',
  }, async () => {
    const { stdout } = await resultOf(begin({ command: `setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.1` }));
    // The worker would end it by its marks; here nothing does.
    process.kill(Number(stdout), 'SIGKILL');
  });

  test('the worker is told of the group as soon as it is there and when nobody is left', async (t) => {
    const told: [number, boolean][] = [];
    t.after(onGroupReport((pid, gone) => void told.push([pid, gone])));
    const run = begin({ command: 'echo $$; ps -o pgid= -p $$' });
    assert.equal(told.length, 0);
    const pids = (await resultOf(run)).stdout.match(/\d+/g)?.map(Number) ?? [];
    assert.equal(pids[0], pids[1], 'it leads a group of its own');
    assert.deepEqual(told, [
      [pids[0], false],
      [pids[0], true],
    ]);
  });
});
