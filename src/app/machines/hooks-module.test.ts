import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HookReference } from '../../flow/machine/definition.ts';
import { HooksRegistry } from '../../worker/machine/hooks-registry.ts';
import { loadHooksModule } from './hooks-module.ts';
import { HooksRegistry as NamedHooks } from './parts.ts';

function moduleOf(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-hooks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'hooks.mjs');
  writeFileSync(file, text);
  return file;
}

const named = (name: string): HookReference => ({
  name,
  file: undefined,
  module: undefined,
  class: undefined,
  args: { n: 1 },
});

test('a default export is hooks: an object, a class or a function that makes them', async (t) => {
  for (const text of [
    'export default { onAction: () => 7 };',
    'export default class { onAction() { return 7; } }',
    'export default () => ({ onAction: () => 7 });',
    'export default async () => ({ onAction: () => 7 });',
    'export function onAction() { return 7; }',
    'export const on_action = () => 7;',
  ]) {
    const [hooks, ...others] = await loadHooksModule(moduleOf(t, text), new HooksRegistry());
    const { onAction, on_action } = hooks as { onAction?: () => unknown; on_action?: () => unknown };
    assert.deepEqual([(onAction ?? on_action)?.call(hooks), others.length], [7, 0], text);
  }
});

test('other exports are registered under their names, and made with the arguments of the machine', async (t) => {
  const registry = new HooksRegistry();
  const text = `class Mine { constructor(args) { this.args = args; } }
export { Mine as 'my-hooks' };
export const made = (args) => ({ args });
export const plain = { args: 'own' };
export const nothing = 3;`;
  assert.deepEqual(await loadHooksModule(moduleOf(t, text), registry), []);
  const argsOf = async (name: string): Promise<unknown> =>
    ((await registry.resolve(named(name))) as { args?: unknown }).args;
  assert.deepEqual(
    [await argsOf('my-hooks'), await argsOf('made'), await argsOf('plain')],
    [{ n: 1 }, { n: 1 }, 'own'],
  );
  assert.equal(registry.has('nothing'), false);
});

test('a module that is not there, does not load or has no hooks is refused', async (t) => {
  await assert.rejects(loadHooksModule('./nowhere.mjs', new HooksRegistry()), { code: 'NOT_FOUND' });
  await assert.rejects(loadHooksModule(moduleOf(t, 'import "./gone.mjs";'), new HooksRegistry()), /gone\.mjs/);
  await assert.rejects(loadHooksModule(moduleOf(t, 'throw new Error("no");'), new HooksRegistry()), {
    code: 'INVALID_INPUT',
  });
  await assert.rejects(loadHooksModule(moduleOf(t, 'export default 3;'), new HooksRegistry()), /no hooks/);
});

test('hooks that are registered are taken by their name instead of a module', async () => {
  const registry = new HooksRegistry().register('shop', () => ({ onAction: () => 7 }));
  const [hooks] = await loadHooksModule('shop', registry);
  assert.equal(hooks?.onAction?.('pay'), 7);
  assert.ok(new NamedHooks().has('distributed-worker'));
});
