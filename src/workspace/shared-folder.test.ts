import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { fileBelow, workspaceFolder } from './shared-folder.ts';

const temp = realpathSync(tempFolder('shared-folder'));
const root = join(temp, 'root');
mkdirSync(join(root, 'shop'), { recursive: true });
mkdirSync(join(temp, 'root-beside'));
mkdirSync(join(temp, 'elsewhere'));
writeFileSync(join(temp, 'elsewhere', 'secret'), 'x');
const host = { roots: new Map([['main', root]]) };

test('a workspace is a folder below its root, and is made if it is not there', async () => {
  assert.equal(await workspaceFolder(host, 'main/shop'), join(root, 'shop'));
  assert.equal(await workspaceFolder(host, 'main'), root);
  assert.equal(await workspaceFolder(host, 'main/new/inner'), join(root, 'new', 'inner'));
  assert.ok(existsSync(join(root, 'new', 'inner')));
});

test('a root of no name, a path and a way out are refused, and nothing is made', async () => {
  for (const name of [
    'other/shop',
    temp,
    '/etc',
    'main/../elsewhere',
    'main/..',
    '../root',
    'main/./shop',
    'main//shop',
  ]) {
    await assert.rejects(workspaceFolder(host, name), { name: 'EngineError' }, name);
  }
  assert.ok(!existsSync(join(root, 'elsewhere')));
});

test('no link leads out of a root, at any depth', async () => {
  symlinkSync(join(temp, 'elsewhere'), join(root, 'out'));
  symlinkSync(join(temp, 'root-beside'), join(root, 'shop', 'beside'));
  symlinkSync(join(temp, 'nowhere'), join(root, 'dangling'));
  symlinkSync(join(root, 'shop'), join(root, 'inside'));
  for (const name of ['main/out', 'main/out/new', 'main/shop/beside', 'main/dangling', 'main/dangling/new'])
    await assert.rejects(workspaceFolder(host, name), /leads/, name);
  assert.ok(!existsSync(join(temp, 'elsewhere', 'new')) && !existsSync(join(temp, 'nowhere')));
  assert.equal(await workspaceFolder(host, 'main/inside'), join(root, 'shop'), 'one that stays within may be followed');
});

test('a file is no workspace, and a root that is gone is told of', async () => {
  writeFileSync(join(root, 'file'), 'x');
  await assert.rejects(workspaceFolder(host, 'main/file'), /no folder/);
  await assert.rejects(workspaceFolder({ roots: new Map([['main', join(temp, 'gone')]]) }, 'main/a'), /root "main"/);
});

test('files are read below their workspace only, as far as they are files of some size', async () => {
  const folder = join(root, 'shop');
  writeFileSync(join(folder, 'plan.md'), '- [x] a');
  assert.equal(await fileBelow(folder, 'plan.md'), '- [x] a');
  assert.equal(await fileBelow(folder, 'none.md'), undefined);
  symlinkSync(join(temp, 'elsewhere', 'secret'), join(folder, 'link'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  writeFileSync(join(folder, 'large'), 'x'.repeat(1024 * 1024 + 1));
  for (const path of ['link', 'pipe', 'large', '../file', '/etc/passwd', '.'])
    await assert.rejects(fileBelow(folder, path), { name: 'EngineError' }, path);
});
