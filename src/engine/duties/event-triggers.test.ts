import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { onTheNetwork, postgresContract } from '../../../test/support/postgres-contract.ts';
import type { Trigger } from '../../core/trigger/trigger.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { TriggerHost } from '../triggers/trigger-host.ts';
import { Roster } from './roster.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ADDED = { name: 'on-mail', kind: 'event', on: 'work_added', queues: ['mail'], push: { queue: 'next' } } as const;

const contract = await postgresContract({ name: 'triggers', url: await freshDatabase('event_triggers') });

interface Process {
  readonly engine: Engine;
  readonly roster: Roster;
  /** One pass of the duty, after the events have their numbers; answers how often triggers have fired. */
  readonly pass: () => Promise<number>;
}

interface Rig extends Process {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly elapse: (ms: number) => Promise<void>;
  readonly put: (trigger?: Partial<Trigger>) => Promise<unknown>;
  readonly add: (queue?: string, count?: number) => Promise<void>;
  /** Inputs of the tasks of a queue, oldest first. */
  readonly inputs: (queue?: string) => Promise<readonly Record<string, unknown>[]>;
  readonly outcomes: (name?: string) => Promise<readonly string[]>;
  /** Another process on the same store. */
  readonly other: (holder: string, host?: TriggerHost) => Process;
}

async function rig(t: TestContext, kind: 'sqlite' | 'postgres', triggerHost?: TriggerHost): Promise<Rig> {
  const world = new VirtualWorld({ wall: Date.parse('2026-01-05T12:00:00Z') });
  const store = kind === 'sqlite' ? await openSqlite({ file: 'memory:', world }) : await contract.open({ world });
  // Deadlines of the network are in real time; what waits for a rate goes by the clock of the test.
  const own = kind === 'sqlite' ? world : { ...onTheNetwork(world), clock: world.clock };
  const process = (holder: string, host?: TriggerHost): Process => {
    const engine = new Engine({ store, world: own, triggerHost: host });
    const roster = new Roster({ engine, holder });
    t.after(() => roster.stop());
    return {
      engine,
      roster,
      async pass() {
        let fired = 0;
        for (let i = 0; i < 20; i++) {
          if (roster.names().includes('feed')) await roster.tick('feed');
          const more = await roster.tick('triggers');
          fired += more;
          if (more === 0) break;
        }
        return fired;
      },
    };
  };
  const first = process('a', triggerHost);
  t.after(() => store.close());
  const { engine } = first;
  return {
    ...first,
    world,
    store,
    elapse: kind === 'sqlite' ? (ms) => world.advance(ms) : async (ms) => contract.pass?.(ms, store, { world }),
    async put(trigger = {}) {
      if (first.roster.names().includes('feed')) await first.roster.tick('feed');
      return engine.triggers.put({ ...ADDED, ...trigger });
    },
    async add(queue = 'mail', count = 1) {
      const one = { queue, handler: queue, input: {} };
      await engine.pushMany(Array.from({ length: count }, () => one));
    },
    inputs: async (queue = 'next') =>
      (await engine.list({ queue, limit: 1000 }))
        .map(({ payload }) => JSON.parse(payload) as Record<string, unknown>)
        .reverse(),
    outcomes: async (name = 'on-mail') => (await engine.triggers.history(name)).map(({ outcome }) => outcome).reverse(),
    other: process,
  };
}

