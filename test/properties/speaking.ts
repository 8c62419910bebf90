import type { TaskState } from '../../src/core/task/task.ts';
import type { HeldLease } from '../../src/engine/settle/settles.ts';
import type { Grant } from '../../src/store/store.ts';
import { take } from './claiming.ts';
import { DELAYS_MS, LEASES_MS, POISON, VALUES } from './corpus.ts';
import {
  ANY_TEXT,
  type Call,
  type Fate,
  type Intent,
  leaseName,
  type ModelLease,
  type ModelTask,
  must,
} from './model-parts.ts';
import { at, BY, LEASE, operation, pick } from './operation.ts';
import { push, pushOf, textOf } from './pushing.ts';
import { type Answer, outcome, type Rig, refused } from './rig.ts';

export interface LeaseNumbers {
  /** 0, 1: one that holds and was asked to cancel. 2 to 5: one that holds. 6 to 8: any ever granted. 9: none ever granted. */
  readonly how: number;
  readonly which: number;
  /** Without what the grant told: only task and attempt, as over the wire. */
  readonly bare: number;
}

export function pickLease(rig: Rig, n: LeaseNumbers): HeldLease {
  const { leases, model } = rig;
  const holding = n.how < 6 ? held(rig) : [];
  const asked = n.how < 2 ? holding.filter((it) => model.held(it)?.cancelRequestedAt !== undefined) : [];
  const lease = n.how === 9 ? undefined : (pick(asked, n.which) ?? pick(holding, n.which) ?? pick(leases, n.which));
  if (lease !== undefined) return n.bare === 1 ? { task: lease.task, attempt: lease.attempt } : lease;
  const task = pick([...model.tasks.values()], n.which);
  if (task === undefined) return { task: 1_000_000, attempt: 1 };
  const like = n.bare === 1 ? undefined : leases.find((other) => other.task === task.id);
  const attempt = at([task.attempt + 1, 0, task.attempt + 7, -1], n.which);
  return { ...like, task: task.id, attempt };
}

/** Leases that hold now, the longest granted first. */
export function held(rig: Rig): readonly Grant[] {
  return rig.leases.filter((lease) => rig.model.held(lease) !== undefined);
}

/** A call of the attempt's worker, with the values that the engine is given. */
export interface Said {
  readonly lease: HeldLease;
  readonly call: Call;
  readonly value?: unknown;
}

export async function say(rig: Rig, by: number, said: Said): Promise<void> {
  const { model, gates } = rig;
  const { lease, call } = said;
  const state = model.tasks.get(lease.task)?.state;
  const intent = model.intend(lease, call, lease.tries === undefined);
  const fate = model.fate(lease, intent);
  gates.reach(`${call.verb} of a task that is ${state ?? 'unknown'}`);
  const answer = await outcome(speak(rig, by, said));
  await judgeSaid(rig, lease, intent, fate, answer);
  if (fate === 'lost') {
    gates.reach(
      model.grants.has(leaseName(lease.task, lease.attempt)) ? `stale ${call.verb} refused` : 'forged lease refused',
    );
  } else rig.lastCall = () => say(rig, by, said);
}

function speak(rig: Rig, by: number, { lease, call, value }: Said): Promise<TaskState | void> {
  const engine = rig.engine(by);
  switch (call.verb) {
    case 'complete':
      return engine.complete(lease, value);
    case 'fail':
      return engine.fail(lease, value);
    case 'give up':
      return engine.fail(lease, value, { giveUp: true });
    case 'come back later':
      return engine.fail(lease, value, { retryAfterMs: call.delayMs });
    case 'release':
      return engine.release(lease, call.delayMs > 0 ? { delayMs: call.delayMs } : {});
    case 'bounce':
      return engine.release(lease, { bounced: true });
    case 'cancelled':
      return engine.cancelled(lease);
  }
}

