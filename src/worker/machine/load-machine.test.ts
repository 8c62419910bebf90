import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { isEngineError } from '../../core/errors.ts';
import { HooksRegistry } from './hooks-registry.ts';
import { runInline } from './inline-driver.ts';
import { loadMachine, readMachineFile } from './load-machine.ts';
import type { LoaderOptions } from './loader-options.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';

const world = realWorld();

function folderWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'lh-machine-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function runFile(file: string, input: unknown, more: Partial<LoaderOptions> = {}): Promise<unknown> {
  const agent = (): Promise<never> => Promise.reject(new Error('no agents here'));
  const runnable = await loadMachine(await readMachineFile(file), { hooks: new HooksRegistry(), agent, ...more });
  const stop = new AbortController().signal;
  return runInline(runnable, { executionId: 'run', input, stop }, { world, signals: new LocalSignals() });
}

const CHILD = `spec: flatmachine
spec_version: "0.8.3"
data:
  name: child
  context: { n: "{{ input.n }}" }
  states:
    start: { type: final, output: { twice: "{{ context.n * 2 }}" } }
`;

test('peers come from files beside the machine, from the machine itself, and from those that are registered', async (t) => {
  const folder = folderWith(t, {
    'child.yml': CHILD,
    'parent.yml': `spec: flatmachine
spec_version: "1.0"
data:
  machines:
    file: ./child.yml
    path: { path: child.yml }
    inline: { spec: flatmachine, data: { states: { a: { type: final, output: { inline: true } } } } }
  states:
    start: { machine: [file, path, inline, child], input: { n: 2 }, output_to_context: { all: output }, transitions: [{ to: end }] }
    end: { type: final, output: { all: context.all } }
`,
  });
  const machines = new Map([['child', await readMachineFile(join(folder, 'child.yml'))]]);
  assert.deepEqual(await runFile(join(folder, 'parent.yml'), {}, { machines }), {
    all: { file: { twice: 4 }, path: { twice: 4 }, inline: { inline: true }, child: { twice: 4 } },
  });
});

test('a machine whose file is not there is the one that the program has under its name, or an error of the state', async (t) => {
  const folder = folderWith(t, {
    'around.yml': `spec: flatmachine
spec_version: "1.0"
data:
  machines: { helper: ./helper.yml }
  states:
    start: { machine: helper, output_to_context: { got: output }, on_error: failed, transitions: [{ to: end }] }
    end: { type: final, output: { got: context.got } }
    failed: { type: final, output: { why: context.last_error_type } }
`,
  });
  const around = join(folder, 'around.yml');
  assert.deepEqual(await runFile(around, {}), { why: 'NOT_FOUND' });
  const value = {
    spec: 'flatmachine',
    spec_version: '1.0',
    data: { states: { end: { type: 'final', output: { n: 1 } } } },
  };
  const machines = new Map([['helper', { value, folder, name: 'a stand-in' }]]);
  assert.deepEqual(await runFile(around, {}, { machines }), { got: { n: 1 } });
});

test('hooks come by name with their arguments, or from a module beside the machine', async (t) => {
  const machine = (hooks: string): string => `spec: flatmachine
spec_version: "1.0"
data:
  hooks: ${hooks}
  states:
    start: { action: go, transitions: [{ to: end }] }
    end: { type: final, output: { by: context.by } }
`;
  const folder = folderWith(t, {
    'named.yml': machine('{ name: mine, args: { who: Ann } }'),
    'file.yml': machine('{ file: ./hooks.mjs, class: Hooks, args: { who: Bo } }'),
    'missing.yml': machine('nobody'),
    'hooks.mjs':
      'export class Hooks { constructor(args) { this.args = args; } on_action() { return { by: this.args.who }; } }',
  });
  const hooks = new HooksRegistry().register('mine', ({ who }) => ({ onAction: () => ({ by: who }) }) as MachineHooks);
  assert.deepEqual(await runFile(join(folder, 'named.yml'), {}, { hooks }), { by: 'Ann' });
  assert.deepEqual(await runFile(join(folder, 'file.yml'), {}), { by: 'Bo' });
  await assert.rejects(runFile(join(folder, 'missing.yml'), {}, { hooks }), /There is no set of hooks nobody/);
});

test('all problems of a file are told at once, each with its line', async (t) => {
  const folder = folderWith(t, {
    'bad.yml': `spec: flatmachine
spec_version: "1.0"
data:
  states:
    start:
      transitions:
        - condition: "1 +"
          to: end
        - to: nowhere
`,
  });
  await assert.rejects(runFile(join(folder, 'bad.yml'), {}), (error: unknown) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(error.message, /it has 3 problems/);
    assert.match(
      error.hint ?? '',
      /line 7: data\.states\.start\.transitions\[0\]\.condition: column 4: expected a value/,
    );
    assert.match(error.hint ?? '', /line 9: data\.states\.start\.transitions\[1\]\.to: there is no state "nowhere"/);
    return true;
  });
  await assert.rejects(runFile(join(folder, 'gone.yml'), {}), /There is no file/);
});

test('warnings are told, and are errors for who wants it strict', async (t) => {
  const folder = folderWith(t, { 'odd.yml': CHILD.replace('name: child', 'name: child\n  odd: 1') });
  const warnings: string[] = [];
  await runFile(join(folder, 'odd.yml'), { n: 1 }, { onWarning: (text) => warnings.push(text) });
  assert.match(warnings.join(), /line 5: data\.odd: there is no field "odd"/);
  await assert.rejects(runFile(join(folder, 'odd.yml'), { n: 1 }, { strict: true }), /there is no field "odd"/);
});

test('a file that never ends is read no further than a machine may be long', async () => {
  await assert.rejects(readMachineFile('/dev/zero'), (error: unknown) => isEngineError(error, 'TOO_LARGE'));
});
