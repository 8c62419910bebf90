import { isTaskEvent } from '../../src/core/task/event.ts';
import { claimAfterScan } from './claiming.ts';
import { readFrom } from './feed.ts';
import {
  DAY_MS,
  DUTY_MS,
  type DutyName,
  LEASE_MS,
  type ModelLease,
  type ModelPush,
  type ModelTask,
  must,
  RETENTION_MS,
} from './model-parts.ts';
import { ANY, at, BY, operation } from './operation.ts';
import { type Rig, refused } from './rig.ts';
import { held, say, waitOf } from './speaking.ts';

const DUTIES: readonly DutyName[] = ['stager', 'reaper', 'cron', 'pruner', 'auditor'];

export async function tick(rig: Rig, by: number, duty: DutyName): Promise<void> {
  const { model, gates } = rig;
  const epoch = model.duties.get(duty)?.epoch ?? 0;
  const holds = model.hold(by, duty);
  if (!holds) gates.reach('duty held by the other process');
  else if (epoch > 0 && (model.duties.get(duty)?.epoch as number) > epoch) gates.reach('duty taken over');
  // The workers of a run are alive throughout: silent for a retention they would be forgotten.
  if (duty === 'pruner') await rig.store(by).workerBeat({ beats: rig.workers.map((worker) => ({ worker })) });
  const did = await rig.process(by).roster.tick(duty);
  if (duty === 'stager') same(did, holds ? staged(rig) : 0, 'staged');
  else if (duty === 'reaper') await reap(rig, did, holds ? model.overdue(by) : []);
  else if (duty === 'cron') await fire(rig, did, holds);
  else if (duty === 'pruner') await prune(rig, did, holds);
  else same(did, 0, 'counters repaired');
  await rig.compareFeed();
}

/** A process gives its duties back. */
export async function stop(rig: Rig, by: number): Promise<void> {
  await rig.process(by).roster.stop();
  rig.model.stopDuties(by);
}

function same(have: number, due: number, what: string): void {
  must(have === due, `${have} ${what}, not ${due}`);
}

function staged(rig: Rig): number {
  const staged = rig.model.stage();
  rig.gates.reach('staged', staged);
  return staged;
}

async function reap(rig: Rig, did: number, overdue: readonly ModelTask[]): Promise<void> {
  same(did, overdue.length, 'leases reaped');
  for (const task of overdue) {
    const verdict = rig.model.judgeExpiry(task);
    const chance = typeof verdict === 'object' && verdict.least < verdict.most;
    const delayMs = chance ? await waitOf(rig, task) : typeof verdict === 'object' ? verdict.most : 0;
    rig.model.expire(task, delayMs);
    rig.gates.reach('lease reaped');
    rig.gates.reach(
      typeof verdict === 'string' ? `reaped: ${verdict}` : `reaped: again ${delayMs > 0 ? 'later' : 'at once'}`,
    );
  }
}

async function fire(rig: Rig, did: number, holds: boolean): Promise<void> {
  const { model, gates } = rig;
  const born = (await rig.readNew()).filter(({ change }) => change === 'created').map(({ task }) => task);
  const records = await rig.store(0).taskGet({ tasks: born });
  const byKey = new Map(records.map((record) => [record?.unique, record?.task]));
  const made: [number, ModelPush][] = [];
  for (const { trigger, slots, nextAt } of holds ? model.dueSlots() : []) {
    for (const slot of slots) {
      const wanted = model.slotPush(trigger, slot);
      if (model.judgePush(wanted) !== 'create') {
        gates.reach('cron slot had fired before');
        continue;
      }
      const id = byKey.get(wanted.unique?.key);
      must(id !== undefined, `slot ${wanted.unique?.key} did not fire`);
      made.push([id, wanted]);
    }
    trigger.nextAt = nextAt;
  }
  for (const [id, wanted] of made.sort(([a], [b]) => a - b)) model.create(id, wanted);
  same(born.length, made.length, 'tasks from cron slots');
  same(did, made.length, 'slots fired');
  gates.reach('cron slot fired', did);
}

