import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import type { WorkerGrant } from '../../core/placement/worker-grant.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { ChildRequest, TurnEntry, TurnThen } from '../../protocol/link.ts';
import { VirtualWorld } from '../../testing.ts';
import { openNode } from '../node.ts';
import { type HeldTask, WorkerPolicy } from './worker-policy.ts';

const GO_ON: TurnThen = { go: 'on' };

interface Given {
  readonly tags?: readonly string[];
  readonly grant?: WorkerGrant;
  /** What the worker offers. */
  readonly handlers?: readonly string[];
  /** The task that it runs. */
  readonly held?: Partial<PushRequest>;
}

/** What a worker named `box` may do with a task `render` of the queue `media`. */
async function scene(t: TestContext, { tags = [], grant = {}, handlers = ['render', 'crop'], held = {} }: Given = {}) {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  t.after(() => node.close());
  const { engine } = node;
  await engine.limits.set('openai', { concurrent: 9 });
  const { task } = await engine.push({ queue: 'media', handler: 'render', ...held });
  const record = await engine.get(task);
  assert.ok(record);
  const { queue, handler, spec, lane } = record;
  const own: HeldTask = { task, id: engine.idOf(record), queue, handler, spec, lane };
  const policy = new WorkerPolicy({
    engine,
    name: 'box',
    handlers,
    givenTo: () => Promise.resolve({ tags, grant }),
  });
  const check = (entries: readonly TurnEntry[], then = GO_ON) => policy.check(own, entries, then);
  const child = (more: Partial<ChildRequest>): TurnEntry => ({
    kind: 'child',
    key: 'c',
    child: { queue: 'media', handler: 'render', ...more },
  });
  return {
    own,
    engine,
    policy,
    /** The child as it would be written. */
    spawn: async (more: Partial<ChildRequest> = {}): Promise<ChildRequest> => {
      const [entry] = await check([child(more)]);
      assert.ok(entry?.kind === 'child');
      return entry.child;
    },
    signal: (channel: string) => check([{ kind: 'signal', key: 's', channel, body: 1 }]),
    waitOn: (channel: string) => check([], { go: 'park', channel, key: 'w' } as TurnThen),
  };
}

/** Asserts a refusal, and the option by which its hint permits it. */
async function refused(act: Promise<unknown>, says: RegExp, flag: string): Promise<void> {
  await assert.rejects(act, (error) => {
    assert.ok(isEngineError(error, 'FORBIDDEN'), String(error));
    assert.match(error.message, says);
    assert.ok(error.hint?.includes(`"leasehold workers permit box ${flag}"`), error.hint);
    return true;
  });
}

test('a turn that does nothing to others is not looked at', () => {
  assert.equal(WorkerPolicy.concerns([{ kind: 'value', key: 'a', value: 1 }], GO_ON), false);
  assert.equal(WorkerPolicy.concerns([], { go: 'park', channel: 'c', form: {} } as never), false);
  assert.equal(WorkerPolicy.concerns([], { go: 'park', channel: 'c' } as never), true);
  assert.equal(WorkerPolicy.concerns([{ kind: 'signal', channel: 'c' } as never], GO_ON), true);
  assert.equal(WorkerPolicy.concerns([{ kind: 'child' } as never], GO_ON), true);
});

test('without a grant a worker spawns what it offers, but never what runs code or reaches a network', async (t) => {
  const { spawn } = await scene(t, { handlers: ['render', 'crop', 'shell', 'js', 'http'] });
  await spawn({ handler: 'crop' });
  await refused(spawn({ handler: 'mail' }), /may not spawn the handler "mail"/, '--handler mail');
  for (const handler of ['shell', 'js', 'http'])
    await refused(spawn({ handler }), /may not spawn the handler/, `--handler ${handler}`);
});

test('a name with granted handlers spawns these and its own, and nothing else that it offers', async (t) => {
  const { spawn } = await scene(t, { grant: { handlers: ['upload', 'http'] } });
  for (const handler of ['render', 'upload', 'http']) await spawn({ handler });
  await refused(spawn({ handler: 'crop' }), /may not spawn the handler "crop"/, '--handler crop');
});

test('handlers are permitted to the name or to the run, by a beginning too, and guarded ones by their names', async (t) => {
  const byName = await scene(t, { grant: { permissions: { handlers: ['mail-*', '*', 'shell'] } } });
  for (const handler of ['mail-1', 'anything', 'shell']) await byName.spawn({ handler });
  await refused(byName.spawn({ handler: 'js' }), /may not spawn/, '--handler js');
  const byRun = await scene(t, { held: { permissions: { handlers: ['mail'] } } });
  await byRun.spawn({ handler: 'mail' });
  await refused(byRun.spawn({ handler: 'mail-1' }), /may not spawn/, '--handler mail-1');
});

test('children go into the queue of the task, into granted and into permitted queues', async (t) => {
  const { spawn } = await scene(t, {
    grant: { queues: ['media', 'big'], permissions: { queues: ['side-*'] } },
    held: { permissions: { queues: ['other'] } },
  });
  for (const queue of ['media', 'big', 'side-1', 'other']) await spawn({ queue });
  await refused(spawn({ queue: 'payroll' }), /may not spawn into the queue "payroll"/, '--queue payroll');
});

test('children ask for this worker, and for others only where that is permitted', async (t) => {
  const { spawn } = await scene(t, { grant: { permissions: { workers: ['gpu-*'] } } });
  await spawn({ placement: { only: ['box', 'gpu-1'], never: ['anyone'] } });
  await refused(
    spawn({ placement: { only: ['Ada Box'] } }),
    /may not ask for the worker "Ada Box"/,
    "--worker 'Ada Box'",
  );
});

