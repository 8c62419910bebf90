/** What the local store makes of a disk that is full, planted links, and a process that is killed. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { scaled } from '../../../test/support/scale.ts';
import { type EngineError, isEngineError } from '../../core/errors.ts';
import { sampleOf, streamOf } from '../conformance/suite.ts';
import { openLocalStore } from './local-store.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-disk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const failed = (message: RegExp) => (error: EngineError) => {
  assert.equal(error.code, 'ARTIFACT_FAILED', error.stack ?? '');
  assert.match(error.message, message);
  return true;
};

/** Every file below the place where readers look. */
function blobs(root: string): readonly string[] {
  const place = join(root, 'sha256');
  if (!existsSync(place)) return [];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}

function tree(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
}

test('a process that is killed in mid-put leaves whole blobs and nothing else that a reader could see', async (t) => {
  const root = folderOf(t);
  const program = join(import.meta.dirname, '../../../test/support/blobs/put-child.ts');
  for (let round = 0; round < scaled(4, 40); round++) {
    const child = spawn(process.execPath, [program, root], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout });
    const said: string[] = [];
    // In the middle of the third put, a little later in each round.
    for await (const line of lines) {
      said.push(line);
      if (said.filter((one) => one.startsWith('begin')).length < 3) continue;
      const until = performance.now() + round * 1.5;
      while (performance.now() < until);
      child.kill('SIGKILL');
      break;
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    for (const file of blobs(root)) {
      const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
      assert.equal(sha256, basename(file).slice(0, 64));
    }
    const store = await openLocalStore(root);
    for (const line of said.filter((one) => one.startsWith('done')))
      assert.equal(await store.size(line.slice('done '.length)), 3_000_000, 'what was answered is there');
  }
});

test('half uploads go when the store opens a day later; those of others that live stay, as does what is not ours', async (t) => {
  const root = folderOf(t);
  await openLocalStore(root);
  const uploads = join(root, 'uploads');
  const hours = (count: number): Date => new Date(Date.now() - count * 3_600_000);
  const [dead, living, foreign, folder] = ['a'.repeat(32), 'b'.repeat(32), 'notes.txt', 'c'.repeat(32)];
  for (const name of [dead, living, foreign]) writeFileSync(join(uploads, name), 'half');
  mkdirSync(join(uploads, folder));
  for (const name of [dead, foreign, folder]) utimesSync(join(uploads, name), hours(25), hours(25));
  utimesSync(join(uploads, living), hours(23), hours(23));
  await openLocalStore(root);
  assert.deepEqual(readdirSync(uploads).toSorted(), [foreign, living, folder].toSorted());
});

test('a link at the place of a blob is neither read nor written through', async (t) => {
  const root = folderOf(t);
  const outside = folderOf(t);
  const store = await openLocalStore(root);
  const { key, bytes, ...content } = sampleOf(1000);
  await store.put(key, streamOf(bytes), content);
  const secret = join(outside, 'secret');
  writeFileSync(secret, 'of somebody else');
  rmSync(join(root, key));
  symlinkSync(secret, join(root, key));
  await assert.rejects(store.get(key), failed(/symbolic link/));
  await assert.rejects(store.size(key), failed(/symbolic link/));
  await store.put(key, streamOf(bytes), content);
  assert.ok(lstatSync(join(root, key)).isFile(), 'the link gave way to the blob');
  assert.equal(readFileSync(secret, 'utf8'), 'of somebody else');
  rmSync(join(root, key));
  symlinkSync(secret, join(root, key));
  await store.remove([key]);
  assert.equal(readFileSync(secret, 'utf8'), 'of somebody else');
  assert.equal(await store.size(key), undefined);
});

test('a link in place of a folder of the store is followed by nothing', async (t) => {
  for (const planted of ['uploads', 'sha256', 'sha256/xx']) {
    const root = folderOf(t);
    const outside = folderOf(t);
    const store = await openLocalStore(root);
    const { key, bytes, ...content } = sampleOf(1000);
    await store.put(key, streamOf(bytes), content);
    const folder = join(root, planted.replace('xx', content.sha256.slice(0, 2)));
    rmSync(folder, { recursive: true });
    // What leads out has the very names that the store would look for.
    mkdirSync(join(outside, content.sha256.slice(0, 2)));
    for (const place of ['.', content.sha256.slice(0, 2)]) writeFileSync(join(outside, place, basename(key)), bytes);
    const before = tree(outside);
    symlinkSync(outside, folder);
    await assert.rejects(store.put(key, streamOf(bytes), content), failed(/links are never followed/), planted);
    if (planted === 'uploads') {
      await assert.rejects(openLocalStore(root), failed(/links are never followed/));
      await assert.rejects(store.check(), failed(/links are never followed/));
    } else {
      for (const call of [() => store.get(key), () => store.size(key), () => store.remove([key])])
        await assert.rejects(call, failed(/links are never followed/), planted);
    }
    assert.deepEqual(tree(outside), before);
  }
});

