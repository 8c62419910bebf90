import type { Grant } from '../../src/store/store.ts';
import { HANDLERS, LEASES_MS, OPS, QUEUES } from './corpus.ts';
import { leaseName, type ModelTask, must } from './model-parts.ts';
import { at, BY, operation, TASK } from './operation.ts';
import { push, pushOf } from './pushing.ts';
import type { Rig } from './rig.ts';

export interface Want {
  readonly worker: number;
  readonly max: number;
  readonly leaseMs: number;
  readonly queues?: readonly string[] | undefined;
  readonly handlers?: readonly string[] | undefined;
  readonly op?: string | undefined;
}

export function ask(rig: Rig, by: number, want: Want): Promise<readonly Grant[]> {
  const { worker, max, leaseMs, queues, handlers, op } = want;
  return rig.engine(by).claim({
    worker,
    max,
    leaseMs,
    ...(queues === undefined ? {} : { queues }),
    ...(handlers === undefined ? {} : { handlers }),
    ...(op === undefined ? {} : { op }),
  });
}

export async function claim(rig: Rig, by: number, want: Want): Promise<readonly Grant[]> {
  const grants = await ask(rig, by, want);
  judgeGrants(rig, by, want, grants);
  if (grants.length > 0 || want.op !== undefined) return grants;
  return claimable(rig, want) === undefined ? grants : insist(rig, by, want);
}

/** The first task that a claim should find, sooner or later. */
function claimable(rig: Rig, want: Want): ModelTask | undefined {
  if (!rig.model.workers.get(want.worker)?.enabled) return undefined;
  for (const task of rig.model.tasks.values()) {
    if (task.state !== 'ready' || rig.model.queue(task.queue).paused !== undefined) continue;
    if (wants(want, task)) return task;
  }
  return undefined;
}

/** After a scan nothing is hidden: the claim gets as much as there is. */
export async function claimAfterScan(rig: Rig, by: number, want: Want): Promise<void> {
  let there = 0;
  for (const task of rig.model.tasks.values()) {
    const open = task.state === 'ready' && rig.model.queue(task.queue).paused === undefined;
    if (open && wants(want, task)) there++;
  }
  rig.engine(by).hint();
  // A claim that knows of a lane does not wait for it.
  await rig.engine(by).readyLanes.refresh();
  const grants = await ask(rig, by, want);
  const due = rig.model.workers.get(want.worker)?.enabled ? Math.min(want.max, there) : 0;
  must(grants.length === due, `a claim of ${want.max} got ${grants.length} of ${there} tasks`);
  judgeGrants(rig, by, want, grants);
}

/** A belief about lanes may be wrong, and costs one empty look each; a scan a second later finds what a hint hid. */
async function insist(rig: Rig, by: number, want: Want): Promise<readonly Grant[]> {
  rig.gates.reach('a claim looked at an empty lane first');
  for (let look = 0; look < 2 * QUEUES.length * HANDLERS.length; look++) {
    if (look > 0) await rig.advance(500);
    const grants = await ask(rig, by, want);
    judgeGrants(rig, by, want, grants);
    if (grants.length > 0) return grants;
  }
  throw new Error(`task ${claimable(rig, want)?.id} is ready, and no claim gets it`);
}

function wants(want: Want, { queue, handler }: { readonly queue: string; readonly handler: string }): boolean {
  return (want.queues?.includes(queue) ?? true) && (want.handlers?.includes(handler) ?? true);
}

