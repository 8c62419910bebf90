/** With real commands. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { notesOf, runCommands } from './verification.ts';

const folder = tempFolder('verification');

async function verified(commands: readonly string[], { timeoutMs = 0, stop = new AbortController() } = {}) {
  const lines: string[] = [];
  const { timers } = realWorld();
  const environment = () => ({ PATH: '/usr/local/bin:/usr/bin:/bin', SECRET: 'x' });
  const options = {
    folder,
    environment,
    timers,
    timeoutMs,
    signal: stop.signal,
    onLine: (line: string) => void lines.push(line),
  };
  return { reports: await runCommands(commands, options), lines };
}

/** Whether a process is there that is no zombie. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
  return !status.includes('State:\tZ');
}

test('no commands pass, and leave no notes', async () => {
  const { reports } = await verified([]);
  assert.deepEqual([reports, notesOf(reports)], [[], '']);
});

test('all commands run after one has failed, and the notes tell of those that have', async () => {
  const { reports, lines } = await verified(['echo bad >&2; exit 3', 'pwd', 'echo worse; exit 4']);
  assert.deepEqual(
    reports.map(({ ok, exitCode }) => [ok, exitCode]),
    [
      [false, 3],
      [true, 0],
      [false, 4],
    ],
  );
  assert.equal(
    notesOf(reports),
    '$ echo bad >&2; exit 3\nexit code 3\nbad\n\n$ echo worse; exit 4\nexit code 4\nworse',
  );
  assert.ok(lines.includes(folder) && lines.includes('bad') && lines.includes('$ pwd'));
  assert.equal(notesOf((await verified(['true'])).reports), '', 'and they are gone when all passes');
});

test('however much and however many fail, the notes have room in a prompt, and say that there are more', async () => {
  const commands = Array.from({ length: 40 }, (_, i) => `yes 'error ${i} ${'e'.repeat(200)}' | head -c 300000; exit 1`);
  const { reports } = await verified(['x'.repeat(100_000), ...commands]);
  const notes = notesOf(reports);
  assert.ok(notes.length < 17_000, `${notes.length} characters`);
  assert.match(notes, /^\$ x{500} …\nexit code 127\n/);
  assert.match(notes, /\n\n\d+ more commands failed\.$/);
  assert.ok(reports.every(({ command, tail }) => command.length < 510 && tail.length <= 8192));
});

test('a line without an end is told of, and not kept', async () => {
  const { reports, lines } = await verified(['head -c 50000000 /dev/zero; echo; echo over']);
  assert.equal(reports[0]?.ok, true);
  assert.ok(
    lines.some((line) => line.startsWith('the rest of it is not told: a line has more than')),
    lines.join().slice(0, 200),
  );
  assert.ok(lines.every((line) => line.length < 5_000_000));
});

test('a command sees only what the shell handler hands on', async () => {
  const { lines } = await verified(['echo "[$SECRET]"']);
  assert.ok(lines.includes('[]'));
});

test('a command that takes too long is ended with all that it has started, and the next one runs', async () => {
  const { reports } = await verified(['sleep 60 & echo $! > pid; wait', 'true'], { timeoutMs: 300 });
  assert.deepEqual([reports[0]?.ok, reports[0]?.how, reports[1]?.ok], [false, 'it took more than 0.3 s', true]);
  assert.equal(lives(Number(readFileSync(join(folder, 'pid'), 'utf8'))), false);
});

test('a stop ends the command under way with all that it has started, and no other begins', async () => {
  const stop = new AbortController();
  const running = verified(['sleep 60 & echo $! > stopped; echo up; wait', 'touch after'], { stop });
  while (!existsSync(join(folder, 'stopped')) || readFileSync(join(folder, 'stopped'), 'utf8') === '')
    await new Promise(setImmediate);
  stop.abort(new Error('cancelled'));
  await assert.rejects(running, /cancelled/);
  assert.equal(lives(Number(readFileSync(join(folder, 'stopped'), 'utf8'))), false);
  assert.ok(!existsSync(join(folder, 'after')));
});
