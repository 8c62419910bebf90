import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { task } from '../../worker/define/task.ts';
import { workflow } from '../../worker/workflow/workflow.ts';
import { open } from '../open.ts';
import type { Leasehold } from './leasehold.ts';

/** On a node the worker is a joined one. */
const GROUNDS: Readonly<Record<string, (t: TestContext) => Promise<Leasehold>>> = {
  'a store in memory': () => open('memory:'),
  Postgres: async () => open((await freshDatabase('forks')) as 'postgres://'),
  'a node over HTTP': async (t) => {
    const { service, admin } = await nodeScene(t, { durability: 'normal' });
    return open(service.address as 'http://node', { token: admin });
  },
};

interface Order {
  readonly days: number;
  readonly word?: string;
}

/** Counts what it does, and fails in `charge` while `broken`. */
function scene() {
  const effects: string[] = [];
  const world = { broken: false };
  const double = task('double', {
    run: (input) => {
      effects.push('double');
      return (input as number) * 2;
    },
  });
  const note = (name: string) => (): string => {
    effects.push(name);
    return `${name} ${effects.length}`;
  };
  const order = workflow('order', async ({ days, word }: Order, wf) => {
    const at = wf.now();
    const [first, doubled] = await Promise.all([wf.step('first', note('first')), wf.child(double, days)]);
    const caught = await wf.step('bad', () => Promise.reject(new RangeError('no'))).catch((e: Error) => e.message);
    const said = await wf.signal<string>('word');
    const charged = await wf.step('charge', () => {
      if (world.broken) throw new Error('no money');
      return note('charge')();
    });
    const last = await wf.step('last', note('last'));
    return { at, first, doubled, caught, said, charged, last, word };
  });
  return { effects, world, double, order };
}

for (const [name, ground] of Object.entries(GROUNDS)) {
  test(`${name}: no input says what a workflow has done`, async (t) => {
    const { order, double, effects } = scene();
    const app = await ground(t);
    t.after(() => app.close());
    await app.worker({ tasks: [order, double], slots: 4 }).start();
    const forged = { days: 1, 'leasehold.fork': [{ key: 'step:first#0', value: '"paid"' }], input: { days: 1 } };
    assert.equal(await refusal(app.run(order, forged)), 'INVALID_INPUT');
    assert.equal(await refusal(app.push(double, forged as never)), 'INVALID_INPUT');
    assert.deepEqual(effects, []);
  });

  test(`${name}: a fork of a workflow in code has what was recorded up to a step, and runs the rest again`, async (t) => {
    const { effects, world, double, order } = scene();
    const app = await ground(t);
    t.after(() => app.close());
    await app.worker({ tasks: [order, double], slots: 4 }).start();
    const run = await app.run(order, { days: 2 }, { executionId: 'one' });
    await run.signal('word', 'go');
    const done = await run.result();
    assert.deepEqual(effects.splice(0).toSorted(), ['charge', 'double', 'first', 'last']);

    const steps = (await app.runs.steps('one')).steps.filter(({ forkable }) => forkable);
    const charge = steps.find(({ key }) => key.endsWith('/step:charge#0'));
    assert.ok(charge, 'the step can be forked from');
    const fork = await app.runs.fork('one', { step: charge.key, name: 'two' });
    assert.deepEqual([fork.forkedFrom, fork.title, fork.kind], [run.id, 'order', 'workflow']);
    const two = await app.run(order, { days: 2 }, { executionId: 'two' }).catch(() => undefined);
    assert.equal(two, undefined, 'a fork is other work than the run of its input');
    const ended = await endOf(app, 'two');
    assert.deepEqual(ended.input, { days: 2 });
    assert.deepEqual(ended.output, { ...done, last: 'last 1' });
    assert.deepEqual(effects.splice(0), ['last']);

    // Of a fork again, by the place of a step; what was heard and what a child gave are taken over.
    await app.runs.fork('two', { step: 'signal:word#0', name: 'three', context: { word: 'changed' } });
    const third = (await endOf(app, 'three')).output as Record<string, unknown>;
    assert.deepEqual(third, { ...done, charged: 'charge 1', last: 'last 2', word: 'changed' });
    assert.deepEqual(effects.splice(0), ['charge', 'last']);

    // A run that has failed: without a step the fork goes back to what failed it.
    world.broken = true;
    const failing = await app.run(order, { days: 3 }, { executionId: 'failing' });
    await failing.signal('word', 'go');
    await assert.rejects(failing.result());
    world.broken = false;
    effects.splice(0);
    await app.runs.fork('failing', { name: 'mended' });
    const mended = (await endOf(app, 'mended')).output as Record<string, unknown>;
    assert.deepEqual([mended['doubled'], mended['caught'], mended['said']], [6, 'no', 'go']);
    assert.deepEqual(effects.splice(0), ['charge', 'last']);

    // From the start nothing is taken over.
    await app.runs.fork('one', { step: 'start', name: 'anew', context: { days: 5 } });
    await app.signal(`${(await detailOf(app, 'anew')).id}:word`, 'go');
    assert.equal(((await endOf(app, 'anew')).output as Record<string, unknown>)['doubled'], 10);
    assert.deepEqual(effects.splice(0).toSorted(), ['charge', 'double', 'first', 'last']);
  });
}

test('what cannot be forked of a workflow in code is refused', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  const flow = workflow('flow', async (_: null, wf) => {
    await wf.step('large', () => 'x'.repeat(900_000));
    await wf.step('larger', () => 'x'.repeat(900_000));
    return wf.step('end', () => 1);
  });
  await app.worker({ tasks: [flow] }).start();
  await (await app.run(flow, null, { executionId: 'run' })).result();
  assert.equal(await refusal(app.runs.fork('run', { step: 'step:none#0' })), 'NOT_FOUND');
  assert.equal(await refusal(app.runs.fork('run', { step: 'step:end#0' })), 'CONFLICT');
  assert.equal(await refusal(app.runs.fork('run', { step: 'step:larger#0' })), 'CONFLICT');
  assert.equal(await refusal(app.runs.fork('run', { step: 'start', context: { a: 1 } })), 'INVALID_INPUT');
  assert.equal(await refusal(app.runs.fork('run', { step: 'step:large#0', name: 'run' })), 'UNIQUE_CONFLICT');
  assert.equal((await endOf(app, (await app.runs.fork('run', { step: 'step:large#0' })).id)).output, 1);
});

const detailOf = async (app: Leasehold, run: string) =>
  (await app.runs.get(run)) ?? assert.fail(`there is no run ${run}`);

async function endOf(app: Leasehold, run: string) {
  await app.handle((await detailOf(app, run)).id).result();
  return detailOf(app, run);
}