export function judgeGrants(
  rig: Rig,
  by: number,
  want: Want,
  grants: readonly Grant[],
  order: 'in order' | 'in any order' = 'in order',
): void {
  const { model, gates } = rig;
  const before = want.op === undefined ? undefined : model.grantedBefore(claimOp(want.worker, want.op));
  if (before !== undefined) {
    const [have, due] = [
      grants.map((g) => leaseName(g.task, g.attempt)).join(),
      before.map((t) => leaseName(t.id, t.attempt)).join(),
    ];
    must(have === due, `the repeated claim got ${have}, not ${due}`);
    for (const [i, grant] of grants.entries()) compareGrant(grant, before[i] as ModelTask);
    gates.reach('claim repeated by its op');
    return;
  }
  must(grants.length <= want.max, `${grants.length} grants for a claim of ${want.max}`);
  if (!model.workers.get(want.worker)?.enabled) {
    must(grants.length === 0, 'a disabled worker was granted a task');
    gates.reach('disabled worker got nothing');
    return;
  }
  const lanes = new Map<string, Grant[]>();
  for (const grant of grants) {
    must(wants(want, grant), `${grant.queue} × ${grant.handler} was not asked for`);
    must(model.open(grant.queue, by), `task ${grant.task} was granted from a paused queue`);
    const lane = `${grant.queue} × ${grant.handler}`;
    lanes.set(lane, [...(lanes.get(lane) ?? []), grant]);
  }
  for (const [lane, taken] of lanes) {
    const first = taken[0] as Grant;
    const due = model.line(first.queue, first.handler).slice(0, taken.length);
    const [have, line] = [taken.map(({ task }) => task).join(), due.map(({ id }) => id).join()];
    must(order === 'in any order' || have === line, `${lane} gave ${have}, and ${line} came first`);
  }
  for (const grant of grants) take(rig, grant, want);
  if (want.op !== undefined) {
    model.rememberClaim(
      claimOp(want.worker, want.op),
      grants.map(({ task, attempt }) => ({ task, attempt })),
    );
  }
}

/** One grant: the model hands it out too, and both must have handed out the same. */
export function take(rig: Rig, grant: Grant, want: Pick<Want, 'worker' | 'leaseMs'>): void {
  const { model } = rig;
  const { attempt } = model.grant(grant.task, want.worker, want.leaseMs);
  must(grant.attempt === attempt, `task ${grant.task} was granted as attempt ${grant.attempt}, not ${attempt}`);
  const task = model.tasks.get(grant.task) as ModelTask;
  compareGrant(grant, task);
  rig.leases.push(grant);
  rig.gates.reach('granted');
  if (task.tries > 1) rig.gates.reach('granted again');
}

function compareGrant(grant: Grant, task: ModelTask): void {
  const pairs: readonly (readonly [string, string | number | boolean, string | number | boolean | undefined])[] = [
    ['attempt', grant.attempt, task.attempt],
    ['queue', grant.queue, task.queue],
    ['handler', grant.handler, task.handler],
    ['priority', grant.priority, task.priority],
    ['tries', grant.tries, task.tries],
    ['maxTries', grant.maxTries, task.maxTries],
    ['bounces', grant.bounces, task.bounces],
    ['suspect', grant.suspect, task.suspect],
    ['createdAt', grant.createdAt, task.createdAt],
    ['leaseUntil', grant.leaseUntil, task.leaseUntil],
    ['payload', grant.payload, task.payload],
  ];
  for (const [field, have, due] of pairs) {
    if (!Object.is(have, due))
      throw new Error(`the grant of task ${task.id} has ${field} ${String(have)}, not ${String(due)}`);
  }
}

export const WANT = { worker: 2, max: 5, lease: LEASES_MS.length, queues: 5, handlers: 4 };

export function wantOf(rig: Rig, n: { readonly [K in keyof typeof WANT]: number }): Want {
  return {
    worker: at(rig.workers, n.worker),
    max: at([1, 3, 10, 50, 2], n.max),
    leaseMs: at(LEASES_MS, n.lease),
    queues: at([undefined, undefined, [QUEUES[0]], [QUEUES[1], QUEUES[2]], [...QUEUES]], n.queues),
    handlers: at([undefined, undefined, [HANDLERS[0]], [HANDLERS[1]]], n.handlers),
  };
}

