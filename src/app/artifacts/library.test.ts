import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { left, running } from '../../../test/support/artifact-scene.ts';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { Leasehold } from '../library/leasehold.ts';
import { open } from '../open.ts';

let stores = 0;

/** The same artifact, asked for in two ways. */
async function bothWays(
  t: TestContext,
  check: (
    app: Leasehold,
    found: { readonly id: string; readonly task: string; readonly folder: string },
  ) => Promise<void>,
): Promise<void> {
  for (const way of ['store', 'node'] as const) {
    const folder = tempFolder('artifact-library');
    const file = join(folder, `${++stores}.db`);
    const node = await nodeScene(t, { store: `sqlite:${file}` });
    const lease = await running(node.engine);
    const { id } = await left(node, { lease, name: 'out/report.txt', bytes: 'hello' });
    const remote = await open(node.service.address as `http://${string}`, { token: node.admin });
    t.after(() => remote.close());
    const app = way === 'store' ? node.service.app : remote;
    await check(app, { id, task: lease.id, folder });
  }
}

test('a program lists, reads, saves and removes what a task has left, on a store and on a node alike', async (t) => {
  await bothWays(t, async (app, { id, task, folder }) => {
    const [listed] = await app.artifacts.list({ task });
    assert.equal(listed?.id, id);
    assert.deepEqual(await app.artifacts.list({ name: 'another' }), []);
    assert.equal((await app.artifacts.get(id))?.size, 5);
    assert.equal((await buffer(await app.artifacts.read(id))).toString(), 'hello');
    const path = join(folder, 'saved.txt');
    const counts: number[] = [];
    await app.artifacts.save(id, path, { onProgress: (bytes) => counts.push(bytes) });
    assert.equal(readFileSync(path, 'utf8'), 'hello');
    assert.deepEqual(counts, [5]);
    assert.deepEqual(await app.artifacts.usage(), { entries: 1, bytes: 5 });
    await app.artifacts.remove(id);
    assert.equal(await app.artifacts.get(id), undefined);
    await assert.rejects(app.artifacts.read(id), { code: 'NOT_FOUND' });
  });
});

test('a file that is there stays as it is, and bytes that are wrong make none', async (t) => {
  await bothWays(t, async (app, { id, folder }) => {
    const path = join(folder, 'mine.txt');
    writeFileSync(path, 'mine');
    await assert.rejects(app.artifacts.save(id, path), { code: 'CONFLICT' });
    assert.equal(readFileSync(path, 'utf8'), 'mine');
    await app.artifacts.save(id, path, { overwrite: true });
    assert.equal(readFileSync(path, 'utf8'), 'hello');
    await assert.rejects(app.artifacts.save(id, join(folder, 'nowhere', 'x')), { code: 'INVALID_INPUT' });
    // Somebody writes over what lies there.
    const place = readdirSync(folder, { recursive: true, withFileTypes: true }).find(
      (one) => one.isFile() && one.parentPath.includes('.artifacts') && one.name.length > 20,
    );
    assert.ok(place);
    writeFileSync(join(place.parentPath, place.name), 'jello');
    const wrong = join(folder, 'wrong.txt');
    await assert.rejects(app.artifacts.save(id, wrong), { code: 'ARTIFACT_MISMATCH' });
    assert.ok(!existsSync(wrong));
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });
});

test('a process that touches no artifact makes no folder for them', async () => {
  const folder = tempFolder('no-artifacts');
  const app = await open(`sqlite:${join(folder, 'a.db')}`);
  await app.artifacts.list();
  await app.close();
  assert.ok(!readdirSync(folder).some((name) => name.includes('artifacts')));
});

test('a store in memory has a folder that goes with it', async () => {
  const app = await open('memory:');
  const blobs = await app.blobs.open();
  assert.equal(await blobs.size('a'.repeat(64)).catch(() => undefined), undefined);
  await app.close();
  await assert.rejects(app.blobs.open(), { code: 'STORE_CLOSED' });
});
