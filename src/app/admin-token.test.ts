import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { temporaryFolder } from '../../test/support/leasehold.ts';
import { isEngineError } from '../core/errors.ts';
import { bearerOf } from '../server/http/caller.ts';
import { adminToken, adminTokenFile, readToken } from './admin-token.ts';

function refused(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return `${error.message} ${error.hint}`;
  }
  return assert.fail('it was taken');
}

test('the first start makes a token that only its user can read, and the next one finds it', (t) => {
  const folder = join(temporaryFolder(t), 'deep', 'data');
  const token = adminToken(folder, undefined);
  assert.match(token, /^lh_adm_[\w-]{43}$/);
  assert.equal(statSync(adminTokenFile(folder)).mode & 0o777, 0o600);
  assert.equal(adminToken(folder, undefined), token);
  assert.equal(readToken(adminTokenFile(folder)), token);
  assert.deepEqual(readdirSync(folder), ['.gitignore', 'token'], 'and nothing else');
});

test('a given token is used and stored nowhere', (t) => {
  const folder = join(temporaryFolder(t), 'data');
  const given = 'a-token-of-my-own-making';
  assert.equal(adminToken(folder, given), given);
  assert.equal(existsSync(folder), false);
  adminToken(folder, undefined);
  assert.equal(adminToken(folder, given), given, 'also where there is another');
});

test('every accepted token can be sent in a header', (t) => {
  const folder = temporaryFolder(t);
  for (const given of ['x'.repeat(20), `!~${'x'.repeat(30)}`, 'x'.repeat(512)]) {
    assert.equal(bearerOf(`Bearer ${adminToken(folder, given)}`), given);
  }
});

test('a token that is short, has spaces or cannot be sent is refused, and the refusal does not show it', (t) => {
  const folder = temporaryFolder(t);
  for (const bad of [
    '',
    'short',
    'x'.repeat(19),
    'twenty letters and more',
    'tab\tin the middle of it',
    'ümläut-in-the-token',
    'x'.repeat(513),
  ]) {
    const message = refused(() => adminToken(folder, bad));
    if (bad.length > 4) assert.ok(!message.includes(bad), message);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test('the error names a file without a good token, and the file is not overwritten', (t) => {
  const folder = temporaryFolder(t);
  const file = adminTokenFile(folder);
  for (const text of [
    '',
    '\n',
    'short\n',
    'two tokens-of-some-length\nanother-token-of-length\n',
    '\u0000'.repeat(40),
  ]) {
    writeFileSync(file, text);
    assert.match(
      refused(() => adminToken(folder, undefined)),
      new RegExp(`${file}.*Remove the file`),
    );
    assert.equal(readFileSync(file, 'utf8'), text);
  }
  writeFileSync(file, '  a-token-of-my-own-making \r\n');
  assert.equal(adminToken(folder, undefined), 'a-token-of-my-own-making');
});

test('a file that cannot be read or written is an error', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(adminTokenFile(folder));
  assert.throws(() => adminToken(folder, undefined), { code: 'EISDIR' });
  if (process.getuid?.() === 0) return;
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  assert.throws(() => adminToken(closed, undefined), { code: 'EACCES' });
});

const ROUNDS = 300;

/** The tokens that simultaneous starts find, each in a thread of its own, again and again in a new folder. */
async function startAtOnce(t: TestContext, folder: string): Promise<readonly (readonly string[])[]> {
  const source = `
    const { workerData: { module, folder, rounds, threads, gate }, parentPort } = require('node:worker_threads');
    import(module).then(({ adminToken }) => {
      const found = [];
      for (let round = 0; round < rounds; round++) {
        // All of them go when the last one is here.
        if (Atomics.add(gate, 0, 1) + 1 === threads * (round + 1)) Atomics.store(gate, 1, round + 1);
        while (Atomics.load(gate, 1) <= round);
        try { found.push(adminToken(folder + '/' + round, undefined)); } catch (error) { found.push(String(error)); }
      }
      parentPort.postMessage(found);
    });`;
  const module = new URL('./admin-token.ts', import.meta.url).href;
  const threads = 2;
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { module, folder, rounds: ROUNDS, threads, gate };
  const workers = Array.from({ length: threads }, () => new Worker(source, { eval: true, workerData }));
  t.after(() => Promise.all(workers.map((worker) => worker.terminate())));
  return Promise.all(workers.map((worker) => new Promise<string[]>((resolve) => worker.once('message', resolve))));
}

test('two simultaneous starts agree on one token', async (t) => {
  const folder = temporaryFolder(t);
  const [one = [], other = []] = await startAtOnce(t, folder);
  for (let round = 0; round < ROUNDS; round++) {
    assert.equal(one[round], other[round], `round ${round}`);
    assert.equal(one[round], readToken(adminTokenFile(join(folder, String(round)))));
    assert.deepEqual(readdirSync(join(folder, String(round))), ['.gitignore', 'token']);
  }
});