const claimSome = operation(12, { by: BY, ...WANT }, (rig, n) => claim(rig, n.by, wantOf(rig, n)));

const claimAll = operation(5, { by: BY, ...WANT }, (rig, n) => claimAfterScan(rig, n.by, wantOf(rig, n)));

const claimWithOp = operation(5, { by: BY, ...WANT, op: OPS.length }, (rig, n) =>
  claim(rig, n.by, { ...wantOf(rig, n), op: at(OPS, n.op) }),
);

const claimWaiting = operation(
  2,
  { by: BY, ...WANT, ...TASK, pusher: 3, op: 8 },
  async (rig, { by, pusher, op, ...n }) => {
    const want = { ...wantOf(rig, n), ...(op === 0 ? { op: 'waiting' } : {}) };
    const { worker, max, leaseMs, queues, handlers } = want;
    let grants: Awaited<ReturnType<typeof ask>> | undefined;
    const call = rig.engine(by).claim({
      worker,
      max,
      leaseMs,
      waitMs: 5_000,
      ...(queues === undefined ? {} : { queues }),
      ...(handlers === undefined ? {} : { handlers }),
      ...(want.op === undefined ? {} : { op: want.op }),
    });
    const heard = call.then((answer) => {
      grants = answer;
    });
    await rig.settle();
    if (grants === undefined && pusher < 2) await push(rig, pusher, pushOf(n));
    await rig.settle();
    for (let second = 0; second < 7 && grants === undefined; second++) {
      await rig.advance(1_000);
      await rig.settle();
    }
    must(grants !== undefined, 'a claim waits longer than it was told to');
    await heard;
    judgeGrants(rig, by, want, grants);
    if (grants.length > 0) rig.gates.reach('claim waited and got work');
    // Whatever it should have found while it waited, it finds now, or never.
    else if (want.op === undefined) await claim(rig, by, want);
    else await claim(rig, by, { ...want, op: undefined });
  },
);

/** At the port, where the lanes are named: the grants are known beforehand to the last one. */
const claimLanes = operation(4, { by: BY, ...WANT, lanes: 6, second: 2 }, async (rig, n) => {
  const { model } = rig;
  const names = Array.from({ length: 1 + (n.lanes % 3) }, (_, i) => ({
    queue: at(QUEUES, n.lanes + i),
    handler: at(HANDLERS, n.handlers + i),
  }));
  const lanes = await Promise.all(names.map((name) => rig.engine(n.by).interner.lane(name)));
  for (const { queue } of names) model.queue(queue);
  const want = wantOf(rig, n);
  const request = { holder: want.worker, ttlMs: want.leaseMs, max: want.max };
  const claims = [{ ...request, lanes: lanes.map((lane) => ({ lane, max: 1 + n.max * 3 })) }];
  if (n.second === 1) claims.push({ ...request, lanes: lanes.toReversed().map((lane) => ({ lane, max: 2 })) });
  const answers = await rig.store(n.by).taskClaim({ claims });
  for (const [i, answer] of answers.entries()) {
    const grants = answer?.grants ?? [];
    const order = i === 0 ? names : names.toReversed();
    let left = model.workers.get(want.worker)?.enabled ? want.max : 0;
    const due: number[] = [];
    for (const { queue, handler } of order) {
      const line = model.line(queue, handler).slice(0, Math.min(left, i === 0 ? 1 + n.max * 3 : 2));
      left -= line.length;
      due.push(...line.map(({ id }) => id));
    }
    const have = grants.map(({ task }) => task);
    must(have.join() === due.join(), `the lanes gave ${have.join()}, not ${due.join()}`);
    for (const grant of grants) take(rig, grant, want);
  }
});

export const CLAIMING = { claimSome, claimAll, claimWithOp, claimWaiting, claimLanes };

/** An operation id is one worker's own. */
function claimOp(worker: number, op: string): string {
  return `${worker} ${op}`;
}
