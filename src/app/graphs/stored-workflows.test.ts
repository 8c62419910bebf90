import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { longer } from '../../../test/support/scale.ts';
import { isEngineError } from '../../core/errors.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { task } from '../../worker/define/task.ts';
import type { Leasehold } from '../library/leasehold.ts';
import { open } from '../open.ts';
import { graphs } from './graph-handler.ts';

const folder = tempFolder('stored-workflows');

/** The same calls must do the same on each of these. On a node the workers are joined ones. */
const GROUNDS: Readonly<Record<string, (t: TestContext) => Promise<Leasehold>>> = {
  'a store in memory': () => open('memory:'),
  'a file': () => open(`sqlite:${join(folder, `${randomUUID()}.db`)}`, { durability: 'normal' }),
  'a database': async () => open((await freshDatabase('workflows')) as 'postgres://'),
  'a node on a database': async (t) => {
    const { service, admin } = await nodeScene(t, { store: await freshDatabase('workflow_nodes') });
    return open(service.address as 'http://node', { token: admin });
  },
  'a node over HTTP': async (t) => {
    const { service, admin } = await nodeScene(t, { durability: 'normal' });
    return open(service.address as 'http://node', { token: admin });
  },
};

/** `n` makes one text differ from another. */
const flow = (n: number, more: object = {}): object =>
  workflow(
    {
      start: { typeId: 'core/start' },
      nightly: { typeId: 'core/scheduled', data: { daily: '03:00' } },
      number: { typeId: 'core/set', data: { fields: [{ name: 'n', value: n }] } },
      ten: { typeId: 'math/ten', queue: 'math', data: { n: '{{ $.number.n }}' } },
    },
    ['start>number', 'nightly>number', 'number>ten'],
    more,
  );

const refused = async (act: Promise<unknown>, code: string): Promise<string> => {
  const error = await act.then(
    () => assert.fail('it was not refused'),
    (one: unknown) => one,
  );
  assert.ok(isEngineError(error, code as 'CONFLICT'), String(error));
  const problem = error.details?.['problem'];
  return typeof problem === 'string' ? problem : error.message;
};

/** In memory is the store of a file, and a node on a database is a node, and a database: both are left to longer runs. */
const LEFT: ReadonlySet<string> = longer ? new Set() : new Set(['a store in memory', 'a node on a database']);

