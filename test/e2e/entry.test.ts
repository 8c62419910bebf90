import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BIN, run, temporaryFolder } from '../support/leasehold.ts';

/** Runs before the entry and makes the process look like another one. */
function pretending(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

async function refused(t: TestContext, nodeArgs: readonly string[], says: RegExp): Promise<void> {
  const entry = run(t, ['version'], { cwd: temporaryFolder(t), nodeArgs });
  assert.equal((await entry.ended).code, 2);
  assert.match(entry.stderr, says);
  assert.equal(entry.stdout, '');
}

const OLD_NODE = /^Leasehold needs Node 24 or newer; this is v\d+\.\d+\.\d+\. In a checkout run "npm ci" .*\n$/;

test('the entry refuses an older Node in one sentence that says what to do', async (t) => {
  const pretence = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.9.0' } });
    Object.defineProperty(process, 'version', { value: 'v22.9.0' });`;
  await refused(t, pretending(pretence), OLD_NODE);
});

test('a real older Node gets the same sentence', async (t) => {
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/bin', '/usr/local/bin');
  const old = folders
    .map((folder) => join(folder, 'node'))
    .filter((file) => existsSync(file))
    .find((file) => Number(/^v(\d+)/.exec(execFileSync(file, ['--version'], { encoding: 'utf8' }))?.[1]) < 24);
  if (old === undefined) return t.skip('no Node below 24 on this host');
  const entry = run(t, [BIN, 'version'], { cwd: temporaryFolder(t), command: old });
  assert.equal((await entry.ended).code, 2);
  assert.match(entry.stderr, OLD_NODE);
});

test('the entry refuses a SQLite that can damage a shared file', async (t) => {
  for (const [version, fine] of [
    ['3.51.2', false],
    ['3.50.9', false],
    ['2.99.99', false],
    ['3.51.3', true],
    ['3.52.0', true],
    ['4.0.0', true],
  ] as const) {
    const pretence = `Object.defineProperty(process, 'versions', { value: { ...process.versions, sqlite: '${version}' } });`;
    if (!fine) {
      await refused(
        t,
        pretending(pretence),
        new RegExp(`^Leasehold needs SQLite 3\\.51\\.3 or newer;.* brings ${version},`),
      );
      continue;
    }
    const entry = run(t, ['version'], { cwd: temporaryFolder(t), nodeArgs: pretending(pretence) });
    assert.equal((await entry.ended).code, 0, version);
  }
});

test('version and help answer on standard output with 0', async (t) => {
  const cwd = temporaryFolder(t);
  for (const args of [
    ['--version'],
    ['-v'],
    ['version'],
    ['--help'],
    ['-h'],
    ['help'],
    ['help', 'up'],
    ['up', '--help'],
  ]) {
    const entry = run(t, args, { cwd });
    assert.equal((await entry.ended).code, 0, args.join(' '));
    assert.match(entry.stdout, /leasehold/);
    assert.equal(entry.stderr, '');
  }
});