test('a folder that is swapped for a link while a put is under way gets nothing', {
  skip: process.platform !== 'linux' && 'elsewhere a folder is only looked at',
}, async (t) => {
  const root = folderOf(t);
  const outside = folderOf(t);
  const store = await openLocalStore(root);
  const { key, bytes, ...content } = sampleOf(3_000_000);
  let swapped = false;
  const swap = (): void => {
    if (swapped) return;
    swapped = true;
    renameSync(join(root, 'uploads'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'uploads'));
  };
  await store.put(key, streamOf(bytes), content, { onProgress: swap });
  assert.ok(swapped);
  assert.deepEqual(readdirSync(outside), []);
  assert.deepEqual(readdirSync(join(root, 'moved')), []);
  assert.ok(bytes.equals(await buffer(await store.get(key))));
});

test('what is no plain file at the place of a blob is refused, and a pipe holds nobody up', async (t) => {
  const root = folderOf(t);
  const store = await openLocalStore(root);
  const { key, bytes, ...content } = sampleOf(1000);
  await store.put(key, streamOf(bytes), content);
  rmSync(join(root, key));
  mkdirSync(join(root, key));
  await assert.rejects(store.get(key), failed(/not a file/));
  await assert.rejects(store.put(key, streamOf(bytes), content), failed(/making a blob visible/));
  assert.deepEqual(readdirSync(join(root, 'uploads')), []);
  rmSync(join(root, key), { recursive: true });
  if (spawnSync('mkfifo', [join(root, key)]).status !== 0) return t.diagnostic('no mkfifo here');
  await assert.rejects(store.get(key), failed(/not a file/));
});

test('files and folders are for the owner alone', async (t) => {
  const root = join(folderOf(t), 'new');
  const store = await openLocalStore(root);
  const { key, bytes, ...content } = sampleOf(10);
  await store.put(key, streamOf(bytes), content);
  assert.equal(statSync(join(root, key)).mode & 0o777, 0o600);
  for (const folder of ['.', 'uploads', 'sha256'])
    assert.equal(statSync(join(root, folder)).mode & 0o777, 0o700, folder);
});

test('a root that is gone is told as such, and is no missing blob', async (t) => {
  const root = join(folderOf(t), 'store');
  const store = await openLocalStore(root);
  const { key, bytes, ...content } = sampleOf(10);
  rmSync(root, { recursive: true });
  for (const call of [() => store.get(key), () => store.put(key, streamOf(bytes), content), () => store.check()])
    await assert.rejects(call, failed(/gone \(ENOENT\)/));
});

test('a put that would take the reserve of the disk is refused before anything is written', async (t) => {
  const root = folderOf(t);
  await openLocalStore(root);
  const greedy = await openLocalStore(root, { reserve: 1 });
  const { key, bytes, ...content } = sampleOf(10);
  const stream = streamOf(bytes);
  await assert.rejects(greedy.put(key, stream, content), (error: EngineError) => {
    failed(/less than 100 % free/)(error);
    assert.equal(error.details?.['reason'], 'full');
    assert.match(error.hint ?? '', /Free some space/);
    return true;
  });
  assert.equal(stream.readableDidRead, false);
  await assert.rejects(greedy.check(), failed(/kept in reserve/));
  const huge = { sha256: content.sha256, size: Number.MAX_SAFE_INTEGER };
  await assert.rejects((await openLocalStore(root)).put(key, streamOf(bytes), huge), failed(/less than 5 % free/));
});

test('a disk that is full is a clear failure: nothing half stays, and what was stored is whole', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'leasehold-full-'));
  t.after(() => {
    spawnSync('umount', [root]);
    rmSync(root, { recursive: true, force: true });
  });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'leasehold', root]).status !== 0)
    return t.skip('needs the right to mount a tmpfs');
  const careless = await openLocalStore(root, { reserve: 0 });
  const careful = await openLocalStore(root);
  const first = sampleOf(2_500_000);
  await careful.put(first.key, streamOf(first.bytes), first);
  const second = sampleOf(2_500_000);
  await assert.rejects(careful.put(second.key, streamOf(second.bytes), second), failed(/less than 5 % free/));
  // The room goes away while the bytes come.
  const put = careless.put(second.key, streamOf(second.bytes), { ...second, size: 1_000_000 });
  await assert.rejects(put, (error) => isEngineError(error, 'ARTIFACT_MISMATCH'));
  const third = sampleOf(1_500_000);
  const squeeze = (): void => writeFileSync(join(root, 'of-somebody-else'), Buffer.alloc(400_000));
  let told = false;
  const slow = careless.put(third.key, streamOf(third.bytes), third, {
    onProgress: () => {
      if (!told) squeeze();
      told = true;
    },
  });
  await assert.rejects(slow, (error: EngineError) => {
    failed(/no space is left on the disk \(ENOSPC\)/)(error);
    assert.equal(error.details?.['reason'], 'full');
    return true;
  });
  assert.deepEqual(readdirSync(join(root, 'uploads')), []);
  assert.equal(await careless.size(third.key), undefined);
  assert.ok(first.bytes.equals(await buffer(await careful.get(first.key))));
  rmSync(join(root, 'of-somebody-else'));
  const small = sampleOf(100_000);
  await careful.put(small.key, streamOf(small.bytes), small);
});
