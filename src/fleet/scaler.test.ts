import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../core/errors.ts';
import type { PoolInput } from '../core/pools/pool.ts';
import { Engine } from '../engine/engine.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import { VirtualWorld } from '../testing.ts';
import type { Launcher, LauncherHost, LaunchRequest } from './launcher.ts';
import { LauncherKinds } from './registry.ts';
import { Scaler } from './scaler.ts';

type Launch = Launcher['launch'];

async function rig(t: TestContext, launch: Launch, input: PoolInput = {}) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const lines: string[] = [];
  const host: LauncherHost = {
    localEnv: {},
    leasehold: ['node'],
    log: (_level, message) => lines.push(message),
    now: () => world.clock.wall(),
    secret: () => undefined,
  };
  const seen: LaunchRequest[] = [];
  let closed = 0;
  const launcher: Launcher = {
    launch(request) {
      seen.push(request);
      return launch(request);
    },
    close: async () => void (closed += 1),
  };
  const kinds = new LauncherKinds([{ kind: 'test', make: () => launcher }]);
  const scaler = new Scaler({ engine: engine.pools, kinds, host, world });
  t.after(() => scaler.close());
  await engine.pools.put('q', { launcher: { kind: 'test' }, ...input });
  const push = (
    count: number,
    more: { readonly limits?: readonly string[]; readonly requires?: readonly string[] } = {},
  ) => {
    const { requires, limits } = more;
    const task = {
      queue: 'q',
      handler: 'h',
      ...(limits === undefined ? {} : { limits }),
      ...(requires === undefined ? {} : { placement: { requires } }),
    };
    return engine.pushMany(Array.from({ length: count }, () => task));
  };
  const states = async () => (await engine.pools.tickets('q', { limit: 99 })).map(({ state }) => state);
  const counted = async (dryRun = false) => {
    const { acted, launches, plan } = await scaler.check('q', { dryRun });
    return {
      launched: acted?.reserved ?? 0,
      outcomes: launches.map(({ outcome }) => outcome),
      reasons: plan.decision.reasons,
    };
  };
  return { world, engine, scaler, lines, seen, push, states, counted, closedTimes: () => closed };
}

/** Comes as the worker that was asked for. */
const arrives =
  (engine: () => Engine): Launch =>
  async ({ ticket, ticketId }) => {
    await engine().workers.register({ name: ticketId, incarnation: ticketId, slots: 1, ticket });
    return { started: `worker ${ticketId}` };
  };

test('a check starts what the work asks for, once, and says what was started', async (t) => {
  let engine: Engine | undefined;
  const scene = await rig(
    t,
    arrives(() => engine as Engine),
    { policy: { max: 5 } },
  );
  engine = scene.engine;
  await scene.push(3);
  assert.deepEqual(await scene.counted(true), { launched: 0, outcomes: [], reasons: ['work'] });
  assert.deepEqual([scene.seen.length, await scene.states()], [0, []], 'a dry run starts and writes nothing');
  assert.deepEqual((await scene.counted()).outcomes, ['started', 'started', 'started']);
  assert.deepEqual(await scene.counted(), { launched: 0, outcomes: [], reasons: [] });
  await scene.push(9);
  assert.deepEqual((await scene.counted()).launched, 2);
  const [ticket] = await scene.engine.pools.tickets('q', { limit: 1 });
  assert.deepEqual([ticket?.state, ticket?.started], ['used', `worker ${ticket?.id}`]);
  const [newest, ...older] = await scene.engine.pools.decisions('q', { limit: 9 });
  assert.deepEqual([newest?.launched, newest?.reasons, newest?.runnable], [2, ['work', 'at_max'], 12]);
  assert.equal(older.at(-1)?.launched, 3);
});

test('a launcher gets the ticket in the environment, and nowhere else', async (t) => {
  const { seen, push, counted } = await rig(t, async () => ({ started: 'x' }), {
    queues: ['q', 'r'],
    worker: { life: 'stay', slots: 4, tags: ['gpu'] },
  });
  await push(1, { requires: ['gpu'] });
  await counted();
  const [request] = seen as [LaunchRequest];
  const { ticket, ticketId, args, env } = request;
  assert.deepEqual(args, ['worker', '--slots', '4', '--queue', 'q', '--queue', 'r', '--tag', 'gpu']);
  assert.deepEqual(env, { LEASEHOLD_TICKET: ticket, LEASEHOLD_POOL: 'q' });
  assert.match(ticketId, /^tk-[a-z0-9]{16}$/);
  assert.ok(ticket.startsWith(`${ticketId}.`) && !args.join(' ').includes(ticket));
});