async function judgeSaid(
  rig: Rig,
  lease: ModelLease,
  intent: Intent | undefined,
  fate: Fate,
  answer: Answer<TaskState | void>,
): Promise<void> {
  if (fate === 'lost' || intent === undefined) {
    must('error' in answer && answer.error === 'LEASE_LOST', `a lost lease was answered ${JSON.stringify(answer)}`);
    return;
  }
  must(
    'value' in answer,
    `attempt ${leaseName(lease.task, lease.attempt)} was refused: ${JSON.stringify(answer)}, not ${fate}`,
  );
  const task = rig.model.held(lease);
  if (fate === 'repeated') rig.gates.reach('lost answer repeated');
  if (task === undefined) {
    judgeState(answer.value ?? undefined, fate, intent);
    return;
  }
  await apply(rig, task, intent, fate);
  judgeState(answer.value ?? undefined, fate, intent);
}

/** What became of the task, for the calls that say so. */
function judgeState(said: TaskState | undefined, fate: Fate, intent: Intent): void {
  if (said === undefined) return;
  if (fate === 'cancelled') must(said === 'cancelled', `the answer is ${said}, not cancelled`);
  else if ('to' in intent) must(said === intent.to, `the answer is ${said}, not ${intent.to}`);
  else if (intent.least > 0) must(said === 'scheduled', `the answer is ${said}, not scheduled`);
  else if (intent.most === 0) must(said === 'ready', `the answer is ${said}, not ready`);
  else must(said === 'ready' || said === 'scheduled', `the answer is ${said}`);
}

/** Moves the model as a held lease did; the wait of a retry is read back, because chance has a part in it. */
export async function apply(rig: Rig, task: ModelTask, intent: Intent, fate: Fate): Promise<void> {
  const { model, gates } = rig;
  if (fate === 'cancelled') {
    model.end(task, 'cancelled', 'requested', 'error' in intent ? intent.error : undefined);
    gates.reach('given back after a cancel request');
  } else if ('to' in intent) {
    model.end(task, intent.to, intent.reason, intent.result);
    if (intent.to === 'failed') gates.reach(`failed: ${intent.reason}`);
  } else {
    model.giveBack(task, intent, intent.least === intent.most ? intent.most : await waitOf(rig, task));
    gates.reach(intent.change);
  }
}

export async function waitOf(rig: Rig, task: ModelTask): Promise<number> {
  const [record] = await rig.store(0).taskGet({ tasks: [task.id] });
  return record?.runAt === undefined ? 0 : record.runAt - rig.model.wall;
}

export function pickTask(rig: Rig, which: number): number {
  return pick([...rig.model.tasks.keys()], which) ?? 1_000_000;
}

const renew = operation(6, { by: BY, ...LEASE, lease: LEASES_MS.length }, async (rig, n) => {
  const lease = pickLease(rig, n);
  const leaseMs = at(LEASES_MS, n.lease);
  rig.gates.reach(`renew of a task that is ${rig.model.tasks.get(lease.task)?.state ?? 'unknown'}`);
  const answer = await rig.engine(n.by).renew(lease, leaseMs);
  const task = rig.model.renew(lease, leaseMs);
  if (task === undefined) {
    must(!answer.held, `a lost lease was renewed: ${lease.task}/${lease.attempt}`);
    rig.gates.reach('stale renew refused');
    return;
  }
  must(answer.held, `a lease that holds was not renewed: ${lease.task}/${lease.attempt}`);
  must(answer.leaseUntil === task.leaseUntil, `a lease was renewed until ${answer.leaseUntil}, not ${task.leaseUntil}`);
  must(answer.cancelRequested === (task.cancelRequestedAt !== undefined), 'a renewal hides a cancel request');
  if (answer.cancelRequested) rig.gates.reach('renewal told of a cancel request');
});

const complete = operation(9, { by: BY, ...LEASE, value: VALUES.length }, (rig, n) => {
  const value = at(VALUES, n.value);
  const result = value === undefined ? undefined : textOf(value);
  return say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'complete', result }, value });
});

const completeWithPoison = operation(1, { by: BY, ...LEASE, poison: POISON.length }, async (rig, n) => {
  const [value, code] = at(POISON, n.poison);
  await refused(rig.engine(n.by).complete(pickLease(rig, n), value), code);
  rig.gates.reach('poisoned result refused');
});

