/** Verbs that meet on the same rows: each case says what stands there and who comes. */
import assert from 'node:assert/strict';
import type { AfterFailure } from '../../src/core/graph/graph.ts';
import type { Lease } from '../../src/core/task/lease.ts';
import type { FinalState } from '../../src/core/task/task.ts';
import { DAY, HOUR, MINUTE, type Scene, TTL } from '../../src/store/conformance/kit/scene.ts';
import type { DutyTenure, DutyTerm, Grant, NewTask, ReturnItem } from '../../src/store/store.ts';
import type { Act, Outcome } from './interleaving.ts';

export interface Tools {
  /** For what no verb does. */
  readonly ask: (text: string) => Promise<void>;
}

export interface Case {
  readonly make: (scene: Scene, tools: Tools) => Promise<readonly Act[]>;
  /** Old tasks go. */
  readonly forgets?: boolean;
  /** Whose faults are tried; default: those of both. */
  readonly faults?: readonly number[];
  /** Why an answer that was lost may make it end as no sequence does; the books must be right all the same. */
  readonly vague?: string;
  readonly check?: (outcome: Outcome) => void;
}

export const push = (name: string, ...items: NewTask[]): Act => ({ name, act: (store) => store.taskPush({ items }) });

/** Tasks that need all of these, and what becomes of each when one of them does not complete. */
export const graph = (name: string, item: NewTask, ups: readonly number[], ...after: AfterFailure[]): Act => ({
  name,
  act: (store) =>
    store.graphPush({
      items: after.map((afterFailure) => ({
        ...item,
        after: ups.map((task) => ({ task, optional: false })),
        afterFailure,
      })),
    }),
});

export const carry = (name: string, duty: DutyTerm): Act => ({
  name,
  act: async (store) => (await store.depCarry({ duty, limit: 500 })).carried,
});

/** Tasks that run, and one that waits for all of them. */
export async function joined(
  scene: Scene,
  count: number,
  afterFailure: AfterFailure = 'cancel',
): Promise<{ readonly grants: readonly Grant[]; readonly join: number }> {
  const grants: Grant[] = [];
  for (let i = 0; i < count; i++) grants.push(await scene.running());
  const after = grants.map(({ task }) => ({ task, optional: false }));
  const answer = await scene.store.graphPush({ items: [{ ...(await scene.draft()), after, afterFailure }] });
  assert.ok(answer.ok);
  return { grants, join: answer.tasks[0]?.task as number };
}

export const claim = (name: string, holder: number, lane: number, max = 1): Act => ({
  name,
  nothing: [[]],
  act: async (store) => {
    const answers = await store.taskClaim({ claims: [{ holder, ttlMs: TTL, max, lanes: [{ lane, max }] }] });
    return answers.map((some) => some?.grants.map(({ task, attempt }) => ({ task, attempt })));
  },
});

export const claimTask = (name: string, holder: number, task: number): Act => ({
  name,
  nothing: [[]],
  act: async (store) => {
    const answers = await store.taskClaim({ claims: [{ holder, ttlMs: TTL, max: 1, lanes: [], task }] });
    return answers.map((some) => some?.grants.map((grant) => ({ task: grant.task, attempt: grant.attempt })));
  },
});

export const settle = (name: string, { task, attempt }: Lease, to: FinalState = 'completed'): Act => ({
  name,
  act: (store) => store.taskSettle({ items: [{ task, attempt, to, reason: 'none', result: `"${to}"` }] }),
});

export const giveBack = (name: string, { task, attempt }: Lease, more: Partial<ReturnItem> = {}): Act => ({
  name,
  act: (store) =>
    store.taskReturn({
      items: [{ change: 'retried', delayMs: 0, refund: false, bounced: false, error: '"no"', ...more, task, attempt }],
    }),
});

export const renew = ({ task, attempt }: Lease): Act => ({
  name: 'renew',
  act: (store) => store.leaseRenew({ items: [{ task, attempt, ttlMs: HOUR }] }),
});

export const reap = (
  name: string,
  duty: DutyTerm,
  { task, attempt }: Lease,
  to: 'again' | 'failed' = 'again',
): Act => ({
  name,
  nothing: { reaped: 0, lanes: [] },
  act: (store) => {
    const reason = to === 'failed' ? 'exhausted' : 'none';
    return store.leaseReap({ duty, items: [{ task, attempt, to, reason, delayMs: 0 }] });
  },
});

export const cancel = (name: string, task: number): Act => ({
  name,
  act: (store) => store.taskCancel({ tasks: [task] }),
});
export const revive = (name: string, task: number): Act => ({
  name,
  act: (store) => store.taskRevive({ tasks: [task] }),
});

export const stage = (name: string, duty: DutyTerm): Act => ({
  name,
  nothing: 0,
  act: async (store) => (await store.taskStage({ duty, limit: 10 })).staged,
});

