import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { makeJs } from './js.ts';
import { problemOf, tryOut } from './try-out.test.ts';

const folder = tempFolder('js');
const root = join(folder, 'root');
const outside = join(folder, 'root-beside');
const file = (name: string, source: string): void => writeFileSync(join(root, name), source);

mkdirSync(join(root, 'deep', 'er'), { recursive: true });
mkdirSync(outside);
writeFileSync(join(outside, 'evil.js'), 'export default () => "evil";');

const js = makeJs({ root });
const call = (input: unknown) => tryOut(js, input);
const resultOf = async (input: unknown): Promise<unknown> => {
  const { ended } = await call(input);
  assert.equal(ended.kind, 'done', JSON.stringify(ended));
  return (ended as { result: unknown }).result;
};

test('the default export is called with the input and the context, and what it returns is the result', async () => {
  file(
    'hello.js',
    'export default async (input, ctx) => { ctx.log("hi"); return { input, id: ctx.id, fence: ctx.fence }; };',
  );
  const { ended, lines } = await call({ module: 'hello.js', input: { a: 1 } });
  assert.deepEqual(ended, { kind: 'done', result: { input: { a: 1 }, id: 'task_1', fence: 1 } });
  assert.deepEqual(lines, ['hi']);
});

test('a named export of a TypeScript module in a folder below is found', async () => {
  file(
    'deep/er/sum.ts',
    'export function sum(input: readonly number[]): number { return input.reduce((a, b) => a + b, 0); }',
  );
  assert.equal(await resultOf({ module: './deep/er/sum.ts', export: 'sum', input: [1, 2, 3] }), 6);
});

test('a module that has changed is imported anew, one that has not is not', async () => {
  file('count.mjs', 'let calls = 0; export default () => ++calls;');
  assert.equal(await resultOf({ module: 'count.mjs' }), 1);
  assert.equal(await resultOf({ module: 'count.mjs' }), 2);
  file('count.mjs', 'let calls = 9; export default () => ++calls;');
  utimesSync(join(root, 'count.mjs'), 1, 1);
  assert.equal(await resultOf({ module: 'count.mjs' }), 10);
});

test('an outcome of the function is an outcome of the task, and what it throws fails it', async () => {
  const outcome = new URL('../define/outcome.ts', import.meta.url).href;
  file(
    'ends.js',
    `import { retryAfter } from ${JSON.stringify(outcome)};
    export const later = () => retryAfter("5s", "busy");
    export const broken = () => { throw new RangeError("no"); };`,
  );
  assert.deepEqual((await call({ module: 'ends.js', export: 'later' })).ended, {
    kind: 'retryAfter',
    delayMs: 5_000,
    reason: 'busy',
  });
  assert.deepEqual(problemOf(await call({ module: 'ends.js', export: 'broken' })), {
    kind: 'failed',
    message: 'no',
    code: undefined,
  });
});

test('a link inside of the folder is followed, one that leads out of it is refused', async () => {
  file('real.js', 'export default () => "real";');
  symlinkSync(join(root, 'real.js'), join(root, 'alias.js'));
  symlinkSync(join(outside, 'evil.js'), join(root, 'evil.js'));
  symlinkSync(outside, join(root, 'deep', 'out'));
  assert.equal(await resultOf({ module: 'alias.js' }), 'real');
  for (const module of ['evil.js', 'deep/out/evil.js']) {
    const { kind, code } = problemOf(await call({ module }));
    assert.deepEqual([kind, code], ['giveUp', 'REFUSED'], module);
  }
});

test('a folder of modules that is itself a link is the folder that it leads to', async () => {
  file('here.js', 'export default () => "here";');
  symlinkSync(root, join(folder, 'link'));
  const { ended } = await tryOut(makeJs({ root: join(folder, 'link') }), { module: 'here.js' });
  assert.deepEqual(ended, { kind: 'done', result: 'here' });
});

test('without the folder of modules nothing can be called', async () => {
  const { ended } = await tryOut(makeJs({ root: join(folder, 'missing') }), { module: 'here.js' });
  assert.equal(problemOf({ ended, lines: [] }).code, 'NO_FOLDER');
});

test('no path leads out of the folder', async () => {
  const paths: [string, RegExp][] = [
    [join(outside, 'evil.js'), /below the folder of modules/],
    [pathToFileURL(join(outside, 'evil.js')).href, /below the folder of modules/],
    ['data:text/javascript,export default () => 1', /below the folder of modules/],
    ['node:child_process', /below the folder of modules/],
    ['C:\\evil.js', /below the folder of modules/],
    ['../root-beside/evil.js', /must not contain \.\./],
    ['deep/../../root-beside/evil.js', /must not contain \.\./],
    ['..\\root-beside\\evil.js', /must have \/ between its parts/],
    ['', /is not a path/],
    ['a\0.js', /is not a path/],
  ];
  for (const [module, expected] of paths) {
    const { kind, message } = problemOf(await call({ module }));
    assert.equal(kind, 'giveUp');
    assert.match(message, expected, module);
  }
});

test('only files with code in them are modules', async () => {
  file('data.json', '{}');
  mkdirSync(join(root, 'folder.js'));
  symlinkSync(join(root, 'data.json'), join(root, 'dressed.js'));
  assert.equal(problemOf(await call({ module: 'data.json' })).code, 'REFUSED');
  assert.equal(problemOf(await call({ module: 'dressed.js' })).code, 'REFUSED');
  assert.equal(problemOf(await call({ module: 'folder.js' })).code, 'NO_MODULE');
  assert.equal(problemOf(await call({ module: '.' })).code, 'REFUSED');
  assert.equal(problemOf(await call({ module: 'missing.js' })).code, 'NO_MODULE');
});

test('what is not a function of the module cannot be called', async () => {
  file('things.js', 'export const number = 7; export default class {}');
  for (const name of ['number', 'missing', 'toString', '__proto__', 'constructor']) {
    const { kind, code } = problemOf(await call({ module: 'things.js', export: name }));
    assert.deepEqual([kind, code], ['giveUp', 'NO_FUNCTION'], name);
  }
});

test('a module that does not load fails the attempt, and is loaded when it has been mended', async () => {
  file('broken.js', 'export default () => {');
  assert.equal((await call({ module: 'broken.js' })).ended.kind, 'failed');
  file('broken.js', 'export default () => "mended";');
  assert.equal(await resultOf({ module: 'broken.js' }), 'mended');
});