const fail = operation(9, { by: BY, ...LEASE, value: VALUES.length }, (rig, n) => {
  const value = at(VALUES, n.value);
  return say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'fail', error: textOf(value) }, value });
});

/** Whatever a handler throws, its task fails with it. */
const failWithPoison = operation(1, { by: BY, ...LEASE, poison: POISON.length + 2 }, (rig, n) => {
  const poison = POISON[n.poison];
  const value =
    poison?.[0] ??
    at([new Error('a NUL \u0000 inside'), Object.assign(Object.create(null), { run: () => 1 })], n.poison);
  return say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'fail', error: ANY_TEXT }, value });
});

const wrongNumbers = operation(1.5, { by: BY, ...LEASE, verb: 5, number: 4 }, async (rig, n) => {
  const wrong = at([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY], n.number);
  const engine = rig.engine(n.by);
  const lease = pickLease(rig, n);
  const worker = at(rig.workers, n.which);
  const calls = [
    () => engine.claim({ worker, max: wrong }),
    () => engine.claim({ worker, max: 1, leaseMs: wrong }),
    () => engine.renew(lease, wrong),
    () => engine.fail(lease, 'later', { retryAfterMs: wrong }),
    () => engine.release(lease, { delayMs: wrong }),
  ];
  await refused(at(calls, n.verb)(), 'INVALID_INPUT');
  rig.gates.reach('wrong number refused');
});

const giveUp = operation(4, { by: BY, ...LEASE, value: VALUES.length }, (rig, n) => {
  const value = at(VALUES, n.value);
  return say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'give up', error: textOf(value) }, value });
});

const comeBackLater = operation(5, { by: BY, ...LEASE, delay: DELAYS_MS.length + 1 }, (rig, n) => {
  const delayMs = DELAYS_MS[n.delay] ?? 0;
  const call: Call = { verb: 'come back later', error: '"429"', delayMs };
  return say(rig, n.by, { lease: pickLease(rig, n), call, value: '429' });
});

const release = operation(6, { by: BY, ...LEASE, delay: DELAYS_MS.length * 2 }, (rig, n) => {
  const delayMs = DELAYS_MS[n.delay] ?? 0;
  return say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'release', delayMs } });
});

const bounce = operation(5, { by: BY, ...LEASE }, (rig, n) =>
  say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'bounce' } }),
);

const cancelled = operation(5, { by: BY, ...LEASE }, (rig, n) =>
  say(rig, n.by, { lease: pickLease(rig, n), call: { verb: 'cancelled' } }),
);

/** The answer was lost on the way, so the worker says the same again. */
const repeatLastCall = operation(6, {}, async (rig) => rig.lastCall?.());

/** A worker that takes a task and never starts it, until it is given up on. */
const bounceUntilGivenUp = operation(0.3, { by: BY, bare: 2 }, async (rig, n) => {
  const { model } = rig;
  const [worker] = rig.workers as [number];
  const task = await push(rig, n.by, pushOf({ queue: 0, handler: 0, value: 1, priority: 4, tries: 1 }));
  for (let i = 0; i < 20 && task?.state === 'ready'; i++) {
    const lane = await rig.engine(n.by).interner.lane(task);
    const [answer] = await rig.store(n.by).taskClaim({
      claims: [{ holder: worker, ttlMs: 5_000, max: 1, lanes: [{ lane, max: 1 }] }],
    });
    const [grant] = answer?.grants ?? [];
    if (grant === undefined) return;
    take(rig, grant, { worker, leaseMs: 5_000 });
    const lease = n.bare === 1 ? { task: grant.task, attempt: grant.attempt } : grant;
    await say(rig, n.by, { lease, call: { verb: 'bounce' } });
    if (n.bare === 1) await rig.lastCall?.();
    if (model.tasks.get(grant.task)?.state === 'ready' && grant.task !== task.id) return;
  }
});

export const SPEAKING = {
  renew,
  complete,
  completeWithPoison,
  fail,
  failWithPoison,
  wrongNumbers,
  giveUp,
  comeBackLater,
  release,
  bounce,
  cancelled,
  repeatLastCall,
  bounceUntilGivenUp,
};
