import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { SecretFiles } from './secret-files.ts';

const temp = tempFolder('secret-files');
let places = 0;

function place(): { readonly memory: string; readonly base: string } {
  const memory = join(temp, `memory-${++places}`);
  mkdirSync(memory);
  return { memory, base: join(memory, `leasehold-secrets-${process.getuid?.()}`) };
}

test('without a place in memory the folder for temporary files is used', async () => {
  const files = new SecretFiles(temp, join(temp, 'none')).forAttempt();
  const path = await files.write('db', 'secret');
  assert.ok(path.startsWith(temp));
  assert.equal(readFileSync(path, 'utf8'), 'secret');
  await files.remove();
  assert.equal(existsSync(path), false);
});

test('what a process has left that is gone is removed, and what others have is not', async () => {
  const { memory, base } = place();
  const files = new SecretFiles(temp, memory);
  const own = await files.forAttempt().write('db', 'secret');
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  const [gone, parent, elsewhere] = [`999999999.1.${namespace}`, `${process.ppid}..${namespace}`, '999999999.1.1'];
  for (const name of [gone, parent, elsewhere]) {
    mkdirSync(join(base, name, 'attempt'), { recursive: true });
    writeFileSync(join(base, name, 'attempt', 'db'), 'secret');
  }
  await files.sweep();
  assert.ok(existsSync(own));
  assert.deepEqual(
    readdirSync(base)
      .filter((name) => [gone, parent, elsewhere].includes(name))
      .sort(),
    [parent, elsewhere].sort(),
  );
});

test('a folder that somebody else has put there is not used', async () => {
  const { memory, base } = place();
  mkdirSync(join(temp, 'lure'));
  symlinkSync(join(temp, 'lure'), base);
  await assert.rejects(new SecretFiles(temp, memory).forAttempt().write('db', 'secret'), /this user alone/);
  assert.deepEqual(readdirSync(join(temp, 'lure')), []);
  const open = place();
  mkdirSync(open.base, { mode: 0o755 });
  await assert.rejects(new SecretFiles(temp, open.memory).forAttempt().write('db', 'secret'), /this user alone/);
});
