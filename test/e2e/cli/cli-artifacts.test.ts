import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { open } from '../../../src/index.ts';
import { left } from '../../support/artifact-scene.ts';
import { nodeScene } from '../../support/node-scene.ts';
import { place } from './cli-calls.ts';

/** A store with a task that has left two files. */
async function storeWithFiles(
  url: string,
  cwd: string,
): Promise<{ readonly task: string; readonly ids: readonly string[] }> {
  mkdirSync(join(cwd, '.leasehold'), { recursive: true, mode: 0o700 });
  const app = await open(url);
  try {
    const { engine } = app;
    const { id: task } = await engine.push({ queue: 'q', handler: 'h' });
    const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 1 });
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    const lease = { task: grant.task, attempt: grant.attempt };
    const ids: string[] = [];
    for (const [name, text] of [
      ['out/report.txt', 'hello\n'],
      ['log.txt', 'a\nb\n'],
    ] as const) {
      const content = { size: text.length, sha256: createHash('sha256').update(text).digest('hex') };
      const { id, blob } = await engine.artifacts.begin(lease, { name, type: 'text/plain', ...content });
      await (await app.blobs.open()).put(blob, Readable.from([Buffer.from(text)]), content);
      await engine.artifacts.end(lease, id);
      ids.push(id);
    }
    return { task, ids };
  } finally {
    await app.close();
  }
}

test('the files of a task are listed, shown, fetched and removed on a store', async (t) => {
  const { call, url, cwd } = place(t);
  const { task, ids } = await storeWithFiles(url, cwd);
  const [report = '', log = ''] = ids;
  const listed = await call(['artifacts', 'list', '--task', task]);
  assert.equal(listed.code, 0, listed.stderr);
  const rows = listed.lines.map((line) => line.split('\t'));
  assert.deepEqual(
    rows.map(([id, kind, size, , of, name]) => [id, kind, size, of, name]),
    [
      [log, 'file', '4', task, 'log.txt'],
      [report, 'file', '6', task, 'out/report.txt'],
    ],
  );
  assert.equal((await call(['artifacts', 'list', '--run', task, '--json'])).objects().length, 2);
  assert.match((await call(['artifacts', 'show', report])).stdout, /^out\/report\.txt\n {2}file, text\/plain, 6 B /);
  assert.match((await call(['artifacts', 'usage'])).stdout, /^2 artifacts, 10 B\.\n$/);

  const got = await call(['artifacts', 'get', report]);
  assert.deepEqual([got.code, got.stdout], [0, 'Saved 6 B as ./report.txt.\n']);
  assert.equal(readFileSync(join(cwd, 'report.txt'), 'utf8'), 'hello\n');
  writeFileSync(join(cwd, 'report.txt'), 'mine');
  const again = await call(['artifacts', 'get', report]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /is there already/);
  assert.equal(readFileSync(join(cwd, 'report.txt'), 'utf8'), 'mine');
  assert.equal((await call(['artifacts', 'get', report, '--force'])).code, 0);
  assert.equal((await call(['artifacts', 'get', report, '-o', '-'])).stdout, 'hello\n');
  assert.equal((await call(['artifacts', 'get', `art_${'0'.repeat(32)}`])).code, 3);

  const unasked = await call(['artifacts', 'remove', log]);
  assert.equal(unasked.code, 2, 'there is nobody to ask');
  const dry = await call(['artifacts', 'remove', log, '--dry-run']);
  assert.equal(dry.stdout, `Would remove ${log} (log.txt, 4 B).\n`);
  assert.equal((await call(['artifacts', 'remove', log, `art_${'0'.repeat(32)}`, '--yes'])).code, 3);
  assert.equal((await call(['artifacts', 'show', log])).code, 0, 'one that is unknown, and none is removed');
  assert.equal((await call(['artifacts', 'remove', log, '--yes'])).stdout, `Removed ${log} (log.txt, 4 B).\n`);
  assert.equal((await call(['artifacts', 'show', log])).code, 3);
});

test('the same on a node, where a reader may fetch and not remove', async (t) => {
  const { call, cwd } = place(t);
  const node = await nodeScene(t);
  const { id } = await left(node, { name: 'out/data.bin', bytes: 'x'.repeat(300_000) });
  const { token } = await node.token('read');
  const at = ['--server', node.service.address];
  const settings = { LEASEHOLD_TOKEN: token };
  const got = await call(['artifacts', 'get', id, '-o', 'data.bin', ...at], '', settings);
  assert.deepEqual([got.code, got.stdout], [0, 'Saved 300 kB as data.bin.\n'], got.stderr);
  assert.equal(readFileSync(join(cwd, 'data.bin'), 'utf8').length, 300_000);
  const refused = await call(['artifacts', 'remove', id, '--yes', ...at], '', settings);
  assert.equal(refused.code, 4);
  const removed = await call(['artifacts', 'remove', id, '--yes', '--json', ...at], '', {
    LEASEHOLD_TOKEN: node.admin,
  });
  assert.equal(removed.code, 0, removed.stderr);
  assert.equal(removed.objects()[0]?.['id'], id);
});
