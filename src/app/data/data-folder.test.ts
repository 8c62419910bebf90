import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openStore } from '../store-url.ts';
import { realWorld } from '../world.ts';
import { makeDataFolder, makeFolderOf, openToOthers, tighten } from './data-folder.ts';

const temp = tempFolder('data-folder');
const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** With a umask that takes nothing away. */
function laxly<T>(work: () => T): T {
  const before = process.umask(0);
  try {
    return work();
  } finally {
    process.umask(before);
  }
}

test('a data folder is for its user alone, and git leaves it out', () => {
  const folder = join(temp, 'made', 'deep');
  laxly(() => makeDataFolder(folder));
  assert.equal(modeOf(folder), 0o700);
  assert.equal(readFileSync(join(folder, '.gitignore'), 'utf8'), '*\n');
  writeFileSync(join(folder, '.gitignore'), 'own');
  makeDataFolder(folder);
  assert.equal(readFileSync(join(folder, '.gitignore'), 'utf8'), 'own');
});

test('a store that is made is for its user alone, with its log and its folder, whatever the umask is', async () => {
  const file = join(temp, 'new', 'work.db');
  const before = process.umask(0);
  try {
    const store = await openStore(`sqlite:${file}`, { world: realWorld() });
    await store.workerSet({ name: 'w', priority: 1 });
    for (const path of [file, `${file}-wal`, `${file}-shm`]) assert.equal(modeOf(path), 0o600, path);
    assert.equal(modeOf(join(temp, 'new')), 0o700);
    await store.close();
  } finally {
    process.umask(before);
  }
});

test('what an older version made is tightened, with backups in the folder and a store elsewhere', () => {
  const folder = join(temp, 'old');
  const elsewhere = join(temp, 'elsewhere.db');
  mkdirSync(join(folder, 'sub'), { recursive: true });
  const files = ['leasehold.db', 'leasehold.db-wal', 'leasehold.db-shm', 'monday.db', 'token'].map((name) =>
    join(folder, name),
  );
  const all = [...files, elsewhere, `${elsewhere}-wal`];
  for (const path of all) writeFileSync(path, '');
  for (const path of all) chmodSync(path, 0o644);
  for (const path of [folder, join(folder, 'sub')]) chmodSync(path, 0o755);
  const outside = join(temp, 'outside');
  writeFileSync(outside, '');
  chmodSync(outside, 0o644);
  symlinkSync(outside, join(folder, 'link'));
  assert.deepEqual(new Set(openToOthers({ folder, file: elsewhere })), new Set([folder, join(folder, 'sub'), ...all]));
  tighten({ folder, file: elsewhere });
  assert.deepEqual(openToOthers({ folder, file: elsewhere }), []);
  for (const path of all) assert.equal(modeOf(path), 0o600, path);
  assert.equal(modeOf(folder), 0o700);
  assert.equal(modeOf(outside), 0o644, 'what a link leads to is not ours');
});

test('of the folder that a program works in only our own files are tightened, and nothing is added', () => {
  const folder = join(temp, 'project');
  mkdirSync(folder);
  for (const name of ['token', 'leasehold.db', 'index.html']) {
    writeFileSync(join(folder, name), '');
    chmodSync(join(folder, name), 0o644);
  }
  chmodSync(folder, 0o755);
  const before = process.cwd();
  process.chdir(folder);
  try {
    makeDataFolder('.');
    tighten({ folder: '.' });
  } finally {
    process.chdir(before);
  }
  assert.equal(modeOf(folder), 0o755);
  assert.equal(modeOf(join(folder, 'index.html')), 0o644);
  assert.equal(modeOf(join(folder, 'token')), 0o600);
  assert.equal(modeOf(join(folder, 'leasehold.db')), 0o600);
  assert.equal(statSync(join(folder, '.gitignore'), { throwIfNoEntry: false }), undefined);
});

test('a folder is made for a store in it, and for no other', () => {
  const folder = join(temp, 'maybe');
  makeFolderOf(folder, `sqlite:${join(temp, 'other.db')}`);
  makeFolderOf(folder, 'postgres://db/work');
  makeFolderOf(folder, 'memory:');
  assert.equal(statSync(folder, { throwIfNoEntry: false }), undefined);
  makeFolderOf(folder, `sqlite:${folder}/leasehold.db`);
  assert.equal(modeOf(folder), 0o700);
});

test('a folder that is not there is no complaint', () => {
  assert.deepEqual(openToOthers({ folder: join(temp, 'none'), file: join(temp, 'none.db') }), []);
  tighten({ folder: join(temp, 'none') });
  const file = join(temp, 'no-folder');
  writeFileSync(file, '');
  assert.deepEqual(openToOthers({ folder: join(file, 'data'), file: join(file, 'work.db') }), []);
});