async function prune(rig: Rig, did: number, holds: boolean): Promise<void> {
  const { model, gates, feed } = rig;
  const pruned = holds ? await (rig.kind === 'postgres' ? pruneDays(rig) : model.prune()) : 0;
  if (rig.kind !== 'postgres') must(did >= pruned, `${did} rows pruned, and ${pruned} tasks were due`);
  gates.reach('task pruned', pruned);
  if (feed.length === 0) return;
  const { events } = await rig.store(0).eventRead({ after: 0, limit: 1 });
  const [first] = events.filter(isTaskEvent);
  must(first !== undefined, 'the pruner took the whole feed');
  const before = model.wall - RETENTION_MS;
  for (const event of feed.slice(rig.firstKept - 1, first.seq - 1)) {
    must(holds && event.at < before, `event ${event.seq} was pruned too early`);
    gates.reach('event pruned');
  }
  // The newest row of the feed always stays; it holds one change of one queue.
  if (holds && first.at < before) {
    const row = ({ at: when, queue, change, state }: typeof first): string => `${when} ${queue} ${change} ${state}`;
    const rest = feed.slice(first.seq - 1);
    must(
      rest.every((event) => row(event) === row(first)),
      `event ${first.seq} is too old and still there`,
    );
  }
  rig.firstKept = first.seq;
}

/** Postgres takes one day in each step: it goes on until its walk has come round. */
async function pruneDays(rig: Rig): Promise<number> {
  const duty = { name: 'pruner', epoch: rig.model.duties.get('pruner')?.epoch as number };
  const store = rig.store(0);
  for (let step = 0; ; step++) {
    must(step < 200, 'the pruner never comes to its end');
    if ((await store.taskPrune({ duty, retentionMs: RETENTION_MS, limit: 100 })).done) break;
  }
  const left = await store.taskList({ limit: 10_000 });
  return rig.model.pruneDays(new Set(left.map(({ task }) => task)));
}

const tickDuty = operation(14, { by: BY, duty: DUTIES.length + 4 }, (rig, n) =>
  tick(rig, n.by, DUTIES[n.duty] ?? at(['stager', 'reaper'] as const, n.duty)),
);

/** Long enough for silent workers to be noticed, with the reaper at work. */
const silence = operation(5, { by: BY, ms: 20_000, way: 8 }, async (rig, n) => {
  if (n.way < 7) {
    await rig.advance(LEASE_MS + 1 + n.ms);
    // The duty was given back in order, so whoever takes it need not wait.
    await stop(rig, 0);
    await stop(rig, 1);
    await tick(rig, n.by, 'reaper');
    return;
  }
  // It comes often enough to keep its term, and waits one lease if the one before it vanished.
  for (let i = 0; i < 8; i++) {
    await tick(rig, n.by, 'reaper');
    await rig.advance(4_500 + (n.ms % 1_000));
  }
  await tick(rig, n.by, 'reaper');
});

/** Between the reaper's look and its takeover something happens to the lease that it saw. */
const lateReap = operation(3, { by: BY, what: 6, which: ANY, later: 2, worker: 2 }, async (rig, n) => {
  const { model } = rig;
  const store = rig.store(n.by);
  if (!model.duties.has('reaper')) await tick(rig, n.by, 'reaper');
  const duty = { name: 'reaper', epoch: model.duties.get('reaper')?.epoch as number };
  if (held(rig).length > 0) await rig.advance(LEASE_MS + 1);
  const { leases } = await store.leaseOverdue({ limit: 1_000 });
  const overdue = [...model.tasks.values()].filter(
    ({ state, leaseUntil }) => state === 'running' && (leaseUntil as number) < model.lease,
  );
  const [have, due] = [new Set(leases.map(({ task }) => task)), new Set(overdue.map(({ id }) => id))];
  must(have.symmetricDifference(due).size === 0, `the reaper saw ${[...have].join()}, not ${[...due].join()}`);
  const seen = leases.length > 0 ? at(leases, n.which) : undefined;
  const lease = seen && { task: seen.task, attempt: seen.attempt };
  if (lease !== undefined) await meanwhile(rig, n.by, lease, n.what, at(rig.workers, n.worker));
  const items = leases.map(({ task, attempt, tries, maxTries }) => ({
    task,
    attempt,
    to: tries >= maxTries ? ('failed' as const) : ('again' as const),
    reason: tries >= maxTries ? ('exhausted' as const) : ('none' as const),
    delayMs: n.later * 5_000,
  }));
  const { reaped } = await store.leaseReap({ duty, items });
  let taken = 0;
  for (const { task, attempt, to, delayMs } of items) {
    const held = model.held({ task, attempt });
    if (held === undefined || (held.leaseUntil as number) >= model.lease) continue;
    model.takeOver(held, to, delayMs);
    taken++;
  }
  must(reaped === taken, `${reaped} leases reaped, not ${taken}`);
  model.noteLease();
  if (taken < items.length) rig.gates.reach('the reaper came too late');
});

