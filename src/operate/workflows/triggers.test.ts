import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ground } from '../../../test/support/compat-grounds.ts';
import { openNode } from '../../app/node.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import type { WorkflowView } from '../../protocol/views.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { EngineOperator } from '../engine-operator.ts';

// What the triggers of stored workflows start, on a clock that is ours.

const folder = tempFolder('triggers');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 0, 5, 12);

interface Scene {
  readonly apply: (tick: object, more?: object) => Promise<WorkflowView>;
  readonly turn: (on: boolean) => Promise<WorkflowView>;
  /** Time passes while the duty is held. */
  readonly pass: (ms: number) => Promise<void>;
  /** Time passes while nobody is up. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly tick: () => Promise<unknown>;
  /** The times that runs were told, after noon in minutes, oldest first, and the version of each. */
  readonly runs: () => Promise<readonly (readonly [number, string | undefined])[]>;
  readonly operator: EngineOperator;
}

async function scene(t: TestContext, kind: 'memory' | 'postgres'): Promise<Scene> {
  const { path, world, elapse, virtual } = await ground(t, kind, folder, NOON);
  const node = await openNode(path, { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  t.after(() => node.close());
  const operator = new EngineOperator(node.engine);
  const params = { name: 'flow' };
  const sleep = async (ms: number): Promise<void> => {
    await elapse(ms);
    await virtual?.settle();
  };
  const tick = (): Promise<unknown> => node.roster.tick('cron');
  return {
    apply: (data, more = {}) =>
      operator.call('applyWorkflow', {
        body: { name: 'flow', workflow: workflow({ tick: { typeId: 'core/scheduled', data } }, [], more) },
      }),
    turn: (on) => operator.call(on ? 'enableWorkflow' : 'disableWorkflow', { params }),
    sleep,
    tick,
    pass: async (ms) => {
      await sleep(ms);
      await tick();
    },
    runs: async () => {
      const { runs } = await operator.call('listRuns', { query: { kind: 'graph' } });
      const told = await Promise.all(
        runs.map(async ({ id, labels, title }) => {
          assert.equal(title, 'flow');
          const { input } = await operator.call('getTask', { params: { id } });
          const { time } = (input as { readonly input: { readonly time: string } }).input;
          return [Math.round((Date.parse(time) - NOON) / MINUTE), labels['version']] as const;
        }),
      );
      return told.toSorted(([a], [b]) => a - b);
    },
    operator,
  };
}

for (const kind of ['memory', 'postgres'] as const) {
  const on = (what: string, body: (s: Scene) => Promise<void>): void =>
    void test(`${kind}: ${what}`, async (t) => body(await scene(t, kind)));
  const at = (minutes: number): number => NOON + minutes * MINUTE;
  const next = ({ triggers }: WorkflowView): number | undefined => triggers[0]?.nextAt;
  const near = (actual: number | undefined, minutes: number): void =>
    assert.ok(Math.abs((actual ?? 0) - at(minutes)) < MINUTE / 2, `${new Date(actual ?? 0).toISOString()}`);

  on('steps fire at once when they are first on, and then from the last run on', async (s) => {
    near(next(await s.apply({ interval: 2, unit: 'hours' })), 0);
    await s.tick();
    assert.deepEqual(await s.runs(), [[0, '1']]);
    await s.pass(HOUR);
    assert.deepEqual(await s.runs(), [[0, '1']]);
    await s.pass(HOUR);
    assert.deepEqual(await s.runs(), [
      [0, '1'],
      [120, '1'],
    ]);
    near(next(await s.turn(true)), 240);
  });

  on('what is past due because nobody was up fires at once, and once', async (s) => {
    await s.apply({ interval: 1, unit: 'days' });
    await s.tick();
    await s.sleep(3.5 * DAY);
    await s.tick();
    await s.tick();
    assert.deepEqual(await s.runs(), [
      [0, '1'],
      [3 * 24 * 60, '1'],
    ]);
    near(next(await s.turn(true)), 4 * 24 * 60);
  });

  on('fire times that nobody could fire are left out, or all made up for, where the node says so', async (s) => {
    await s.apply({ every: '1h', from: '2026-01-05T12:00:00Z', missed: 'skip' });
    await s.sleep(3.5 * HOUR);
    await s.tick();
    assert.deepEqual(await s.runs(), []);
    await s.apply({ every: '1h', from: '2026-01-05T12:00:00Z', missed: 'all' });
    await s.sleep(2 * HOUR);
    await s.tick();
    assert.deepEqual(
      (await s.runs()).map(([minute]) => minute),
      [240, 300],
    );
  });

  on('cron fires at its times, in its zone', async (s) => {
    const made = await s.apply({ mode: 'cron', cron: '30 14 * * *', timezone: 'Europe/Berlin' });
    near(next(made), 90);
    await s.pass(89 * MINUTE);
    assert.deepEqual(await s.runs(), []);
    await s.pass(MINUTE + 1000);
    assert.deepEqual(await s.runs(), [[90, '1']]);
  });

  on('an instant fires once, and at once where it is past', async (s) => {
    await s.apply({ type: 'timed', trigger_at: at(-30) / 1000 });
    await s.tick();
    await s.apply({ type: 'timed', trigger_at: at(-30) / 1000 }, { description: 'another text' });
    await s.tick();
    assert.deepEqual(await s.runs(), [[-30, '1']]);
    assert.equal((await s.turn(true)).triggers[0]?.state, 'ended');
    near(next(await s.apply({ at: '2026-01-05T13:00:00Z' })), 60);
    await s.pass(HOUR);
    await s.pass(DAY);
    assert.deepEqual(await s.runs(), [
      [-30, '1'],
      [60, '3'],
    ]);
  });

  on('a workflow that is off starts nothing, and on again what is past due starts at once, once', async (s) => {
    await s.apply({ interval: 1, unit: 'hours' });
    await s.tick();
    assert.equal((await s.turn(false)).triggers[0]?.state, 'paused');
    await s.pass(5.5 * HOUR);
    assert.deepEqual(await s.runs(), [[0, '1']]);
    near(next(await s.turn(true)), 300);
    await s.tick();
    await s.tick();
    await s.pass(HOUR / 2);
    assert.deepEqual(
      (await s.runs()).map(([minute]) => minute),
      [0, 300, 360],
    );
  });

  on('turned off and on before its time it loses none and gains none', async (s) => {
    await s.apply({ interval: 1, unit: 'hours' });
    await s.tick();
    await s.sleep(HOUR / 2);
    await s.turn(false);
    near(next(await s.turn(true)), 60);
    await s.tick();
    assert.equal((await s.runs()).length, 1);
  });

  on('a new version moves the schedule, and the next run is one of it', async (s) => {
    await s.apply({ interval: 1, unit: 'hours' });
    await s.tick();
    near(next(await s.apply({ interval: 1, unit: 'hours' }, { description: 'another text' })), 60);
    await s.pass(HOUR);
    assert.deepEqual(await s.runs(), [
      [0, '1'],
      [60, '2'],
    ]);
    near(next(await s.apply({ interval: 3, unit: 'hours' })), 240);
    await s.pass(2 * HOUR);
    await s.pass(HOUR);
    assert.deepEqual((await s.runs()).at(-1), [240, '3']);
    assert.deepEqual((await s.apply({})).triggers, []);
    await s.pass(DAY);
    assert.equal((await s.runs()).length, 3);
  });

  on('many that fire at once start each fire time once', async (s) => {
    await s.apply({ interval: 1, unit: 'hours' });
    const other = new EngineOperator(s.operator.engine);
    await Promise.all([
      s.tick(),
      s.turn(false).then(() => s.turn(true)),
      other.call('enableWorkflow', { params: { name: 'flow' } }),
      s.apply({ interval: 1, unit: 'hours' }, { description: 'another text' }),
    ]);
    await s.tick();
    await s.tick();
    assert.equal((await s.runs()).length, 1);
  });
}