test('children require tags of this worker, those of the task itself, and permitted ones', async (t) => {
  const { spawn } = await scene(t, {
    tags: ['gpu=nvidia'],
    grant: { permissions: { tags: ['eu'] } },
    held: { placement: { requires: ['memory_gb>=16'] } },
  });
  await spawn({ placement: { requires: ['gpu', 'eu', 'memory_gb>=16'] } });
  await refused(spawn({ placement: { requires: ['vault>=2'] } }), /may not require the tag/, "--tag 'vault>=2'");
  await refused(spawn({ placement: { credentials: ['bank'] } }), /may not require the tag/, '--tag credential:bank');
});

test('children take from limits of the task itself, and from permitted ones', async (t) => {
  const plain = await scene(t);
  await refused(plain.spawn({ limits: ['openai'] }), /may not take from the limit "openai"/, '--limit openai');
  await refused(plain.spawn({ limits: [{ name: 'openai' }] }), /may not take from the limit/, '--limit openai');
  await (await scene(t, { held: { limits: ['openai'] } })).spawn({ limits: ['openai'] });
  await (await scene(t, { grant: { permissions: { limits: ['open*'] } } })).spawn({ limits: ['openai'] });
});

test('of an inherited limit children take as much as the task itself, and under its key', async (t) => {
  const own = { name: 'openai', key: 'ada', weight: 2, cost: 5 };
  const { spawn } = await scene(t, { held: { limits: [own] } });
  for (const use of [own, { ...own, weight: 1 }, { ...own, cost: 0 }]) await spawn({ limits: [use] });
  for (const use of ['openai', { ...own, key: 'bob' }, { ...own, weight: 3 }, { ...own, cost: 6 }])
    await refused(
      spawn({ limits: [use] }),
      /may not take more, or under another key, from the limit "openai"/,
      '--limit openai',
    );
});

test('an inherited limit that ends tasks for new ones is not for children', async (t) => {
  for (const strategy of ['cancel_oldest', 'replace_pending'] as const) {
    const { spawn, engine } = await scene(t, { held: { limits: ['openai'] } });
    await engine.limits.set('openai', { concurrent: 1, strategy });
    await refused(spawn({ limits: ['openai'] }), /may not end other tasks by the limit "openai"/, '--limit openai');
    await (await scene(t, { grant: { permissions: { limits: ['openai'] } } })).spawn({ limits: ['openai'] });
  }
});

test('channels begin with the handler, or with the id of the task and a colon; others are permitted', async (t) => {
  const { own, signal, waitOn } = await scene(t, { grant: { permissions: { channels: ['orders:*'] } } });
  for (const channel of ['render', 'render:1', own.id, `${own.id}:x`, 'orders:7']) {
    await signal(channel);
    await waitOn(channel);
  }
  await refused(signal('renders'), /may not signal the channel "renders"/, '--channel renders');
  await refused(waitOn('crop:1'), /may not wait on the channel "crop:1"/, '--wait crop:1');
});

test('what may only be waited on is not signalled: a worker that runs an approval does not give it', async (t) => {
  const byRun = await scene(t, { held: { permissions: { waits: ['approval/*'] } } });
  await byRun.waitOn('approval/42');
  await refused(byRun.signal('approval/42'), /may not signal the channel "approval\/42"/, '--channel approval/42');
  const byName = await scene(t, { grant: { permissions: { waits: ['approval/*'] } } });
  await byName.waitOn('approval/42');
  await refused(byName.signal('approval/42'), /may not signal/, '--channel approval/42');
});

test('the handler of a child names channels where it was granted or began the run, not where a worker chose it', async (t) => {
  const spawned = async (handler: string, grant: WorkerGrant = {}) => {
    const { engine, policy, own } = await scene(t, { grant });
    const worker = await engine.workers.register({ name: 'box', incarnation: 'i', slots: 1 });
    const [claimed] = await engine.claim({ worker, max: 1 });
    assert.ok(claimed);
    const { entries } = await engine.turn(claimed, {
      entries: [{ kind: 'child', key: 'c', child: { queue: 'media', handler } }],
    });
    const child = entries[0]?.child;
    assert.ok(child);
    const held = { ...own, task: child.task, id: child.id, handler };
    return {
      root: own.id,
      signal: (channel: string) => policy.check(held, [{ kind: 'signal', key: 's', channel, body: 1 }], GO_ON),
    };
  };
  const made = await spawned('orders');
  await refused(made.signal('orders:7'), /may not signal the channel "orders:7"/, '--channel orders:7');
  await made.signal(`${made.root}:x`);
  await (await spawned('render')).signal('render:7');
  await (await spawned('orders', { handlers: ['orders'] })).signal('orders:7');
});

test('kept results are for those that may share, and unique keys of others mean nothing to the rest', async (t) => {
  const plain = await scene(t);
  await refused(plain.spawn({ reuse: true }), /take over results of other tasks/, '--reuse');
  assert.equal((await plain.spawn({ reuse: false })).reuse, false);
  assert.equal((await plain.spawn({ unique: 'k' })).unique, 'worker:box:k');
  assert.deepEqual((await plain.spawn({ unique: { key: 'k', window: '1h' } })).unique, {
    key: 'worker:box:k',
    window: '1h',
  });
  const sharing = await scene(t, { held: { permissions: { reuse: true } } });
  const child = await sharing.spawn({ unique: 'k', reuse: true });
  assert.deepEqual([child.unique, child.reuse], ['k', true]);
});
