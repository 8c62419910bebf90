import assert from 'node:assert/strict';
import { NEVER } from '../../../core/schedule/due.ts';
import type { NewRun, NewTrigger, WorkflowPut, WorkflowRecord } from '../../store.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const TEXT = { hash: 'h1', kind: 'graph', body: '{"nodes":[]}' };
const OTHER = { hash: 'h2', kind: 'graph', body: '{"nodes":{}}' };
const RUN = { kind: 'graph', title: 'nightly', definition: 'h1', labels: { workflow: 'nightly' } };
const first = (definition = TEXT): WorkflowPut['next'] => ({ definition, by: 'ann', restored: undefined });

async function trigger(scene: Scene, wish: Partial<NewTrigger> = {}): Promise<NewTrigger> {
  return {
    name: 'nightly.start',
    lane: await scene.lane('graphs', 'graph'),
    spec: await scene.spec(),
    cron: '0 3 * * *',
    timezone: 'UTC',
    missed: 'latest',
    priority: 0,
    maxTries: 3,
    payload: '{"definition":"h1"}',
    nextAt: scene.world.clock.wall() + HOUR,
    run: RUN,
    ...wish,
  };
}

/** Answers it as it is then. */
async function put(scene: Scene, wish: Partial<WorkflowPut> = {}): Promise<WorkflowRecord> {
  const { name = 'nightly' } = wish;
  const before = await scene.store.workflowGet({ name });
  const answer = await scene.store.workflowPut({
    name,
    revision: before?.revision ?? 0,
    enabled: before?.enabled ?? true,
    triggers: [],
    ...(before === undefined ? { next: first() } : {}),
    ...wish,
  });
  assert.ok(answer.kind === 'done', JSON.stringify(answer));
  const record = (await scene.store.workflowGet({ name })) as WorkflowRecord;
  assert.deepEqual([record.version, record.revision], [answer.version, answer.revision]);
  return record;
}

async function prune(scene: Scene): Promise<void> {
  await scene.push({ queue: 'young' });
  await scene.pass(HOUR + 1);
  const duty = await scene.duty('pruner', 90 * DAY);
  await scene.prune(duty, HOUR);
  await scene.store.dutyRelease({ duty });
}

