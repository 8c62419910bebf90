import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { remoteScript } from './remote-script.ts';

const folder = tempFolder('remote-script');
const HOSTILE = [
  "it's",
  '$(touch trapped)',
  '`id`',
  'a\nb',
  '"',
  '\\',
  '',
  ' ',
  '*',
  '~',
  '-n',
  '!!',
  '#',
  'ü',
  '&',
  '>x',
];

test('a shell reads every word and every value as it was given', async () => {
  const pipe = join(folder, 'pipe');
  const out = join(folder, 'out');
  execFileSync('mkfifo', [pipe]);
  const collect = 'printf "%s\\0" "$@" > "$OUT"; env -0 > "$OUT.env"; echo > "$PIPE"';
  const env = { OUT: out, PIPE: pipe, ...Object.fromEntries(HOSTILE.map((value, i) => [`V${i}`, value])) };
  const script = remoteScript({ argv: ['sh', '-c', collect, 'sh', ...HOSTILE], env, outputFile: undefined });
  const said = execFileSync('sh', ['-s'], { input: script, encoding: 'utf8', cwd: folder });
  assert.match(said, /^pid \d+\n$/);
  await readFile(pipe);
  assert.deepEqual(readFileSync(out, 'utf8').split('\0').slice(0, -1), HOSTILE);
  const variables = new Set(readFileSync(`${out}.env`, 'utf8').split('\0'));
  HOSTILE.forEach((value, i) => assert.ok(variables.has(`V${i}=${value}`), value));
});

test('a script that arrives in part starts nothing', () => {
  const script = remoteScript({ argv: ['touch', join(folder, 'half')], env: { A: 'b' }, outputFile: undefined });
  for (let cut = 1; cut < script.length - 2; cut += 7) {
    assert.throws(() =>
      execFileSync('sh', ['-s'], { input: script.slice(0, cut), stdio: ['pipe', 'ignore', 'ignore'] }),
    );
  }
  assert.throws(() => readFileSync(join(folder, 'half')));
});