for (const [ground, opened] of Object.entries(GROUNDS).filter(([name]) => !LEFT.has(name))) {
  describe(`on ${ground}`, () => {
    test('a workflow is stored with its versions, and the same text makes no new one', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      const made = await workflows.apply('ten', flow(1), { by: 'ann' });
      assert.deepEqual([made.version, made.fresh, made.enabled, made.changes.length], [1, true, true, 7]);
      const again = await workflows.apply('ten', flow(1));
      assert.deepEqual([again.version, again.fresh, again.changes], [1, false, []]);
      const next = await workflows.apply('ten', flow(2), { expected: 1 });
      assert.deepEqual([next.version, next.fresh], [2, true]);
      assert.deepEqual(next.changes, [{ change: 'changed', what: 'node number', fields: ['data'] }]);
      assert.match(await refused(workflows.apply('ten', flow(3), { expected: 1 }), 'CONFLICT'), /has version 2, not 1/);
      await refused(workflows.apply('eleven', flow(3), { expected: 1 }), 'CONFLICT');
      const { versions } = await workflows.versions('ten');
      assert.deepEqual(
        versions.map(({ version }) => version),
        [2, 1],
      );
      assert.ok(versions.every(({ at, by }) => at > 0 && by !== ''));
      assert.deepEqual((await workflows.version('ten', 1)).workflow, flow(1));
      assert.deepEqual((await workflows.get('ten'))?.workflow, flow(2));
      assert.equal(await workflows.get('eleven'), undefined);
      await refused(workflows.version('ten', 3), 'NOT_FOUND');
    });

    test('an old version is restored as a new one', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      await workflows.apply('ten', flow(1));
      await workflows.apply('ten', flow(2));
      await refused(workflows.restore('ten', 1, { expected: 1 }), 'CONFLICT');
      const back = await workflows.restore('ten', 1, { expected: 2 });
      assert.deepEqual([back.version, back.restored, back.fresh], [3, 1, true]);
      assert.deepEqual((await workflows.get('ten'))?.workflow, flow(1));
      const same = await workflows.restore('ten', 1);
      assert.deepEqual([same.version, same.fresh], [3, false]);
      await refused(workflows.restore('ten', 9), 'NOT_FOUND');
      await refused(workflows.restore('none', 1), 'NOT_FOUND');
    });

    test('what would change is told, and nothing changes', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      const first = await workflows.apply('ten', flow(1), { dryRun: true });
      assert.deepEqual([first.version, first.fresh, first.enabled], [1, true, true]);
      assert.equal(await workflows.get('ten'), undefined);
      await workflows.apply('ten', flow(1));
      const next = await workflows.apply('ten', flow(2, { enabled: false }), { dryRun: true });
      assert.deepEqual([next.version, next.enabled, next.changes.length], [2, false, 2]);
      const now = await workflows.get('ten');
      assert.deepEqual([now?.version, now?.enabled], [1, true]);
    });

    test('all that is wrong with one is told, and it is not stored', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      const wrong = workflow(
        {
          a: { typeId: 'core/if', data: {} },
          b: { typeId: 'echo', agentConfig: { concurrencyGroup: 'nobody-made-it' } },
          c: { typeId: 'core/scheduled', data: { mode: 'cron', cron: 'never' } },
        },
        ['a>d'],
      );
      const { ok, problems } = await workflows.check(wrong);
      assert.equal(ok, false);
      const told = problems.map(({ path }) => path);
      for (const path of ['nodes[0].data.condition', 'nodes[2].data.cron', 'connections[0].targetNodeId'])
        assert.ok(told.includes(path), `${path} in ${told.join(', ')}`);
      assert.ok(
        problems.some(({ message }) => message.includes('nobody-made-it')),
        'a group that nobody has made',
      );
      await refused(workflows.apply('wrong', wrong), 'INVALID_INPUT');
      await refused(workflows.apply('Wrong name', flow(1)), 'INVALID_INPUT');
      await refused(workflows.apply('big', flow(1, { description: 'x'.repeat(4 * 1024 * 1024) })), 'TOO_LARGE');
      assert.deepEqual((await workflows.list()).workflows, []);
      assert.deepEqual(await workflows.check(flow(1)), { ok: true, problems: [] });
    });

    test('a run of it is a run of its newest version, or of the one that is named', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      const ten = task('math/ten', { queue: 'math', run: ({ n }: { n: number }) => ({ tens: n * 10 }) });
      await app.worker({ tasks: [graphs()], name: 'runs' }).start();
      await app.worker({ tasks: [ten], name: 'numbers' }).start();
      await workflows.apply('ten', flow(1));
      await workflows.apply('ten', flow(2), { enabled: false });
      const tens = async (run: { readonly id: string }): Promise<unknown> =>
        ((await app.handle(run.id).result()) as { ten: { ten: unknown }[] }).ten.map(({ ten: one }) => one);
      const run = await workflows.run('ten', { name: 'ten-1', trigger: 'start', labels: { team: 'a' } });
      assert.deepEqual([run.kind, run.title, run.fresh], ['graph', 'ten', true]);
      assert.deepEqual(run.labels, { team: 'a', workflow: 'ten', version: '2' });
      assert.deepEqual(await tens(run), [{ tens: 20 }]);
      assert.equal(
        (await workflows.run('ten', { name: 'ten-1', trigger: 'start', labels: { team: 'a' } })).fresh,
        false,
      );
      const old = await workflows.run('ten', { version: 1, trigger: 'start', upTo: 'number' });
      const { number } = (await app.handle(old.id).result()) as { number: { number: unknown }[] };
      assert.deepEqual(number[0]?.number, { n: 1 });
      await refused(workflows.run('ten', { upTo: 'nowhere' }), 'INVALID_INPUT');
      await refused(workflows.run('ten', { version: 7 }), 'NOT_FOUND');
      await refused(workflows.run('none'), 'NOT_FOUND');
    });

    test('one that is on has its schedules, which change with it alone, and go with it', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows, schedules } = app;
      const [trigger, ...others] = (await workflows.apply('ten', flow(1))).triggers;
      assert.deepEqual([trigger?.node, trigger?.schedule, trigger?.state], ['nightly', 'ten.nightly', 'active']);
      assert.deepEqual([trigger?.times, others], [{ daily: '03:00' }, []]);
      const schedule = await schedules.get('ten.nightly');
      assert.deepEqual([schedule?.workflow, schedule?.nextAt], ['ten', trigger?.nextAt]);
      for (const act of ['pause', 'resume', 'remove'] as const)
        assert.match(await refused(schedules[act]('ten.nightly'), 'CONFLICT'), /belongs to the workflow ten/);
      const echo = task('echo', { run: (input: unknown) => input });
      await refused(app.schedule('ten.nightly', { task: echo, input: 1, daily: '04:00' }), 'CONFLICT');
      const off = await workflows.disable('ten');
      assert.deepEqual([off.enabled, off.triggers[0]?.state], [false, 'paused']);
      assert.equal((await workflows.disable('ten')).changedAt, off.changedAt, 'a repeat changes nothing');
      const still = await workflows.apply('ten', flow(2));
      assert.deepEqual([still.enabled, still.triggers[0]?.state], [false, 'paused']);
      const on = await workflows.enable('ten');
      assert.deepEqual([on.enabled, on.triggers[0]?.nextAt], [true, trigger?.nextAt]);
      await app.schedule('other.nightly', { task: echo, input: 1, daily: '04:00' });
      assert.match(await refused(workflows.apply('other', flow(1)), 'CONFLICT'), /other\.nightly is there already/);
      assert.equal(await workflows.get('other'), undefined);
      const started = await schedules.run('ten.nightly');
      assert.deepEqual((await app.runs.get(started))?.labels, { workflow: 'ten', version: '2' });
      const gone = await workflows.remove('ten');
      assert.equal(gone.version, 2);
      assert.equal(await schedules.get('ten.nightly'), undefined);
      assert.equal((await app.runs.get(started))?.title, 'ten');
      await refused(workflows.remove('ten'), 'NOT_FOUND');
    });

    test('workflows and versions are listed a page at a time', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const { workflows } = app;
      for (const name of ['c', 'a', 'b']) await workflows.apply(name, flow(1));
      const first = await workflows.list({ limit: 2 });
      assert.deepEqual([first.workflows.map(({ name }) => name), first.cursor], [['a', 'b'], 'b']);
      const rest = await workflows.list({ limit: 2, cursor: first.cursor });
      assert.deepEqual([rest.workflows.map(({ name }) => name), rest.cursor], [['c'], undefined]);
      for (const n of [2, 3]) await workflows.apply('a', flow(n));
      const newest = await workflows.versions('a', { limit: 2 });
      assert.deepEqual([newest.versions.map(({ version }) => version), newest.cursor], [[3, 2], '2']);
      const oldest = await workflows.versions('a', { limit: 2, cursor: newest.cursor });
      assert.deepEqual([oldest.versions.map(({ version }) => version), oldest.cursor], [[1], undefined]);
    });
  });
}

test('a workflow in a file is applied by its path', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  const file = join(folder, 'hello.yml');
  writeFileSync(file, 'name: hello\nenabled: false\nnodes:\n  - {id: start, typeId: core/start}\nconnections: []\n');
  const made = await app.workflows.apply('hello', file);
  assert.deepEqual([made.version, made.enabled], [1, false], 'it says itself that it is off');
  assert.equal((await app.workflows.apply('hello', file, { enabled: true })).enabled, true);
  assert.equal((await app.workflows.apply('hello', file)).enabled, true, 'what it says counts when it is new');
});

test('of many that apply different texts at once each has its version', async (t) => {
  const app = await open((await freshDatabase('workflows')) as 'postgres://');
  t.after(() => app.close());
  await Promise.all(Array.from({ length: 6 }, (_, n) => app.workflows.apply('ten', flow(n))));
  const { versions } = await app.workflows.versions('ten');
  assert.deepEqual(
    versions.map(({ version }) => version),
    [6, 5, 4, 3, 2, 1],
  );
  assert.equal(new Set(versions.map(({ definition }) => definition)).size, 6);
});