export const WORKFLOWS: Topic = {
  name: 'workflows',
  needs: ['whole'],
  cases: {
    'a workflow is kept with its newest version, who made it and when': async (scene) => {
      const { store } = scene;
      const at = scene.world.clock.wall();
      const made = await put(scene);
      assert.deepEqual(made, {
        name: 'nightly',
        version: 1,
        revision: made.revision,
        enabled: true,
        createdAt: at,
        changedAt: at,
        definition: 'h1',
        at,
        by: 'ann',
        restored: undefined,
      });
      assert.equal((await store.definitionGet({ hash: 'h1' }))?.body, TEXT.body);
      await scene.pass(HOUR);
      const next = await put(scene, { next: first(OTHER), enabled: false });
      assert.deepEqual([next.version, next.definition, next.enabled], [2, 'h2', false]);
      assert.deepEqual([next.createdAt, next.changedAt], [at, at + HOUR]);
      assert.notEqual(next.revision, made.revision);
    },

    'each version stays as it was, and they are read from the newest on': async (scene) => {
      await put(scene);
      await put(scene, { next: { definition: OTHER, by: undefined, restored: undefined } });
      await put(scene, { next: { definition: TEXT, by: 'bob', restored: 1 } });
      const all = await scene.store.workflowVersions({ name: 'nightly', before: NEVER, limit: 2 });
      assert.deepEqual(
        all.map(({ version, definition, by, restored }) => [version, definition, by, restored]),
        [
          [3, 'h1', 'bob', 1],
          [2, 'h2', undefined, undefined],
        ],
      );
      const [oldest, ...more] = await scene.store.workflowVersions({ name: 'nightly', before: 2, limit: 2 });
      assert.deepEqual([oldest?.version, oldest?.by, more], [1, 'ann', []]);
      assert.deepEqual(await scene.store.workflowVersions({ name: 'other', before: NEVER, limit: 2 }), []);
    },

    'workflows are listed by name, a page at a time': async (scene) => {
      for (const name of ['b', 'c', 'a']) await put(scene, { name });
      const names = async (after: string): Promise<readonly string[]> =>
        (await scene.store.workflowList({ after, limit: 2 })).map(({ name }) => name);
      assert.deepEqual([await names(''), await names('b')], [['a', 'b'], ['c']]);
      assert.equal(await scene.store.workflowGet({ name: 'd' }), undefined);
    },

    'what was changed since the caller looked is not changed': async (scene) => {
      const { store } = scene;
      const { revision } = await put(scene);
      const late: WorkflowPut = { name: 'nightly', revision, next: first(OTHER), enabled: false, triggers: [] };
      await put(scene, { enabled: false });
      assert.deepEqual(await scene.unchanged(() => store.workflowPut(late)), { kind: 'changed' });
      assert.deepEqual(await store.workflowPut({ ...late, revision: 0 }), { kind: 'changed' });
      assert.deepEqual(await store.workflowRemove({ name: 'nightly', revision }), { kind: 'changed' });
      assert.deepEqual(await store.workflowPut({ ...late, name: 'gone' }), { kind: 'changed' });
      assert.deepEqual(await store.workflowRemove({ name: 'gone', revision: 0 }), { kind: 'changed' });
      assert.equal(await store.workflowGet({ name: 'gone' }), undefined);
      assert.deepEqual((await store.workflowGet({ name: 'nightly' }))?.version, 1);
      assert.equal(await store.definitionGet({ hash: 'h2' }), undefined);
    },

    'of many that change it at once one does': async (scene) => {
      const { revision } = await put(scene);
      const change = { name: 'nightly', revision, next: first(OTHER), enabled: true, triggers: [] };
      const answers = await Promise.all(Array.from({ length: 8 }, () => scene.store.workflowPut(change)));
      assert.equal(answers.filter(({ kind }) => kind === 'done').length, 1);
      const made = { ...change, name: 'new', revision: 0, triggers: [await trigger(scene, { name: 'new.start' })] };
      const births = await Promise.all(Array.from({ length: 8 }, () => scene.store.workflowPut(made)));
      assert.equal(births.filter(({ kind }) => kind === 'done').length, 1);
      assert.equal((await scene.store.workflowVersions({ name: 'new', before: NEVER, limit: 9 })).length, 1);
    },

    'of many that change it at once on several stores one does': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen(), await scene.reopen()];
      const { revision } = await put(scene);
      const change = { name: 'nightly', revision, next: first(OTHER), enabled: true, triggers: [await trigger(scene)] };
      const answers = await Promise.all([...stores, ...stores].map((store) => store.workflowPut(change)));
      assert.equal(answers.filter(({ kind }) => kind === 'done').length, 1);
      assert.equal((await scene.store.workflowGet({ name: 'nightly' }))?.version, 2);
    }),

    'a workflow that was removed and made again does not come back to a revision of before': async (scene) => {
      const { store } = scene;
      const { revision } = await put(scene);
      assert.equal((await store.workflowRemove({ name: 'nightly', revision })).kind, 'done');
      assert.equal(await store.workflowGet({ name: 'nightly' }), undefined);
      assert.deepEqual(await store.workflowVersions({ name: 'nightly', before: NEVER, limit: 2 }), []);
      await scene.pass(1);
      const again = await put(scene, { next: first(OTHER) });
      assert.deepEqual([again.version, again.definition], [1, 'h2']);
      assert.notEqual(again.revision, revision);
    },

    'its triggers are those of its newest version: one with the same times keeps its place, and others go': async (
      scene,
    ) => {
      const { store } = scene;
      const a = await trigger(scene);
      const b = await trigger(scene, { name: 'nightly.other', cron: '0 4 * * *' });
      await put(scene, { triggers: [a, b] });
      const found = await store.triggerFind({ name: a.name });
      assert.deepEqual([found?.workflow, found?.run, found?.nextAt], ['nightly', RUN, a.nextAt]);
      const c = await trigger(scene, { name: 'nightly.third' });
      await put(scene, { next: first(OTHER), triggers: [{ ...a, payload: '2', nextAt: a.nextAt + DAY }, c] });
      assert.deepEqual(
        (await store.triggerList()).map(({ name, payload, nextAt }) => [name, payload, nextAt]),
        [
          [a.name, '2', a.nextAt],
          [c.name, c.payload, c.nextAt],
        ],
      );
      await put(scene, { triggers: [{ ...a, cron: '0 5 * * *', nextAt: a.nextAt + DAY }] });
      assert.deepEqual(
        (await store.triggerList()).map(({ nextAt }) => nextAt),
        [a.nextAt + DAY],
      );
      const { revision } = (await store.workflowGet({ name: 'nightly' })) as WorkflowRecord;
      await store.workflowRemove({ name: 'nightly', revision });
      assert.deepEqual(await store.triggerList(), []);
    },

    'triggers of a workflow that is off are held, and go on when it is on, not before their place': async (scene) => {
      const { store } = scene;
      const a = await trigger(scene);
      const b = await trigger(scene, { name: 'nightly.other' });
      const stand = async (): Promise<readonly unknown[]> =>
        (await store.triggerList()).map(({ nextAt, heldAt }) => [nextAt, heldAt]);
      await put(scene, { triggers: [a], enabled: false });
      assert.deepEqual(await stand(), [[NEVER, a.nextAt]]);
      await put(scene, { triggers: [{ ...a, nextAt: a.nextAt + DAY }], enabled: true });
      assert.deepEqual(await stand(), [[a.nextAt + DAY, undefined]]);
      await put(scene, { triggers: [a, b], enabled: false });
      assert.deepEqual(await stand(), [
        [NEVER, b.nextAt],
        [NEVER, a.nextAt + DAY],
      ]);
      await scene.pass(2 * HOUR);
      assert.deepEqual((await store.triggerDue({ limit: 9 })).triggers, []);
      await put(scene, { triggers: [a, b], enabled: true });
      assert.deepEqual(await stand(), [
        [b.nextAt, undefined],
        [a.nextAt + DAY, undefined],
      ]);
      const { nextAt, ...rest } = a;
      await put(scene, { triggers: [{ ...rest, cron: '1 1 * * *', nextAt }], enabled: false });
      assert.deepEqual(await stand(), [[NEVER, nextAt]], 'other times have another place');
    },

    'a trigger of a workflow changes with it alone': async (scene) => {
      const { store } = scene;
      const { run: _run, ...plain } = await trigger(scene, { name: 'mine' });
      await store.triggerPut({ trigger: plain });
      const a = await trigger(scene);
      const { revision } = await put(scene, { triggers: [a] });
      const mine = { ...a, name: 'mine' };
      const taken = { name: 'nightly', revision, enabled: false, next: first(OTHER), triggers: [a, mine] };
      assert.deepEqual(await scene.unchanged(() => store.workflowPut(taken)), { kind: 'taken', trigger: 'mine' });
      const other = { ...taken, name: 'another', revision: 0, triggers: [a] };
      assert.deepEqual(await store.workflowPut(other), { kind: 'taken', trigger: a.name });
      assert.equal(await store.workflowGet({ name: 'another' }), undefined);
      const { name, cron, timezone, nextAt } = a;
      await scene.unchanged(async () => {
        assert.equal(await store.triggerPut({ trigger: { ...plain, name } }), undefined);
        assert.equal(await store.triggerRemove({ name }), false);
        assert.equal(await store.triggerPause({ name }), false);
        assert.equal(await store.triggerResume({ name, cron, timezone, nextAt: nextAt + 1 }), false);
      });
    },

    'a fire time of a workflow makes its task and its run in one commit, once': async (scene) => {
      const { store } = scene;
      const a = await trigger(scene);
      await put(scene, { triggers: [a] });
      const duty = await scene.duty('cron', DAY);
      await scene.pass(HOUR);
      const { kind, title, definition, labels } = RUN;
      const run: NewRun = { kind, title, definition, labels, fingerprint: 'f' };
      const unique = { key: 'cron:nightly:slot', hash: 0, windowMs: DAY };
      const fire = {
        duty,
        name: a.name,
        from: a.nextAt,
        nextAt: a.nextAt + DAY,
        slots: [a.nextAt],
        items: [await scene.draft({ queue: 'graphs', handler: 'graph', unique })],
        runs: [run],
        payload: a.payload,
      };
      assert.equal((await scene.unchanged(() => store.triggerFire({ ...fire, payload: 'older' }))).moved, false);
      const [answer] = (await store.triggerFire(fire)).pushed;
      assert.ok(answer?.ok);
      const [made] = await store.runGet({ tasks: [answer.task] });
      assert.deepEqual([made?.kind, made?.title, made?.definition, made?.labels], [kind, title, definition, labels]);
      assert.equal((await scene.unchanged(() => store.triggerFire(fire))).moved, false);
      const now = await store.triggerRun({ name: a.name, item: { ...(fire.items[0] as object) } as never, run });
      assert.ok(now?.ok && !now.fresh && now.task === answer.task, 'the run that is there already is not made again');
      const [, item] = [unique, await scene.draft({ queue: 'graphs', handler: 'graph' })];
      const more = await store.triggerRun({ name: a.name, item, run });
      assert.ok(more?.ok && more.fresh);
      assert.equal((await store.runGet({ tasks: [more.task] }))[0]?.title, title);
    },

    'the texts of all versions are kept, however old, until the workflow is removed': async (scene) => {
      const { store } = scene;
      await store.definitionPut({ items: [TEXT, { ...OTHER, hash: 'unused' }] });
      await put(scene);
      await put(scene, { name: 'twin' });
      await put(scene, { next: first(OTHER) });
      await store.definitionPut({ items: [TEXT] });
      await prune(scene);
      assert.equal(await store.definitionGet({ hash: 'unused' }), undefined);
      for (const hash of ['h1', 'h2']) assert.ok(await store.definitionGet({ hash }), hash);
      const { revision } = (await store.workflowGet({ name: 'nightly' })) as WorkflowRecord;
      await store.workflowRemove({ name: 'nightly', revision });
      await prune(scene);
      assert.equal(await store.definitionGet({ hash: 'h2' }), undefined);
      assert.ok(await store.definitionGet({ hash: 'h1' }), 'the twin names it');
    },
  },
};