test('a launcher that refuses, or throws before it has a promise, frees its tickets at once, and the pool waits a moment', async (t) => {
  const refusals: Launch[] = [
    () => Promise.reject(new Error('no such host')),
    () => {
      throw fault('UNSUPPORTED');
    },
    // A launcher of somebody else may do so.
    () => Promise.reject('a text') as Promise<never>,
  ];
  for (const launch of refusals) {
    const { world, push, counted, states, lines } = await rig(t, launch, { policy: { max: 2 } });
    await push(5);
    assert.deepEqual((await counted()).outcomes, ['failed', 'failed']);
    assert.deepEqual([await states(), lines.length], [['failed', 'failed'], 2]);
    assert.deepEqual((await counted()).reasons, ['work', 'at_max', 'backoff']);
    world.elapse(2000);
    assert.equal((await counted()).launched, 2, 'after two seconds it tries again');
  }
});

test('a launcher that hangs is not waited for: its tickets end with their time, and others are tried', async (t) => {
  let aborted = 0;
  const { world, push, states, scaler, engine, seen } = await rig(
    t,
    ({ signal }) => {
      signal.addEventListener('abort', () => void (aborted += 1));
      return new Promise(() => {});
    },
    { policy: { max: 2, startMs: '30s' } },
  );
  await push(5);
  const checking = scaler.check('q');
  for (let turn = 0; seen.length < 2 && turn < 1000; turn++) await world.settle();
  await world.advance(20_000);
  const { launches } = await checking;
  assert.deepEqual(
    launches.map(({ outcome }) => outcome),
    ['unknown', 'unknown'],
  );
  assert.deepEqual([aborted, await states()], [2, ['open', 'open']], 'their workers may still come');
  assert.equal((await engine.pools.plan('q')).decision.launch, 0);
  world.elapse(10_000);
  const { plan } = await scaler.check('q');
  assert.deepEqual(plan.decision.reasons, ['work', 'at_max', 'backoff']);
  assert.deepEqual(await states(), ['expired', 'expired']);
  const { state } = await engine.pools.plan('q');
  assert.deepEqual([state.starting, state.failures], [0, 2]);
});

test('a launcher that says that it has started something and has not, is found out by the clock', async (t) => {
  const { world, push, counted, states } = await rig(t, async () => ({ started: 'a ghost' }), { policy: { max: 3 } });
  await push(3);
  assert.equal((await counted()).launched, 3);
  assert.equal((await counted()).launched, 0);
  world.elapse(60_000);
  await counted();
  assert.deepEqual(await states(), ['expired', 'expired', 'expired']);
  world.elapse(4000);
  const again = await counted();
  assert.deepEqual([again.launched, again.reasons], [1, ['work', 'probe']], 'one is tried');
});

test('work that workers of the pool could not do, and work that its limits hold, starts nobody', async (t) => {
  const { push, counted, engine } = await rig(t, async () => ({ started: 'x' }));
  await push(4, { requires: ['gpu'] });
  await engine.limits.set('shut', { concurrent: 0 });
  await push(4, { limits: ['shut'] });
  assert.deepEqual(await counted(), { launched: 0, outcomes: [], reasons: ['limits'] });
  await push(1);
  assert.equal((await counted()).launched, 1);
});

test('a pool of several queues counts the work of all, and a queue that nobody has pushed to has none', async (t) => {
  const { push, counted, engine } = await rig(t, async () => ({ started: 'x' }), { queues: ['q', 'r', 'nowhere'] });
  await push(2);
  await engine.pushMany([{ queue: 'r', handler: 'h' }]);
  assert.equal((await counted()).launched, 3);
});

test('another launcher is made when the pool has changed, and the old one is let go', async (t) => {
  const { push, counted, engine, closedTimes } = await rig(t, async () => ({ started: 'x' }));
  await push(1);
  await counted();
  await engine.pools.put('q', { launcher: { kind: 'test', more: 1 } });
  await push(1);
  await counted();
  assert.equal(closedTimes(), 1);
});

test('a kind that nobody knows is refused when the pool is checked, and its tickets are free', async (t) => {
  const { push, counted, engine, scaler, states } = await rig(t, async () => ({ started: 'x' }));
  await engine.pools.put('q', { launcher: { kind: 'tset' } });
  await push(1);
  assert.deepEqual((await counted()).outcomes, ['failed']);
  assert.deepEqual(await states(), ['failed']);
  await assert.rejects(scaler.checkLauncher({ kind: 'tset' }), (error) => {
    return isEngineError(error, 'INVALID_INPUT') && /Did you mean test/.test(error.hint ?? '');
  });
});
