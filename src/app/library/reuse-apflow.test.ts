/**
 * The idempotency key of apflow's design "Distributed Core" is `hash(task_id + attempt_id + inputs)`. A reassignment increments the
 * attempt, so its key changes exactly when it should match. Here both keys go through the same crash, on the same store.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { logicalKey } from '../../engine/settle/kept-results.ts';
import type { Assignment, ClaimRequest, Link, Session } from '../../protocol/link.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { task } from '../../worker/define/task.ts';
import type { Worker } from '../../worker/worker.ts';
import { DirectLink } from '../link/direct-link.ts';
import { type Node, openNode } from '../node.ts';
import { makeWorker } from '../worker.ts';

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
const RETRY = { baseMs: 0, jitter: 0 } as const;

async function rig(t: TestContext): Promise<{ readonly world: VirtualWorld; readonly node: Node }> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, leaseMs: LEASE_MS });
  t.after(() => node.close());
  return { world, node };
}

/** The key as apflow's design defines it. */
const theirs = ({ task: id, attempt, payload }: Grant): string =>
  createHash('sha256').update(`${id}${attempt}${payload}`).digest('hex');
const ours = ({ handler, payload }: Grant): string => logicalKey(handler, { payload });

/**
 * The steps of its section 7: acquire the lease, look into the cache, execute, store the result. Then the worker dies, its lease expires,
 * the task is taken back with a new attempt, and another worker does the same. Answers how often it was executed.
 */
async function executions({ world, node }: Awaited<ReturnType<typeof rig>>, keyOf: (grant: Grant) => string) {
  const { engine, roster } = node;
  let executed = 0;
  const attempts: number[] = [];
  await engine.push({ queue: 'mail', handler: 'send', input: { to: 'ada' }, retry: RETRY });
  for (const name of ['first', 'second']) {
    const worker = await engine.workers.register({ name, incarnation: `${name} ${keyOf.name}`, slots: 1 });
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    attempts.push(grant.attempt);
    const query = { key: keyOf(grant), maxAgeMs: DAY_MS };
    const [cached] = await engine.store.resultFind({ items: [query] });
    if (cached === undefined) {
      executed++;
      const item = { ...query, task: grant.task, attempt: grant.attempt, value: '"sent"' };
      assert.deepEqual(await engine.store.resultKeep({ items: [item] }), ['stored']);
    }
    if (name === 'second') await engine.complete(grant, 'sent');
    await world.advance(LEASE_MS + 1);
    await roster.tick('reaper');
  }
  assert.deepEqual(attempts, [1, 2]);
  assert.equal((await engine.stats('mail')).completed, 1);
  return executed;
}

test('with the attempt in the key, a task whose worker died after the effect is executed twice', async (t) => {
  assert.equal(await executions(await rig(t), theirs), 2);
});

test('with the logical key it is executed once', async (t) => {
  assert.equal(await executions(await rig(t), ours), 1);
});

/** A session of a process that dies at this call: its later calls reach nobody, and nothing is answered. */
function dyingAt(link: Link, verb: 'keep' | 'complete'): Link {
  let dead = false;
  // What it has asked for ends with its connection: nothing is claimed for a dead worker.
  const death = new AbortController();
  const never = new Promise<never>(() => {});
  return {
    open: async (hello) =>
      new Proxy(await link.open(hello), {
        get(session, name) {
          const member = Reflect.get(session, name, session) as unknown;
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            dead ||= name === verb;
            if (dead) death.abort();
            else if (name === 'claim') return session.claim({ ...(args[0] as ClaimRequest), signal: death.signal });
            return dead ? never : (member.apply(session, args) as unknown);
          };
        },
      }) as Session,
  };
}

/** A real worker dies at this call after its handler has had its effect, and another one takes over. */
async function crashAt(t: TestContext, verb: 'keep' | 'complete') {
  const { world, node } = await rig(t);
  const { engine, roster } = node;
  let effects = 0;
  const send = task('send', { reuse: true, retry: RETRY, run: () => `sent ${++effects}` });
  const direct = new DirectLink(engine, undefined);
  const ended: string[] = [];
  const start = async (name: string, link: Link): Promise<Worker> => {
    const onSettled = ({ attempt }: Assignment, parting: string): void => void ended.push(`${attempt} ${parting}`);
    const worker = makeWorker({ tasks: [send], onSettled }, { link, world, log: node.log, name });
    await worker.start();
    return worker;
  };
  await start('mortal', dyingAt(direct, verb));
  const { task: number, id } = await engine.push({ queue: 'send', handler: 'send', reuse: true, retry: RETRY });
  await world.settle();
  assert.deepEqual([effects, ended, (await engine.get(number))?.state], [1, [], 'running']);
  await world.advance(LEASE_MS + 1);
  await roster.tick('reaper');
  const heir = await start('heir', direct);
  await world.advance(60_000);
  const record = await engine.get(number);
  const log = (await engine.logs.read(number)).map(({ attempt, text }) => `${attempt} ${text}`);
  await heir.stop();
  return { effects, ended, result: record?.result, attempt: record?.attempt, log, id };
}

test('a worker that dies after it has kept its result leaves it to the next attempt, which runs nothing', async (t) => {
  const { id, ...crash } = await crashAt(t, 'complete');
  assert.deepEqual(crash, {
    effects: 1,
    ended: ['2 completed'],
    result: '"sent 1"',
    attempt: 2,
    log: [`2 reused the result of ${id}`],
  });
});

test('between the effect and its record nobody can know: then it runs again, and the guide says so', async (t) => {
  const { effects, result, log } = await crashAt(t, 'keep');
  assert.deepEqual([effects, result, log], [2, '"sent 2"', []]);
});
