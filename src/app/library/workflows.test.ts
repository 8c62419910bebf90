import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { InputOf, ResultOf } from '../../worker/define/pushable-task.ts';
import { task } from '../../worker/define/task.ts';
import { type Workflow, workflow } from '../../worker/workflow/workflow.ts';
import { open } from '../open.ts';
import type { Leasehold, WorkflowHandle } from './leasehold.ts';

const folder = tempFolder('workflows');
const double = task('double', { input: z.object({ n: z.number() }), run: ({ n }) => 2 * n });

/** The same calls must do the same on each of these. On a node the worker is a joined one. */
const GROUNDS: Readonly<Record<string, (t: TestContext) => Promise<Leasehold>>> = {
  'a store in memory': () => open('memory:'),
  'a file': () => open(`sqlite:${join(folder, `${randomUUID()}.db`)}`, { durability: 'normal' }),
  'a node over HTTP': async (t) => {
    const { service, admin } = await nodeScene(t, { durability: 'normal' });
    return open(service.address as 'http://node', { token: admin });
  },
};

async function until(handle: WorkflowHandle, state: string): Promise<void> {
  while ((await handle.state()) !== state) await pause(5);
}

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(answer: Same<A, B>): void => assert.equal(answer, true);

test('the types go from the schema, or from the function, to the result', () => {
  const typed = workflow('typed', { input: z.object({ n: z.coerce.number<string>() }) }, async ({ n }, wf) => {
    const at = await wf.step('at', () => ({ date: new Date(0), n }));
    same<typeof at, { date: string; n: number }>(true);
    const twice = await wf.child(double, { n });
    const many = await wf.map([1, 2], (item) => `${item}`);
    same<typeof many, string[]>(true);
    return { twice, at };
  });
  same<InputOf<typeof typed>, { n: string }>(true);
  same<ResultOf<typeof typed>, { twice: number; at: { date: string; n: number } }>(true);
  const plain = workflow('plain', async (input: { day: string }, wf) => wf.step('day', () => input.day.length));
  same<InputOf<typeof plain>, { day: string }>(true);
  same<ResultOf<typeof plain>, number>(true);
});

test('what makes no workflow is refused where it is written', () => {
  const code = (make: () => unknown): unknown => {
    try {
      return make();
    } catch (error) {
      assert.ok(isEngineError(error), String(error));
      return error.code;
    }
  };
  const body = async (): Promise<void> => {};
  assert.equal(
    code(() => workflow('Not A Name', body)),
    'INVALID_INPUT',
  );
  assert.equal(
    code(() => workflow('x', { version: 'a b' }, body)),
    'INVALID_INPUT',
  );
  assert.equal(
    code(() => workflow('x'.repeat(60), { version: '1.2.3' }, body)),
    'INVALID_INPUT',
  );
  assert.equal(
    code(() => workflow('x', { retries: 3 } as never, body)),
    'UNKNOWN_OPTION',
  );
  assert.equal(
    code(() => workflow('x', {} as never, undefined as never)),
    'INVALID_INPUT',
  );
  assert.deepEqual([workflow('x', { version: 3 }, body).name, workflow('x', body).name], ['x@3', 'x']);
});

