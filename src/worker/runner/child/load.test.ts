import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { modulesToLoad } from '../process/modules-to-load.ts';
import { moduleOf } from '../process/process-trial.test.ts';
import { LoadError, loadTasks } from './load.ts';

const load = async (...modules: string[]): Promise<readonly string[]> => [
  ...(await loadTasks(modulesToLoad(modules), () => {})).keys(),
];

test('paths and URLs name the same module, which is loaded once', () => {
  const file = moduleOf(`export default task('one', { run: () => 1 });`);
  assert.deepEqual(modulesToLoad([file, pathToFileURL(file).href]), [
    { module: pathToFileURL(file).href, names: undefined },
  ]);
});

test('tasks are found among all that a module exports, under whatever name', async () => {
  const file = moduleOf(`
    export const helper = () => 1; export const text = 'text'; export const nothing = null;
    export const a = task('one', { run: () => 1 }); export default a;
    export const plain = { name: 'two', run: () => 2 };`);
  assert.deepEqual((await load(file)).toSorted(), ['one', 'two']);
});

test('a task that is exported again by another module is one task', async () => {
  const file = moduleOf(`export default task('one', { run: () => 1 });`);
  const gathers = moduleOf(`export { default as one } from ${JSON.stringify(pathToFileURL(file).href)};`);
  assert.deepEqual(await load(file, gathers), ['one']);
});

test('a module without any task is refused', async () => {
  await assert.rejects(
    load(moduleOf('export const x = 1;')),
    (error) => error instanceof LoadError && /no task/.test(error.message),
  );
});

test('a module is named before it is loaded', async () => {
  const named: string[] = [];
  const broken = moduleOf(`throw new Error('broken');`);
  await assert.rejects(
    loadTasks(modulesToLoad([broken]), (module) => named.push(module)),
    /does not load: Error: broken/,
  );
  assert.deepEqual(named, [pathToFileURL(broken).href]);
});