async function meanwhile(rig: Rig, by: number, lease: ModelLease, what: number, worker: number): Promise<void> {
  const { model } = rig;
  if (what === 1) {
    must((await rig.engine(by).renew(lease, LEASE_MS)).held, 'a late renewal was refused before the reap');
    model.renew(lease, LEASE_MS);
  } else if (what === 2) {
    await say(rig, by, { lease, call: { verb: 'complete', result: '"late"' }, value: 'late' });
  } else if (what === 3) {
    await say(rig, by, { lease, call: { verb: 'release', delayMs: 0 } });
    // The shortest lease: the newer attempt is overdue too, and still not the one that the reaper saw.
    await claimAfterScan(rig, by, { worker, max: 50, leaseMs: 10 });
    await rig.advance(11);
  } else if (what === 4) {
    must((await rig.engine(by).cancel(lease.task)) === 'requested', 'a running task was cancelled behind its worker');
    model.cancel(lease.task);
    rig.gates.reach('cancel requested after the reaper looked');
  }
}

/** Long enough for the finished to be forgotten; a reader that slept over it is told so. */
const retention = operation(1, { by: BY, days: 24, after: ANY }, async (rig, n) => {
  await rig.advance((n.days + 8) * DAY_MS);
  if (n.days > 16) rig.gates.reach('more than 24.8 days passed');
  await stop(rig, 0);
  await stop(rig, 1);
  await tick(rig, n.by, 'pruner');
  await readFrom(rig, n.by, n.after % (rig.feed.length + 1), 500);
});

const takeover = operation(2, { by: BY, duty: DUTIES.length }, async (rig, n) => {
  const duty = at(DUTIES, n.duty);
  await tick(rig, n.by, duty);
  await rig.advance(DUTY_MS + 1);
  await tick(rig, 1 - n.by, duty);
  await tick(rig, n.by, duty);
});

const stopDuties = operation(1, { by: BY }, (rig, n) => stop(rig, n.by));

/** A holder that was deposed, or never was one, writes all the same. */
const deposedWrite = operation(3, { by: BY, duty: DUTIES.length, epoch: 3 }, async (rig, n) => {
  const { model } = rig;
  const name = at(DUTIES, n.duty);
  const current = model.duties.get(name)?.epoch ?? 0;
  const duty = { name, epoch: at([current - 1, current + 1, 0], n.epoch) };
  const store = rig.store(n.by);
  const running = [...model.tasks.values()].filter(({ state }) => state === 'running');
  const items = running.map(({ id, attempt }) => ({
    task: id,
    attempt,
    to: 'failed' as const,
    reason: 'exhausted' as const,
    delayMs: 0,
  }));
  switch (name) {
    case 'stager':
      await refused(store.taskStage({ duty, limit: 100 }), 'DUTY_LOST');
      break;
    case 'reaper':
      await refused(store.leaseReap({ duty, items }), 'DUTY_LOST');
      break;
    case 'pruner':
      await refused(store.taskPrune({ duty, retentionMs: 0, limit: 100 }), 'DUTY_LOST');
      break;
    case 'auditor':
      await refused(store.statsAudit({ duty }), 'DUTY_LOST');
      break;
    case 'cron': {
      const [trigger] = [...model.triggers.values()];
      const slot = { name: trigger?.name ?? 'none', from: trigger?.nextAt ?? 0, nextAt: 1 };
      await refused(store.triggerFire({ duty, ...slot, slots: [], items: [] }), 'DUTY_LOST');
    }
  }
  must(!(await store.dutyRenew({ duty, ttlMs: DUTY_MS })), 'a deposed holder renewed its duty');
  await store.dutyRelease({ duty });
  rig.gates.reach('write of a deposed duty holder refused');
});

export const DUTY_WORK = { tickDuty, silence, lateReap, retention, takeover, stopDuties, deposedWrite };