for (const [ground, make] of Object.entries(GROUNDS)) {
  const opened = async (t: TestContext): Promise<Leasehold> => {
    let app: Leasehold | undefined;
    t.after(() => app?.close({ drainMs: 0 }));
    app = await make(t);
    return app;
  };

  describe(`workflows on ${ground}`, () => {
    test('a run waits for children, a signal and a decision, and is found under its execution id', async (t) => {
      const app = await opened(t);
      let charged = 0;
      const order = workflow('order', { input: z.object({ items: z.array(z.number()) }) }, async ({ items }, wf) => {
        const prices = await wf.map(
          items.map((n) => ({ n })),
          double,
          { window: 2 },
        );
        const total = await wf.step('total', () => {
          charged++;
          return prices.reduce((sum, price) => sum + price, 0);
        });
        const decision = await wf.approval('ship', { title: `Ship for ${total}?` });
        const address = await wf.signal<string>('address');
        return { total, by: decision.action, address };
      });
      await app.worker({ tasks: [order, double], slots: 4 }).start();
      const handle = await app.run(order, { items: [1, 2, 3] }, { executionId: 'order-1', labels: { team: 'a' } });
      assert.deepEqual([handle.fresh, handle.executionId], [true, 'order-1']);
      await until(handle, 'waiting');
      while ((await app.approvals()).length === 0) await pause(5);
      const standing = await app.runs.get('order-1');
      assert.match(standing?.summary ?? '', /Ship for 12/);
      assert.deepEqual(
        standing?.waits.map(({ kind, title }) => [kind, title]),
        [['approval', 'Ship for 12?']],
      );
      await app.decide(handle.id, { action: 'approve' });
      await handle.signal('address', 'Main Street 1');
      const result = await handle.result();
      assert.deepEqual(result, { total: 12, by: 'approve', address: 'Main Street 1' });
      const again = await app.run(order, { items: [1, 2, 3] }, { executionId: 'order-1' });
      assert.deepEqual([again.fresh, again.id], [false, handle.id]);
      assert.deepEqual([await again.result(), charged], [result, 1]);
      assert.equal(await refusal(app.run(order, { items: [9] }, { executionId: 'order-1' })), 'UNIQUE_CONFLICT');
      const { runs } = await app.runs.list({ kind: 'workflow' });
      assert.deepEqual(
        runs.map(({ name, title, kind, state, labels }) => ({ name, title, kind, state, labels })),
        [{ name: 'order-1', title: 'order', kind: 'workflow', state: 'completed', labels: { team: 'a' } }],
      );
      const { steps } = await app.runs.steps('order-1', { task: handle.id });
      assert.ok(steps.some(({ name, kind }) => name === 'total' && kind === 'step'));
      assert.ok(steps.some(({ name, kind }) => name === 'child double[0]' && kind === 'child'));
    });

    test('a run stays on the version that it began with, and workers take the versions that they have', async (t) => {
      const app = await opened(t);
      const versions = ['1', '2'].map((version) =>
        workflow('flow', { version }, async (_, wf) => {
          await wf.signal('go');
          return version;
        }),
      );
      const [one, two] = versions as [(typeof versions)[0], (typeof versions)[0]];
      const old = app.worker({ tasks: [one] });
      await old.start();
      const first = await app.run(one, null, { executionId: 'f' });
      const second = await app.run(two, null);
      await until(first, 'waiting');
      assert.equal(await second.state(), 'ready');
      assert.match((await app.explain(second.id)).summary, /worker/);
      await app.worker({ tasks: [one, two], name: 'both' }).start();
      await until(second, 'waiting');
      const resumed = await app.run(two, null, { executionId: 'f' });
      assert.deepEqual([resumed.id, resumed.fresh], [first.id, false]);
      await resumed.signal('go');
      await second.signal('go');
      assert.deepEqual([await first.result(), await second.result()], ['1', '2']);
    });

    test('a workflow starts another one of a version, which waits and answers', async (t) => {
      const app = await opened(t);
      const below = workflow('below', { version: 2 }, async (n: unknown, wf) => {
        await wf.sleep('10ms');
        return wf.step('plus', () => (n as number) + 1);
      });
      const above = workflow('above', async (_, wf) => Promise.all([1, 2].map((n) => wf.child(below, n))));
      await app.worker({ tasks: [above, below], slots: 2 }).start();
      const handle = await app.run(above, null);
      assert.deepEqual(await handle.result(), [2, 3]);
    });

    test('a cancelled run tells its step to stop, and begins no other', async (t) => {
      const app = await opened(t);
      const begun = Promise.withResolvers<void>();
      const stopped = Promise.withResolvers<void>();
      let after = 0;
      const flow = workflow('patient', async (_, wf) => {
        await wf
          .step('wait', ({ signal }) => {
            begun.resolve();
            return new Promise((_go, refuse) =>
              signal.addEventListener('abort', () => {
                stopped.resolve();
                refuse(signal.reason as Error);
              }),
            );
          })
          .catch(() => {});
        await wf.step('after', () => ++after);
      });
      await app.worker({ tasks: [flow] }).start();
      const handle = await app.run(flow, null);
      await begun.promise;
      await handle.cancel();
      await stopped.promise;
      await assert.rejects(handle.result(), /it was cancelled/);
      assert.equal(after, 0);
    });

    test('a run that failed goes on under its execution id', async (t) => {
      const app = await opened(t);
      let broken = true;
      let before = 0;
      const flow = workflow('shaky', async (_, wf) => {
        await wf.step('before', () => ++before);
        return wf.step('work', () => {
          if (broken) throw new Error('no disk');
          return 'worked';
        });
      });
      await app.worker({ tasks: [flow] }).start();
      const handle = await app.run(flow, null, { executionId: 's' });
      await assert.rejects(handle.result(), /no disk/);
      broken = false;
      const again = await app.run(flow, null, { executionId: 's' });
      assert.deepEqual([await again.result(), before, again.id], ['worked', 1, handle.id]);
    });
  });
}

test('a workflow in a child process waits and goes on like one in the loop', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  const file = join(folder, 'apart.ts');
  const from = new URL('../../worker/workflow/workflow.ts', import.meta.url).href;
  writeFileSync(
    file,
    `import { workflow } from ${JSON.stringify(from)};
    export const apart = workflow('apart', { isolation: 'process', module: import.meta.url }, async (input, wf) => {
      const pid = await wf.step('pid', () => process.pid);
      const twice = await wf.child({ queue: 'double', handler: 'double' }, { n: 4 });
      const word = await wf.signal('word');
      return { apart: typeof pid, twice, word };
    });`,
  );
  const { apart } = (await import(pathToFileURL(file).href)) as { apart: Workflow<unknown, unknown> };
  await app.worker({ tasks: [apart, double], slots: 2 }).start();
  const run = await app.run(apart, null);
  await run.signal('word', 'hello');
  assert.deepEqual(await run.result(), { apart: 'number', twice: 8, word: 'hello' });
});