/** Gives back what is held, as a process that ends in order. */
async function handOver({ roster }: Process): Promise<void> {
  await roster.stop();
}

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`${kind}: an event fires its trigger once, and its task is told of it`, async (t) => {
    const { put, add, pass, inputs, outcomes, engine } = await rig(t, kind);
    await add('mail');
    await put({ input: { a: 1 } });
    await pass();
    assert.deepEqual(await inputs(), [], 'what was there before the trigger fires nothing');
    await add('mail');
    await add('other');
    assert.equal(await pass(), 1);
    assert.equal(await pass(), 0);
    const [input] = await inputs();
    const { event, ...rest } = input as { event: Record<string, unknown> };
    const [task] = await engine.list({ queue: 'mail', limit: 1 });
    assert.deepEqual(rest, { a: 1 });
    assert.deepEqual(
      [event['on'], event['task'], event['queue'], event['handler'], event['state']],
      ['work_added', task && engine.idOf(task), 'mail', 'mail', 'ready'],
    );
    assert.deepEqual(await outcomes(), ['pushed']);
  });

  test(`${kind}: another process that takes the duty goes on where the last commit was`, async (t) => {
    const scene = await rig(t, kind);
    await scene.put();
    await scene.add('mail', 3);
    assert.equal(await scene.pass(), 3);
    await scene.add('mail', 2);
    await handOver(scene);
    const b = scene.other('b');
    assert.equal(await b.pass(), 2);
    assert.equal((await scene.inputs()).length, 5);
  });

  test(`${kind}: two that believe to hold the duty act on an event once`, async (t) => {
    const scene = await rig(t, kind);
    await scene.put();
    const b = scene.other('b');
    await scene.add('mail', 5);
    await scene.pass();
    // Its term has run out while it slept; it does not know.
    await scene.elapse(HOUR);
    await scene.add('mail', 5);
    await Promise.all([b.pass(), scene.roster.tick('triggers')]);
    // Either of them may have taken the duty before the events had their numbers, and holds it then.
    await b.pass();
    await scene.pass();
    const tasks = (await scene.inputs()).map(({ event }) => (event as { task: string }).task);
    assert.deepEqual([tasks.length, new Set(tasks).size], [10, 10]);
  });

  test(`${kind}: a finished task fires by its state, with filters of queue and state`, async (t) => {
    const { put, pass, inputs, engine } = await rig(t, kind);
    await put({ on: 'task_finished', states: ['failed'] });
    const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 9, tags: [] });
    const end = async (queue: string, fails: boolean): Promise<void> => {
      await engine.push({ queue, handler: queue, input: {}, maxAttempts: 1 });
      const [grant] = await engine.claim({ worker, queues: [queue], max: 1 } as never);
      assert.ok(grant);
      await (fails ? engine.fail(grant, new Error('no')) : engine.complete(grant, 1));
    };
    await end('mail', false);
    await end('mail', true);
    await end('other', true);
    assert.equal(await pass(), 1);
    const [{ event }] = (await inputs()) as unknown as readonly [{ event: Record<string, unknown> }];
    assert.deepEqual([event['on'], event['queue'], event['state']], ['task_finished', 'mail', 'failed']);
  });

  test(`${kind}: a lost worker fires once for each time that it is lost`, async (t) => {
    const { put, pass, inputs, engine, store, elapse } = await rig(t, kind);
    const duty = await store.dutyTake({ name: 'test', holder: 'test', ttlMs: HOUR });
    assert.ok(duty);
    await put({ on: 'worker_lost', queues: undefined });
    const lose = async (worker: number): Promise<void> => {
      await engine.store.workerBeat({ beats: [{ worker }] });
      await elapse(2 * MINUTE);
      assert.deepEqual(await store.workerReap({ duty, staleMs: MINUTE }), [worker]);
    };
    const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 1, tags: [], host: 'box' });
    await lose(worker);
    assert.equal(await pass(), 1);
    assert.equal(await pass(), 0);
    await lose(worker);
    assert.equal(await pass(), 1);
    const [{ event }] = (await inputs()) as unknown as readonly [{ event: Record<string, unknown> }];
    assert.deepEqual([event['on'], event['worker'], event['host']], ['worker_lost', 'w', 'box']);
  });

  test(`${kind}: a trigger that is off takes nothing, and goes on with what happens from then on`, async (t) => {
    const { put, add, pass, inputs, engine, roster } = await rig(t, kind);
    await put();
    await engine.triggers.enable('on-mail', false);
    await add('mail', 2);
    assert.equal(await pass(), 0);
    if (roster.names().includes('feed')) await roster.tick('feed');
    await engine.triggers.enable('on-mail', true);
    await add('mail');
    assert.equal(await pass(), 1);
    assert.equal((await inputs()).length, 1);
  });

  test(`${kind}: a trigger that is put again goes on where it was; one that listens to something else begins anew`, async (t) => {
    const { put, add, pass, inputs } = await rig(t, kind);
    await put();
    await add('mail', 2);
    await put({ input: { changed: true } });
    assert.equal(await pass(), 2);
    assert.equal((await inputs())[1]?.['changed'], true);
  });

  test(`${kind}: triggers that start each other end after a bound of links, and the history says so`, async (t) => {
    const { put, add, pass, inputs, outcomes } = await rig(t, kind);
    await put({ push: { queue: 'mail' } });
    await add('mail');
    await pass();
    assert.equal((await inputs('mail')).length, 9, 'the first, and eight that it led to');
    assert.deepEqual(await outcomes(), [...Array.from({ length: 8 }, () => 'pushed'), 'stopped']);
    assert.equal(await pass(), 0);
  });

  test(`${kind}: more firings in a minute than its rate wait for their turn, and none is dropped`, async (t) => {
    const { put, add, pass, inputs, outcomes, elapse } = await rig(t, kind);
    await put({ rate: 10 });
    await add('mail', 25);
    assert.equal(await pass(), 10);
    assert.equal(await pass(), 0);
    assert.deepEqual(
      (await outcomes()).filter((outcome) => outcome !== 'pushed'),
      ['held'],
    );
    for (let i = 0; i < 5; i++) {
      await elapse(MINUTE);
      await pass();
    }
    const tasks = (await inputs()).map(({ event }) => (event as { task: string }).task);
    assert.deepEqual([tasks.length, new Set(tasks).size], [25, 25]);
  });

  test(`${kind}: events that are read together make one firing, which counts them`, async (t) => {
    const { put, add, pass, inputs } = await rig(t, kind);
    await put({ together: true });
    await add('mail', 120);
    assert.equal(await pass(), 1);
    const [{ event }] = (await inputs()) as unknown as readonly [
      { event: { count: number; some: readonly unknown[] } },
    ];
    assert.deepEqual([event.count, event.some.length], [120, 20]);
  });

  test(`${kind}: a pool is checked before its events count as read, and the history tells what it said`, async (t) => {
    const asked: unknown[] = [];
    const host: TriggerHost = {
      plan: async () => assert.fail('nothing is run'),
      check: async (pool, input) => {
        asked.push([pool, (input as { event: { count: number } }).event.count]);
        if (asked.length === 2) throw new Error('the cloud is away');
        return { started: 2 };
      },
      serve: () => {},
    };
    const { put, add, pass, engine } = await rig(t, kind, host);
    await put({ push: undefined, check: 'papers' });
    await add('mail', 3);
    await pass();
    await add('mail');
    await pass();
    assert.deepEqual(asked, [
      ['papers', 3],
      ['papers', 1],
    ]);
    const told = (await engine.triggers.history('on-mail')).map(({ outcome, detail }) => [outcome, detail]);
    assert.deepEqual(told, [
      ['failed', 'the cloud is away'],
      ['done', '{"started":2}'],
    ]);
  });

  test(`${kind}: events that were removed before they were read are told of, and the rest goes on`, async (t) => {
    const { put, add, pass, outcomes, elapse, engine, roster } = await rig(t, kind);
    await put();
    await roster.stop();
    await add('mail', 3);
    const b = new Engine({ store: engine.store, world: engine.world, retentionMs: 1000 });
    const pruner = new Roster({ engine: b, holder: 'p' });
    if (pruner.names().includes('feed')) await pruner.tick('feed');
    await elapse(HOUR);
    await add('other');
    if (pruner.names().includes('feed')) await pruner.tick('feed');
    for (let i = 0; i < 5; i++) await pruner.tick('pruner');
    await pruner.stop();
    const before = await engine.newestEvent();
    const { events } = await engine.store.eventRead({ after: 0, limit: 500 });
    assert.ok((events[0]?.seq ?? before + 1) > 1, 'the scene has lost events');
    await pass();
    assert.deepEqual(await outcomes(), ['lost']);
    await add('mail');
    assert.equal(await pass(), 1);
  });
}

test('a commit wakes the holder of the duty, so that nobody waits for the next look', async (t) => {
  const { put, add, inputs, world, roster } = await rig(t, 'sqlite');
  await put();
  roster.keeper('triggers').start();
  await world.advance(10);
  await add('mail');
  await world.advance(60);
  assert.equal((await inputs()).length, 1);
});
