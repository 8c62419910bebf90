/** Real processes, ended by SIGKILL between two states, and others that go on. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

/** Notes each act in a file, and the process stops in the third for as long as the file `hold` is there. */
const HOOKS = `
import { appendFileSync, existsSync } from 'node:fs';
export async function onAction(state, action, context) {
  if (state === 'three' && existsSync('hold')) { console.error('holding'); await new Promise(() => setInterval(() => {}, 1e6)); }
  appendFileSync('acts', state + '\\n');
  return { count: context.count + 1 };
}`;
const state = (to: string): object => ({ action: 'up', transitions: [{ to }] });
const machine = (persistence: object): string =>
  JSON.stringify({
    spec: 'flatmachine',
    spec_version: '4.2.1',
    data: {
      name: 'counter',
      context: { count: 0 },
      persistence: { enabled: true, ...persistence },
      states: {
        one: state('two'),
        two: state('three'),
        three: state('end'),
        end: { type: 'final', output: { count: 'context.count' } },
      },
    },
  });

function folderOf(t: TestContext, persistence: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-crash-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'machine.json'), machine(persistence));
  writeFileSync(join(folder, 'hooks.mjs'), HOOKS);
  return folder;
}

function run(folder: string, id: string): ChildProcess {
  const args = [PROGRAM, 'run', 'machine.json', '--hooks', './hooks.mjs', '--execution-id', id];
  return spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function ended(
  child: ChildProcess,
): Promise<{ readonly code: number; readonly out: string; readonly said: string }> {
  const texts = { out: '', said: '' };
  child.stdout?.on('data', (data: Buffer) => void (texts.out += String(data)));
  child.stderr?.on('data', (data: Buffer) => void (texts.said += String(data)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...texts };
}

async function said(child: ChildProcess, word: string): Promise<void> {
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream }))
    if (line.includes(word)) return;
  assert.fail(`it never said ${word}`);
}

describe('a run of a process that was killed between two states', () => {
  for (const persistence of [
    { backend: 'local' },
    { backend: 'sqlite' },
    { backend: 'local', checkpoint_on: ['state_exit'] },
  ]) {
    test(`is finished by another process: ${JSON.stringify(persistence)}`, async (t) => {
      const folder = folderOf(t, persistence);
      writeFileSync(join(folder, 'hold'), '');
      const first = run(folder, 'r1');
      t.after(() => first.kill('SIGKILL'));
      await said(first, 'holding');
      const second = await ended(run(folder, 'r1'));
      assert.match(second.said, /already running/);
      assert.notEqual(second.code, 0);
      first.kill('SIGKILL');
      await once(first, 'exit');
      rmSync(join(folder, 'hold'));
      const other = await ended(run(folder, 'r1'));
      assert.deepEqual([other.code, JSON.parse(other.out)], [0, { count: 3 }], other.said);
      assert.equal(readFileSync(join(folder, 'acts'), 'utf8'), 'one\ntwo\nthree\n');
      const local = join(folder, '.checkpoints', 'r1', 'step_000004_machine_end.json');
      assert.ok(existsSync(persistence.backend === 'local' ? local : join(folder, 'flatmachines.sqlite')));
      const again = await ended(run(folder, 'r1'));
      assert.deepEqual([again.code, JSON.parse(again.out)], [0, { count: 3 }], again.said);
      assert.equal(readFileSync(join(folder, 'acts'), 'utf8'), 'one\ntwo\nthree\n');
    });
  }
});
