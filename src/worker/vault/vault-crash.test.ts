/** A vault whose process is killed at any moment, and one that two processes write at once. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TestCluster } from '../../../test/support/credentials/sealer.ts';
import { scaled } from '../../../test/support/scale.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openVault } from './open-vault.ts';

const temp = tempFolder('vault-crash');
const CHILD = fileURLToPath(new URL('../../../test/support/credentials/vault-child.ts', import.meta.url));
const cluster = new TestCluster();
const environment = { credentials: undefined, session: {} };

interface Writer {
  readonly child: ChildProcess;
  readonly lines: string[];
  said(count: number): Promise<void>;
  kill(): Promise<void>;
}

function writer(folder: string, from: number): Writer {
  const pem = Buffer.from(cluster.pem).toString('base64');
  const child = spawn(process.execPath, [CHILD, folder, 'box', String(from), pem], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    for (const look of waiting) look();
  });
  const said = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => void (lines.length >= count && resolve());
      waiting.add(look);
      child.once('exit', () => reject(new Error('the writer has ended')));
      look();
    });
  const closed = once(child, 'close');
  return {
    child,
    lines,
    said,
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** What the vault says after it, which must be whole: a version that was acknowledged, or the next one. */
async function look(folder: string) {
  const { vault } = await openVault('box', { folder, demand: 'file', environment, now: Date.now });
  const [held] = vault.report.holds;
  const value = await vault.read('db');
  if (held !== undefined) assert.deepEqual(value, { value: `value ${held.version} `.repeat(500) });
  else assert.equal(value, undefined);
  return { key: vault.report.key, version: held?.version };
}

test('killed at any moment, a vault has the old value or the new one', { timeout: 120_000 }, async () => {
  const folder = join(temp, 'killed');
  let from = 1;
  const keys = new Set<string>();
  for (let round = 0; round < scaled(6, 60); round++) {
    const one = writer(folder, from);
    await one.said(2 + round);
    await one.kill();
    const { key, version } = await look(folder);
    keys.add(key);
    const numbers = one.lines.filter((line) => line !== 'open').map(Number);
    const last = numbers.at(-1) ?? 0;
    const acknowledged = Math.max(...numbers.map(Math.abs), from - 1);
    const expected = [acknowledged, acknowledged + 1, undefined];
    assert.ok(expected.includes(version), `${version} is there after ${last}`);
    // Gone only when it was removed, or was about to be.
    if (version === undefined)
      assert.ok(acknowledged % 5 === 0 || (acknowledged + 1) % 5 === 0, `nothing after ${last}`);
    from = acknowledged + 2;
  }
  assert.equal(keys.size, 1, 'the key of the worker stays');
});

test('two processes that write at once leave a whole vault with one key', { timeout: 60_000 }, async () => {
  const folder = join(temp, 'two');
  const [one, other] = [writer(folder, 1), writer(folder, 1)];
  await Promise.all([one.said(scaled(40, 300)), other.said(scaled(40, 300))]);
  await Promise.all([one.kill(), other.kill()]);
  const { version } = await look(folder);
  assert.ok(version === undefined || version >= 1);
});
