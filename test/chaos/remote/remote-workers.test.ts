import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Node, openNode } from '../../../src/app/node.ts';
import type { TaskRecord } from '../../../src/store/store.ts';
import { scratch } from '../children.ts';
import { processesMarked, until } from '../survivors.ts';
import { type Fault, KINDS, RemoteFarm } from './remote-farm.ts';

const LEASE_MS = 2500;
/** A lease that was lost is taken back after its time, and by a node that has just come back after one more. */
const REAPED_MS = 2 * LEASE_MS + 3000;
/** The same each time; `LEASEHOLD_SEED=$RANDOM` looks for something new. */
const SEED = Number.parseInt(process.env['LEASEHOLD_SEED'] ?? '', 10) || 1;
/** These may cost whoever was struck its leases. */
const LOSES: ReadonlySet<Fault['kind']> = new Set(['kill', 'stop-long', 'deaf-long', 'node', 'busy']);

// At once, and not with the results: a run that hangs has a seed too.
console.log(`LEASEHOLD_SEED=${SEED}`);

/** More of them by hand: `LEASEHOLD_ROUNDS=20`. */
const ROUNDS = Number.parseInt(process.env['LEASEHOLD_ROUNDS'] ?? '', 10) || 1;

test('workers on other hosts lose nothing and repeat nothing while they, their network and their node are struck', async (t) => {
  // A host that is busy with other things can keep a worker from renewing in time, so there is a second run.
  for (const last of [false, true]) {
    const late = await farmOnce(t, last ? SEED + 1 : SEED);
    for (const one of late) t.diagnostic(one);
    if (late.length === 0) return;
    assert.ok(!last, 'leases were lost twice that nothing explains');
  }
});

/** Answers with leases that were lost without a reason that we know. */
async function farmOnce(t: TestContext, seed: number): Promise<readonly string[]> {
  const began = performance.now();
  const farm = new RemoteFarm({ t, folder: scratch(t, 'remote'), seed, leaseMs: LEASE_MS });
  farm.watchMachine();
  await farm.open();
  const pushing = farm.push(300 * ROUNDS, 450);
  for (let round = 0; round < ROUNDS; round++) await farm.round();
  await pushing;
  await farm.drain();
  await farm.close();
  await noneLeft(farm);
  const node = await openNode(farm.store, { duties: false });
  try {
    const counts = await judge(farm, node);
    const faults = KINDS.map((kind) => `${kind} ${farm.faults.filter((fault) => fault.kind === kind).length}`);
    const busy = farm.faults.filter(({ kind }) => kind === 'busy').length;
    const { tasks, expired, released } = counts;
    t.diagnostic(
      `seed ${seed}: ${tasks} tasks completed, ${farm.pids.size} worker processes, ${farm.probes.length} probes; ` +
        `${expired} tries lost, ${released} given back; ${faults.join(', ')}; the host was busy ${busy} times; ` +
        `${((performance.now() - began) / 1000).toFixed(1)} s`,
    );
    return counts.late;
  } finally {
    await node.close();
  }
}

async function noneLeft({ mark }: RemoteFarm): Promise<void> {
  const gone = await until(() => processesMarked(mark).length === 0, 10_000);
  const left = processesMarked(mark).map(({ pid, command }) => `${pid} ${command}`);
  assert.ok(gone !== undefined, `left behind:\n${left.join('\n')}`);
}

interface Counts {
  readonly tasks: number;
  readonly expired: number;
  readonly released: number;
  readonly late: readonly string[];
}

/** Judged by the store alone, once nobody writes to it any more. */
async function judge(farm: RemoteFarm, { engine }: Node): Promise<Counts> {
  const ids = [...farm.acknowledged.values()].flat();
  assert.equal(new Set(ids).size, ids.length, 'each push has its own tasks');
  const completions = await completionsOf({ engine });
  const names = new Map((await engine.workers.list()).map(({ worker, name }) => [worker, name]));
  const late: string[] = [];
  let expired = 0;
  let released = 0;
  for (const id of ids) {
    const record = (await engine.get(engine.parseId(id))) as TaskRecord;
    const attempts = await engine.attempts(record.task);
    assert.equal(record.state, 'completed', `${id}: ${JSON.stringify(attempts)}`);
    assert.equal(completions.get(record.task), 1, `${id} has one completion in the feed`);
    const spent = attempts.filter(({ outcome }) => outcome !== 'released');
    for (const { holder, startedAt = 0, endedAt, outcome } of spent) {
      const name = names.get(holder ?? 0);
      const why = farm.faults.find((fault) => explains(fault, name, startedAt, endedAt));
      if (why !== undefined) continue;
      late.push(`${id}: ${outcome} on ${name}, ${startedAt} to ${endedAt}; ${list(farm.faults)}\n${farm.wordsOn(id)}`);
    }
    assert.equal(record.tries, 1 + spent.length, `${id} used the tries that it lost, and one`);
    expired += spent.length;
    released += attempts.length - spent.length;
  }
  assert.equal(completions.size, ids.length, 'nothing else was completed');
  for (const id of farm.probes) {
    const { attempt, tries } = (await engine.get(engine.parseId(id))) as TaskRecord;
    if (attempt === 1 && tries === 1) continue;
    const attempts = await engine.attempts(engine.parseId(id));
    const isBusy = ({ startedAt = 0, endedAt }: (typeof attempts)[number]): boolean =>
      farm.faults.some((fault) => fault.kind === 'busy' && explains(fault, undefined, startedAt, endedAt));
    if (attempts.every(isBusy)) continue;
    const fates = JSON.stringify(attempts);
    late.push(`${id} was in flight while its worker was cut off for a moment: ${fates}\n${farm.wordsOn(id)}`);
  }
  const pids = (await engine.workers.list()).map(({ pid }) => pid);
  assert.equal(pids.length, farm.pids.size, 'each process that was started is one worker');
  assert.deepEqual(new Set(pids), farm.pids);
  return { tasks: ids.length, expired, released, late };
}

function explains({ kind, worker, from, until: to }: Fault, name: string | undefined, start: number, end: number) {
  return (
    LOSES.has(kind) && (worker === undefined || worker === name) && start <= to && end >= from && end <= to + REAPED_MS
  );
}

function list(faults: readonly Fault[]): string {
  return faults.map(({ kind, worker, from, until: to }) => `${kind} ${worker ?? ''} ${from} to ${to}`).join(', ');
}

/** How often the feed says of each task that it was completed. */
async function completionsOf({ engine }: Pick<Node, 'engine'>): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  const marker = await engine.push({ queue: 'marker', handler: 'none' });
  for await (const item of engine.events()) {
    assert.notEqual(item.kind, 'reset', 'nothing of the feed is missing');
    if (item.kind !== 'event') continue;
    const { task, change } = item.event;
    if (task === marker.task) break;
    if (change === 'completed') counts.set(task, (counts.get(task) ?? 0) + 1);
  }
  return counts;
}
