// A crash right after each commit of a workflow, and right before it, on each store: the same result, and no effect twice that was stored.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ground } from '../../../test/support/compat-grounds.ts';
import { DurableScene, type DurableSceneOptions, type Elsewhere } from '../../../test/support/runs/durable-scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { task } from '../define/task.ts';
import type { AnyWorkflow } from './workflow.ts';
import { workflow } from './workflow.ts';

interface Case {
  readonly make: (effects: string[]) => AnyWorkflow;
  readonly signals?: readonly string[];
  readonly gives: unknown;
  /** Effects are under way together: one of them may have happened when the commit of another is the last. */
  readonly together?: boolean;
}

const double = task('double', { run: (input) => (input as number) * 2 });
const odd = task('odd', {
  maxAttempts: 1,
  run: (input) => {
    if ((input as number) % 2 === 0) throw new RangeError(`${String(input)} is even`);
    return input;
  },
});

const CASES: Readonly<Record<string, Case>> = {
  'steps in a row': {
    make: (effects) =>
      workflow('flow', async (_, wf) => {
        let sum = 0;
        for (const n of [1, 2, 3]) {
          sum += await wf.step('add', () => {
            effects.push(`add ${n}`);
            return n;
          });
        }
        return sum;
      }),
    gives: 6,
  },
  'branches side by side': {
    make: (effects) =>
      workflow('flow', async (_, wf) => {
        const branch = async (name: string): Promise<string[]> => {
          const said: string[] = [];
          for (const n of [0, 1]) {
            said.push(
              await wf.step('shared', () => {
                effects.push(`${name} ${n}`);
                return `${name} ${n}`;
              }),
            );
          }
          return said;
        };
        return Promise.all([branch('a'), branch('b')]);
      }),
    together: true,
    gives: [
      ['a 0', 'a 1'],
      ['b 0', 'b 1'],
    ],
  },
  'children, a map and a child that fails': {
    make: (effects) =>
      workflow('flow', async (_, wf) => {
        const two = await wf.child(double, 1);
        const failed = await wf.child(odd, two as number).catch((error: Error) => /2 is even/.test(error.message));
        await wf.step('told', () => void effects.push('told'));
        const [mapped, by] = await Promise.all([
          wf.map([1, 2, 3], double, { window: 2 }),
          wf.map(['x', 'y'], (item, { index }) => `${item}${index}`),
        ]);
        return { two, failed, mapped, by };
      }),
    gives: { two: 2, failed: true, mapped: [2, 4, 6], by: ['x0', 'y1'] },
  },
  'signals, timers and what is drawn': {
    make: (effects) =>
      workflow('flow', async (_, wf) => {
        const drawn = wf.random();
        const one = await wf.signal<number>('go');
        await wf.sleep('1m');
        const [two, late] = await Promise.all([wf.signal<number>('go'), wf.signal('never', { timeout: '1m' })]);
        await wf.step('end', () => void effects.push('end'));
        return [one, two, late ?? 'late', drawn >= 0];
      }),
    signals: ['go', 'go'],
    gives: [1, 2, 'late', true],
  },
};

describe('a crash around any commit', () => {
  const folder = tempFolder('workflow');
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  let files = 0;
  let postgres: Promise<Elsewhere> | undefined;
  const stores: Readonly<Record<string, () => Promise<DurableSceneOptions>>> = {
    memory: async () => ({}),
    sqlite: async () => ({ url: `sqlite:${join(folder, `${files++}.db`)}` }),
    postgres: async () => ({
      elsewhere: await (postgres ??= ground({ after: (end) => ends.push(end) }, 'postgres', folder)),
    }),
  };

  for (const [name, one] of Object.entries(CASES)) {
    for (const [store, where] of Object.entries(stores)) {
      test(`${name}, ${store}`, async () => {
        const plain = await once(one, await where(), {});
        assert.deepEqual(plain.output, one.gives);
        for (let at = 1; at <= plain.turns; at++) {
          // Each commit in memory; disks take their time.
          if (store !== 'memory' && at % 3 !== 1) continue;
          const afterCommit = await once(one, await where(), { crashAt: at });
          assert.deepEqual(afterCommit.output, one.gives, `after commit ${at}`);
          if (one.together !== true) assert.deepEqual(afterCommit.effects, plain.effects, `after commit ${at}`);
          const before = await once(one, await where(), { crashBefore: at });
          assert.deepEqual(before.output, one.gives, `before commit ${at}`);
          for (const { effects } of [afterCommit, before]) {
            assert.deepEqual([...new Set(effects)].sort(), [...new Set(plain.effects)].sort());
            const most = plain.effects.length + (one.together === true ? 2 : 1);
            assert.ok(effects.length <= most, `commit ${at}: ${effects.join()}`);
          }
        }
      });
    }
  }
});

async function once(
  { make, signals = [] }: Case,
  where: DurableSceneOptions,
  death: { readonly crashAt?: number; readonly crashBefore?: number },
): Promise<{ readonly output: unknown; readonly effects: readonly string[]; readonly turns: number }> {
  const effects: string[] = [];
  const flow = make(effects);
  const closing: (() => unknown)[] = [];
  const t = { after: (close: () => unknown) => void closing.push(close) };
  const scene = await DurableScene.open(t, { ...where, tasks: [flow, double, odd] });
  const run = await scene.push(flow);
  const record = await scene.engine.get(run);
  assert.ok(record);
  for (const [i, name] of signals.entries()) {
    await scene.engine.waits.signal(`${scene.engine.idOf(record)}:${name}`, i + 1);
  }
  await scene.work(death);
  const { state, output } = await scene.end(run);
  // The next one needs the duties of this one.
  for (const close of closing) await close();
  assert.equal(state, 'completed', JSON.stringify(output));
  return { output, effects: effects.toSorted(), turns: scene.turns };
}
