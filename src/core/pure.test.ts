import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('.', import.meta.url);
const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));

test('every core file is loaded, so that an untested one shows in the coverage report', async () => {
  assert.ok(files.length > 0);
  for (const file of files) await import(new URL(file, folder).href);
});

test('core files import only core files and use no clock, randomness, timers or process', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bMath\.random\b|\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b|\b(?:process|performance|crypto|globalThis|fetch|Buffer)(?:\.\w|\()/;
  for (const file of files) {
    const source = readFileSync(new URL(file, folder), 'utf8');
    for (const found of source.matchAll(/\bfrom '([^']+)'|\bimport\(([^)]*)\)|^import '([^']+)'/gm)) {
      const named = found[1] ?? found[2] ?? found[3] ?? '';
      assert.match(named, /^\.\.?\/[\w/-]+\.ts$/, file);
      assert.ok(new URL(named, new URL(file, folder)).href.startsWith(folder.href), `${file} imports ${named}`);
    }
    assert.equal(impure.exec(source)?.[0], undefined, file);
  }
});
