import assert from 'node:assert/strict';
import { normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { NewBudget, NewDefinition, NewRun, NewTask, RunPushAnswer, RunRecord } from '../../store.ts';
import { DAY, HOUR, MINUTE, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const RUN: NewRun = { kind: 'machine', title: 'writer', fingerprint: 'f1' };
const TEXT: NewDefinition = { hash: 'h1', kind: 'machine', body: '{"states":{}}' };

type Wish = Partial<NewRun> & {
  readonly item?: Partial<NewTask>;
  readonly text?: NewDefinition;
  readonly budgets?: readonly NewBudget[];
};

async function start(
  scene: Scene,
  { item, text, budgets, ...run }: Wish = {},
  store = scene.store,
): Promise<RunPushAnswer> {
  const push = { task: await scene.draft(item), run: { ...RUN, ...run }, definition: text, budgets };
  return (await store.runPush({ runs: [push] }))[0] as RunPushAnswer;
}

/** The number of a new run. */
async function make(scene: Scene, wish: Wish = {}): Promise<number> {
  const answer = await start(scene, wish);
  assert.ok(answer.kind === 'made', JSON.stringify(answer));
  return answer.task;
}

async function get(scene: Scene, task: number): Promise<RunRecord> {
  const [run] = await scene.store.runGet({ tasks: [task] });
  assert.ok(run, `run ${task} is not there`);
  return run;
}

async function end(scene: Scene, task: number, to: 'completed' | 'failed' = 'completed'): Promise<void> {
  await scene.settle(await scene.claimOne({ task }), to, { reason: to === 'failed' ? 'gave_up' : 'none' });
}

/** What is asked for is pruned when a younger task is there: a store may keep its newest one. */
async function forget(scene: Scene): Promise<void> {
  await scene.push({ queue: 'young' });
  await scene.pass(HOUR + 1);
  const duty = await scene.duty('pruner', 90 * DAY);
  await scene.prune(duty, HOUR);
  await scene.store.dutyRelease({ duty });
}

const tasksOf = (runs: readonly RunRecord[]): readonly number[] => runs.map(({ task }) => task);

export const RUNS: Topic = {
  name: 'runs',
  needs: ['whole'],
  cases: {
    'a run is a task like any, with what the caller called it': async (scene) => {
      const wish = { name: 'nightly/7', definition: 'h1', forkedFrom: 5, labels: { team: 'a', 'ü "': '\\' } };
      const answer = await start(scene, { ...wish, text: TEXT, item: { payload: '{"x":1}', priority: 3 } });
      assert.ok(answer.kind === 'made');
      assert.equal(answer.state, 'ready');
      const record = await scene.get(answer.task);
      assert.deepEqual([record.payload, record.priority, record.root], ['{"x":1}', 3, undefined]);
      assert.deepEqual(await get(scene, answer.task), {
        ...RUN,
        ...wish,
        task: answer.task,
        queue: 'mail',
        handler: 'send',
        cancelNote: undefined,
        createdAt: answer.createdAt,
        state: 'ready',
        reason: 'none',
        attempt: 0,
        startedAt: undefined,
        finishedAt: undefined,
        cancelRequestedAt: undefined,
        parent: undefined,
        root: undefined,
      });
      assert.equal((await scene.stats()).ready, 1);
      const { events } = await scene.eventPage({ after: 0, limit: 9 });
      assert.deepEqual(
        events.map(({ change, task }) => [change, task]),
        [['created', answer.task]],
      );
    },

    'the state of a run is that of its task': async (scene) => {
      const task = await make(scene, { name: 'a' });
      const grant = await scene.claimOne({ task });
      assert.equal((await get(scene, task)).state, 'running');
      await scene.store.taskCancel({ tasks: [task] });
      assert.notEqual((await get(scene, task)).cancelRequestedAt, undefined);
      await scene.settle(grant, 'failed', { reason: 'gave_up' });
      const ended = await scene.store.runFind({ name: 'a' });
      assert.deepEqual([ended?.task, ended?.state, ended?.reason, ended?.attempt], [task, 'failed', 'gave_up', 1]);
      assert.ok(ended?.startedAt !== undefined && ended.finishedAt !== undefined);
    },

    'runs come due and time out like tasks': async (scene) => {
      const answer = await start(scene, { item: { delayMs: HOUR, waitTimeoutMs: MINUTE } });
      assert.equal(answer.kind === 'made' && answer.state, 'scheduled');
      const duty = await scene.duty('stager', DAY);
      await scene.pass(HOUR);
      assert.equal((await scene.store.taskStage({ duty, limit: 9 })).staged, 1);
      await scene.pass(MINUTE);
      assert.equal((await scene.store.taskExpire({ duty, limit: 9 })).expired, 1);
    },

    'a second push under a name writes nothing and gets the run that has it, whatever it asks for': async (scene) => {
      const task = await make(scene, { name: 'a' });
      for (const wish of [{}, { fingerprint: 'other', definition: 'h9', text: { ...TEXT, hash: 'h9' } }]) {
        const again = await scene.unchanged(() => start(scene, { name: 'a', ...wish }));
        assert.deepEqual(again, { kind: 'exists', run: await get(scene, task) });
      }
      assert.equal(await scene.store.definitionGet({ hash: 'h9' }), undefined);
      await end(scene, task);
      const later = await start(scene, { name: 'a' });
      assert.equal(later.kind === 'exists' && later.run.state, 'completed');
    },

    'a run is made with its budgets, and one that is there keeps its own': async (scene) => {
      const task = await make(scene, {
        name: 'a',
        budgets: [
          { unit: 'tokens', soft: 80, hard: 100 },
          { unit: 'calls', hard: 5 },
        ],
      });
      const bounds = async (root: number) =>
        (await scene.store.budgetGet({ root })).map(({ unit, soft, hard, taken }) => [unit, soft, hard, taken]);
      const own = [
        ['tokens', 80, 100, 0],
        ['calls', undefined, 5, 0],
      ];
      assert.deepEqual(await bounds(task), own);
      const again = await scene.unchanged(() => start(scene, { name: 'a', budgets: [{ unit: 'calls', hard: 9 }] }));
      assert.equal(again.kind, 'exists');
      assert.deepEqual(await bounds(task), own);
      assert.deepEqual(await bounds(await make(scene)), []);
    },

    'runs without a name are never the same': async (scene) => {
      assert.notEqual(await make(scene), await make(scene));
      assert.equal(await scene.store.runFind({ name: '' }), undefined);
    },

    'of many processes that start one name at once one makes the run, and all get it': needing(
      ['reopen'],
      async (scene) => {
        const other = await scene.reopen();
        const stores = [scene.store, other];
        const item = await scene.draft();
        for (let round = 0; round < 5; round++) {
          const name = `race ${round}`;
          const answers = await Promise.all(
            Array.from({ length: 8 }, (_, i) =>
              (stores[i % 2] ?? other).runPush({
                runs: [
                  {
                    task: item,
                    run: { ...RUN, name, definition: `r${round}` },
                    definition: { ...TEXT, hash: `r${round}` },
                  },
                ],
              }),
            ),
          ).then((all) => all.flat());
          const made = answers.filter(({ kind }) => kind === 'made');
          assert.equal(made.length, 1, JSON.stringify(answers));
          const numbers = answers.map((one) =>
            one.kind === 'made' ? one.task : one.kind === 'exists' ? one.run.task : 0,
          );
          assert.equal(new Set(numbers).size, 1, JSON.stringify(answers));
        }
        assert.equal((await scene.stats()).ready, 5, 'the losers have left no tasks');
        assert.equal((await scene.store.runList({ limit: 100 })).runs.length, 5);
      },
    ),

    'runs that are made in one call are answered in their order, each for itself': async (scene) => {
      const taken = await make(scene, { name: 'taken' });
      const item = await scene.draft();
      const op = { ...item, op: 'o', opHash: 1 };
      const budgets: NewBudget[] = [{ unit: 'tokens', hard: 9 }];
      const run = (name: string, definition?: string): NewRun => ({ ...RUN, name, definition });
      const answers = await scene.store.runPush({
        runs: [
          { task: item, run: run('b', 'h1'), definition: TEXT, budgets },
          { task: item, run: run('taken') },
          { task: item, run: run('a', 'h1') },
          { task: item, run: run('b', 'h1') },
          { task: item, run: RUN },
          { task: op, run: RUN },
          { task: op, run: RUN },
          { task: item, run: run('c', 'nobody has it') },
        ],
      });
      assert.deepEqual(
        answers.map(({ kind }) => kind),
        ['made', 'exists', 'made', 'exists', 'made', 'made', 'exists', 'unknown'],
      );
      const numberOf = (answer: RunPushAnswer | undefined): number =>
        answer?.kind === 'made' ? answer.task : answer?.kind === 'exists' ? answer.run.task : 0;
      const [b, was, a, again, , byOp, bySame] = answers.map(numberOf);
      assert.deepEqual([was, again, bySame], [taken, b, byOp]);
      assert.equal((await scene.store.runFind({ name: 'a' }))?.task, a);
      assert.equal((await scene.store.runFind({ name: 'b' }))?.definition, 'h1');
      assert.equal(await scene.store.runFind({ name: 'c' }), undefined);
      assert.deepEqual(
        (await scene.store.budgetGet({ root: b as number })).map(({ hard }) => hard),
        [9],
      );
      assert.equal((await scene.stats()).ready, 5, 'refused ones have left no tasks');
      assert.equal((await scene.store.runList({ limit: 100 })).runs.length, 5);
    },

    'of flushes that start the same names in other orders at once each name is made once': needing(
      ['reopen'],
      async (scene) => {
        const other = await scene.reopen();
        const item = await scene.draft();
        const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
        const flush = (order: readonly string[]) => ({
          runs: order.map((name) => ({ task: item, run: { ...RUN, name, definition: 'h1' }, definition: TEXT })),
        });
        const orders = [names, names.toReversed(), names.slice(7), names.toSorted()];
        const answers = await Promise.all(
          orders.map((order, i) => (i % 2 === 0 ? scene.store : other).runPush(flush(order))),
        );
        const made = answers.flat().filter(({ kind }) => kind === 'made');
        assert.equal(made.length, names.length);
        assert.equal((await scene.stats()).ready, names.length, 'the losers have left no tasks');
      },
    ),

    'an operation id or a unique key leads to the run that it made': async (scene) => {
      const op = await make(scene, { item: { op: 'o', opHash: 1 } });
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const key = await make(scene, { item: { unique } });
      const again = await scene.unchanged(async () => [
        await start(scene, { item: { op: 'o', opHash: 1 } }),
        await start(scene, { name: 'late', item: { unique } }),
        await start(scene, { item: { unique: { ...unique, hash: 2 } } }),
      ]);
      assert.deepEqual(again, [
        { kind: 'exists', run: await get(scene, op) },
        { kind: 'exists', run: await get(scene, key) },
        { kind: 'refused', answer: { ok: false, conflict: key } },
      ]);
      assert.equal(await scene.store.runFind({ name: 'late' }), undefined);
    },

    'a run that a limit refuses leaves no name and no definition': async (scene) => {
      const limit = normalizeLimit({ concurrent: 1, strategy: 'refuse' });
      await scene.store.limitPut({ name: 'one', limit, by: '' });
      const [lane] = await scene.store.laneIntern({
        lanes: [{ queue: 'mail', handler: 'send', limits: normalizeUses(['one']) }],
      });
      const item = { lane: (lane as { id: number }).id };
      await make(scene, { name: 'a', item });
      const refused = await scene.unchanged(() => start(scene, { name: 'b', definition: 'h1', text: TEXT, item }));
      assert.deepEqual(refused, { kind: 'refused', answer: { ok: false, limit: 'one', key: '' } });
      assert.equal(await scene.store.runFind({ name: 'b' }), undefined);
      assert.equal(await scene.store.definitionGet({ hash: 'h1' }), undefined);
    },

    'a definition is put once, read by its hash, and needed by a run that names it': async (scene) => {
      await scene.draft();
      const unknown = await scene.unchanged(() => start(scene, { name: 'a', definition: 'h1' }));
      assert.deepEqual(unknown, { kind: 'unknown', definition: 'h1' });
      assert.equal(await scene.store.runFind({ name: 'a' }), undefined);
      const long = { hash: 'long', kind: 'workflow', body: 'é'.repeat(1_000_000) };
      await scene.store.definitionPut({ items: [TEXT, long, TEXT] });
      const first = await scene.store.definitionGet({ hash: 'h1' });
      assert.deepEqual(first, { ...TEXT, usedAt: first?.usedAt });
      assert.equal((await scene.store.definitionGet({ hash: 'long' }))?.body, long.body);
      await scene.pass(HOUR);
      await scene.store.definitionPut({ items: [TEXT] });
      const second = await scene.store.definitionGet({ hash: 'h1' });
      assert.equal((second?.usedAt ?? 0) - (first?.usedAt ?? 0), HOUR);
      await scene.pass(HOUR);
      assert.equal((await get(scene, await make(scene, { name: 'a', definition: 'h1' }))).definition, 'h1');
      const third = await scene.store.definitionGet({ hash: 'h1' });
      assert.equal((third?.usedAt ?? 0) - (second?.usedAt ?? 0), HOUR, 'a run is a use');
    },

    'any task can be read as a run; one that nobody named is of kind task': async (scene) => {
      const task = await scene.push({ handler: 'resize' });
      const [plain, gone] = await scene.store.runGet({ tasks: [task, 4711] });
      assert.deepEqual(
        [plain?.kind, plain?.title, plain?.name, plain?.fingerprint, plain?.labels, plain?.state],
        ['task', 'resize', undefined, '', {}, 'ready'],
      );
      assert.equal(gone, undefined);
      await end(scene, task);
      assert.deepEqual((await get(scene, task)).state, 'completed');
      assert.deepEqual((await scene.store.runList({ limit: 9 })).runs, [], 'only runs are listed');
    },

    'runs are listed newest first, page by page, with their states': async (scene) => {
      const tasks: number[] = [];
      for (let i = 0; i < 5; i++) tasks.push(await make(scene, { name: `n${i}` }));
      await scene.push();
      await end(scene, tasks[1] as number);
      const newest = tasks.toReversed();
      const first = await scene.store.runList({ limit: 2 });
      assert.deepEqual(tasksOf(first.runs), newest.slice(0, 2));
      const second = await scene.store.runList({ limit: 2, before: first.next });
      assert.deepEqual(tasksOf(second.runs), newest.slice(2, 4));
      assert.equal(second.runs[1]?.state, 'completed');
      const last = await scene.store.runList({ limit: 2, before: second.next });
      assert.deepEqual([tasksOf(last.runs), last.next], [newest.slice(4), undefined]);
      assert.deepEqual(await scene.store.runList({ limit: 9, before: tasks[0] }), { runs: [], next: undefined });
    },

    'runs are found by kind, state, title and the beginning of their name': async (scene) => {
      const a = await make(scene, { name: 'a_1', title: 'one' });
      const b = await make(scene, { name: 'ax2', kind: 'agent', title: 'two' });
      const c = await make(scene, { title: 'two' });
      await end(scene, a, 'failed');
      await scene.claimOne({ task: b });
      const list = async (query: object): Promise<readonly number[]> => {
        const page = await scene.store.runList({ limit: 9, ...query });
        assert.equal(page.next, undefined);
        return tasksOf(page.runs);
      };
      assert.deepEqual(await list({ kind: 'agent' }), [b]);
      assert.deepEqual(await list({ kind: 'machine' }), [c, a]);
      assert.deepEqual(await list({ states: ['failed'] }), [a]);
      assert.deepEqual(await list({ states: ['ready', 'running'] }), [c, b]);
      assert.deepEqual(await list({ states: [] }), []);
      assert.deepEqual(await list({ title: 'two' }), [c, b]);
      assert.deepEqual(await list({ name: 'a' }), [b, a]);
      assert.deepEqual(await list({ name: 'a_' }), [a], 'no character of a name is a pattern');
      assert.deepEqual(await list({ name: 'a', kind: 'machine', states: ['failed'], title: 'one' }), [a]);
      const page = await scene.store.runList({ limit: 1, title: 'two' });
      assert.deepEqual([tasksOf(page.runs), page.next], [[c], c]);
    },

    'a page whose filter fits few of many runs ends, and says where the next one begins': async (scene) => {
      const rare = await make(scene, { title: 'rare' });
      const item = await scene.draft();
      for (let i = 0; i < 21; i++) {
        await scene.store.runPush({ runs: Array.from({ length: 100 }, () => ({ task: item, run: RUN })) });
      }
      const first = await scene.store.runList({ limit: 9, title: 'rare' });
      assert.deepEqual(first.runs, []);
      assert.ok(first.next !== undefined);
      const second = await scene.store.runList({ limit: 9, title: 'rare', before: first.next });
      assert.deepEqual([tasksOf(second.runs), second.next], [[rare], undefined]);
    },

    'who asked first for the end of a run, and why, is kept until it is revived': async (scene) => {
      const task = await make(scene);
      const { store } = scene;
      assert.equal(await store.runNoteCancel({ task, why: 'too slow', by: 'ann' }), 'noted');
      assert.equal(await store.runNoteCancel({ task, why: 'other', by: 'bob' }), 'kept');
      const at = (await get(scene, task)).cancelNote?.at;
      assert.deepEqual((await get(scene, task)).cancelNote, { at, why: 'too slow', by: 'ann' });
      assert.equal((await get(scene, task)).state, 'ready', 'a note cancels nothing');
      await store.taskCancel({ tasks: [task] });
      assert.equal((await get(scene, task)).cancelNote?.why, 'too slow');
      assert.equal(await store.runNoteCancel({ task, why: 'late' }), 'finished');
      await store.taskRevive({ tasks: [task] });
      assert.equal((await get(scene, task)).cancelNote, undefined);
      assert.equal(await store.runNoteCancel({ task }), 'noted');
      assert.deepEqual({ ...(await get(scene, task)).cancelNote, at: 0 }, { at: 0, why: undefined, by: undefined });
      assert.equal(await store.runNoteCancel({ task: 4711 }), 'unknown');
    },

    'the reason for the end of a task that nobody named is kept too': async (scene) => {
      const task = await scene.push({ handler: 'resize' });
      assert.equal(await scene.store.runNoteCancel({ task, why: 'w' }), 'noted');
      const run = await get(scene, task);
      assert.deepEqual([run.kind, run.title, run.cancelNote?.why], ['task', 'resize', 'w']);
      const root = await scene.running();
      const child = { key: 'c', kind: 'child', task: await scene.draft() } as const;
      const [turned] = await scene.store.taskTurn({
        items: [{ task: root.task, attempt: root.attempt, entries: [child], then: { go: 'on' } }],
      });
      assert.ok(turned?.kind === 'done' && turned.entries[0]?.kind === 'child');
      assert.equal(await scene.store.runNoteCancel({ task: turned.entries[0].task }), 'unknown', 'a member is no run');
      assert.equal((await get(scene, turned.entries[0].task)).root, root.task);
    },

    'a run goes with its task, and then its name is free': async (scene) => {
      const task = await make(scene, { name: 'a' });
      await end(scene, task);
      await forget(scene);
      assert.deepEqual(await scene.store.runGet({ tasks: [task] }), [undefined]);
      assert.equal(await scene.store.runFind({ name: 'a' }), undefined);
      assert.deepEqual((await scene.store.runList({ limit: 9 })).runs, []);
      assert.notEqual(await make(scene, { name: 'a', fingerprint: 'f2' }), task);
    },

    'a run of a living tree stays with it': async (scene) => {
      const task = await make(scene, { name: 'a', definition: 'h1', text: TEXT });
      const grant = await scene.claimOne({ task });
      const child = { key: 'c', kind: 'child', task: await scene.draft({ queue: 'children' }) } as const;
      const then = { go: 'end', to: 'completed', reason: 'none' } as const;
      await scene.store.taskTurn({ items: [{ task, attempt: grant.attempt, entries: [child], then }] });
      await scene.pass(10 * DAY);
      await forget(scene);
      assert.equal((await scene.store.runFind({ name: 'a' }))?.state, 'completed');
      assert.notEqual(await scene.store.definitionGet({ hash: 'h1' }), undefined);
      const [member] = await scene.store.treeList({ root: task, after: 0, limit: 1 });
      await end(scene, (member as { task: number }).task);
      await forget(scene);
      assert.equal(await scene.store.runFind({ name: 'a' }), undefined);
      assert.equal(await scene.store.definitionGet({ hash: 'h1' }), undefined);
    },

    'a definition stays as long as a run names it or it was used in the retention': async (scene) => {
      const items = Array.from({ length: 7 }, (_, i) => ({ ...TEXT, hash: `d${i}` }));
      await scene.store.definitionPut({ items });
      const task = await make(scene, { definition: 'd0' });
      const duty = await scene.duty('pruner', 90 * DAY);
      await scene.pass(HOUR - 1);
      await scene.store.definitionPut({ items: items.slice(1, 2) });
      await scene.prune(duty, HOUR);
      const kept = async (): Promise<readonly string[]> => {
        const found: string[] = [];
        for (const { hash } of items) if (await scene.store.definitionGet({ hash })) found.push(hash);
        return found;
      };
      assert.equal((await kept()).length, 7);
      await scene.pass(2);
      await scene.prune(duty, HOUR, 2);
      assert.deepEqual(await kept(), ['d0', 'd1']);
      await scene.pass(DAY);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await kept(), ['d0']);
      await end(scene, task);
      await scene.push({ queue: 'young' });
      await scene.pass(HOUR + 1);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await kept(), []);
    },
  },
};