export const expire = (name: string, duty: DutyTerm): Act => ({
  name,
  nothing: 0,
  act: async (store) => (await store.taskExpire({ duty, limit: 10 })).expired,
});

export const write = (name: string, { task, attempt }: Lease, text = 'x'): Act => ({
  name,
  act: (store) => {
    const entry = { seq: 1, at: 1, stream: 'stdout', text } as const;
    return store.logAppend({ items: [{ task, attempt, entries: [entry] }] });
  },
});

export const take = (name: string): Act => ({
  name: 'take',
  act: (store) => store.dutyTake({ name, holder: 'another', ttlMs: HOUR }),
});

export const number = (name: string, duty: DutyTerm): Act => ({
  name,
  act: async (store) => (await store.eventNumber({ duty, limit: 10 })).events,
});

export const audit = (duty: DutyTerm): Act => ({ name: 'audit', act: (store) => store.statsAudit({ duty }) });

export const prune = (name: string, duty: DutyTerm, retentionMs: number): Act => ({
  name,
  from: /^SELECT id, ended_at/,
  act: async (store) => (await store.taskPrune({ duty, retentionMs, limit: 10 })).tasks,
});

export const beat = (worker: number): Act => ({
  name: 'beat',
  act: (store) => store.workerBeat({ beats: [{ worker }] }),
});

export const reapWorkers = (name: string, duty: DutyTerm): Act => ({
  name,
  nothing: [],
  act: (store) => store.workerReap({ duty, staleMs: MINUTE }),
});

/** A lease that has run out, and the duty that may take it over. */
export async function overdue(scene: Scene): Promise<{ readonly grant: Grant; readonly duty: DutyTenure }> {
  const duty = await scene.duty('any', DAY);
  const grant = await scene.running();
  await scene.pass(TTL + 1);
  return { grant, duty };
}

/** A finished task. */
export async function ended(scene: Scene, more: Partial<NewTask> = {}): Promise<Grant> {
  const grant = await scene.running(more);
  await scene.settle(grant, 'failed', { reason: 'gave_up', result: '"no"' });
  return grant;
}

export const KEY = { key: 'k', hash: 1, windowMs: HOUR };
export const FEED: DutyTerm = { name: 'feed', epoch: 1 };

export async function fire(scene: Scene, duty: DutyTerm, name = 'fire'): Promise<Act> {
  const nextAt = Date.UTC(2026, 0, 5, 12);
  const [lane, spec] = [await scene.lane(), await scene.spec()];
  await scene.store.triggerPut({
    trigger: {
      name: 'nightly',
      lane,
      spec,
      cron: '* * * * *',
      timezone: 'UTC',
      missed: 'latest',
      priority: 0,
      maxTries: 3,
      payload: '1',
      nextAt,
    },
  });
  const items = [await scene.draft({ unique: { key: 'cron:nightly', hash: 0, windowMs: DAY } })];
  return {
    name,
    act: (store) =>
      store.triggerFire({ duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt], items }),
  };
}

/** Two that do the same: each case with both of them. */
export const twice = (make: (scene: Scene) => Promise<(name: string) => Act>): Case => ({
  make: async (scene) => {
    const act = await make(scene);
    return [act('one'), act('two')];
  },
});

export const both = (make: Case['make'], more: Omit<Case, 'make'> = {}): Case => ({ make, ...more });

/** A takeover begins after what its predecessor wrote, or its predecessor writes nothing: the lock keeps them apart. */
export function apart({ answers, trace }: Outcome): void {
  const [, written] = answers;
  const taken = trace.indexOf('take COMMIT');
  if (taken < 0 || written === 'DUTY_LOST' || written === 'died') return;
  const last = trace.findLastIndex((step) => step.endsWith('COMMIT') && !step.startsWith('take'));
  assert.ok(last < taken, `a deposed one wrote: ${trace.join(', ')}`);
}

/** Somebody takes a duty over whose holder still writes. */
export const deposed = (
  make: (scene: Scene, duty: DutyTenure, tools: Tools) => Promise<Act>,
  more: Omit<Case, 'make'> = {},
): Case => ({
  make: async (scene, tools) => {
    const duty = await scene.duty('any', 1);
    const act = await make(scene, duty, tools);
    await scene.pass(2);
    return [take('any'), act];
  },
  check: apart,
  ...more,
});

/** The recount goes on beside whatever is written. */
export const audited = (make: (scene: Scene, duty: DutyTenure) => Promise<Act>): Case => ({
  make: async (scene) => {
    const duty = await scene.duty('any', DAY);
    const act = await make(scene, duty);
    return [audit(duty), act];
  },
  check: ({ answers: [drifts] }) => {
    if (drifts !== 'died') assert.deepEqual(drifts, [], 'it saw a difference that is none');
  },
});
