import assert from 'node:assert/strict';
import { lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { requireOwnFolder } from './own-folder.ts';

const temp = tempFolder('own-folder');
const ANNA = 12_345;
const BERT = 12_346;
const skip = process.getuid?.() === 0 ? false : 'only root can give files to others';

let folders = 0;

/** A folder with one file, and whom they belong to. */
function folderOf(owner: number, name?: string, fileOwner = owner): string {
  const folder = join(temp, String(++folders));
  mkdirSync(folder);
  if (name !== undefined) {
    writeFileSync(join(folder, name), '');
    lchownSync(join(folder, name), fileOwner, fileOwner);
  }
  lchownSync(folder, owner, owner);
  return folder;
}

function problemOf(folder: string, named: boolean): string | undefined {
  try {
    requireOwnFolder({ folder, named });
    return undefined;
  } catch (error) {
    assert.ok(isEngineError(error, 'FORBIDDEN'));
    return error.message;
  }
}

test('a folder of our own, and one that is not there, are no problem', () => {
  const folder = join(temp, 'mine');
  mkdirSync(folder);
  writeFileSync(join(folder, 'token'), '');
  for (const named of [true, false]) {
    assert.equal(problemOf(folder, named), undefined);
    assert.equal(problemOf(join(temp, 'none'), named), undefined);
  }
});

test('a folder of another user is refused where it was found, and trusted where it was named', { skip }, () => {
  const folder = folderOf(ANNA, 'token');
  assert.match(problemOf(folder, false) ?? '', new RegExp(`${folder} belongs to another user`));
  assert.equal(problemOf(folder, true), undefined);
});

test('what a third one put there is refused either way', { skip }, () => {
  for (const name of ['token', 'cluster-secret', 'worker.json', 'spool', 'leasehold.db', 'leasehold.db-wal']) {
    for (const owner of [0, ANNA])
      assert.match(problemOf(folderOf(owner, name, BERT), true) ?? '', new RegExp(`${name} belongs to another user`));
    assert.notEqual(problemOf(folderOf(0, name, BERT), false), undefined, name);
  }
  assert.equal(problemOf(folderOf(0, 'notes.txt', BERT), false), undefined, 'nobody believes that');
});

test('a link of another user is refused, also one that leads to something of ours', { skip }, () => {
  const mine = join(temp, 'linked');
  mkdirSync(mine);
  writeFileSync(join(mine, 'machine-id'), 'known to everybody');
  const link = join(temp, 'link');
  symlinkSync(mine, link);
  lchownSync(link, ANNA, ANNA);
  assert.notEqual(problemOf(link, false), undefined);
  const folder = folderOf(0);
  symlinkSync(join(mine, 'machine-id'), join(folder, 'token'));
  assert.equal(problemOf(folder, false), undefined, 'a link of our own');
  lchownSync(join(folder, 'token'), ANNA, ANNA);
  assert.notEqual(problemOf(folder, false), undefined);
});
