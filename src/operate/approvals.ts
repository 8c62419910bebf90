import { fault } from '../core/errors.ts';
import { checkOptions } from '../engine/check.ts';
import type { Engine } from '../engine/engine.ts';
import type { WaitRecord } from '../engine/records.ts';

/** What somebody has decided. */
export interface Decision {
  readonly action: string;
  readonly value?: unknown;
  readonly by?: string;
}

interface ApprovalRequest {
  readonly title: string;
  readonly form?: unknown;
  readonly actions?: readonly string[];
  readonly context?: unknown;
}

/** A task that waits for somebody to decide. */
export interface Approval extends ApprovalRequest {
  /** The public id of the task; `decide` takes it. */
  readonly id: string;
  /** Names the wait among those of the task. */
  readonly key: string;
  readonly actions: readonly string[];
  /** Calendar times in milliseconds. */
  readonly since: number;
  readonly deadline?: number;
}

const DECISION: ReadonlySet<string> = new Set(['action', 'value', 'by'] satisfies (keyof Decision)[]);
const ACTIONS: readonly string[] = ['approve', 'reject'];

/** Open ones, oldest first. */
export async function approvals(engine: Engine, limit: number): Promise<readonly Approval[]> {
  const waits = await engine.openWaits(limit);
  const records = await engine.store.taskGet({ tasks: waits.map(({ task }) => task) });
  return waits.flatMap((wait, i) => {
    const record = records[i];
    return record === undefined ? [] : [approvalOf(engine.idOf(record), wait)];
  });
}

/** Refused unless the task waits for a decision now, and offers this action. */
export async function decide(engine: Engine, id: string, decision: Decision): Promise<void> {
  checkOptions('decision', decision, DECISION);
  const task = engine.parseId(id);
  const wait = await engine.waitOf(task);
  if (wait?.outcome !== 'open' || wait.form === undefined || wait.channel === undefined) {
    if ((await engine.get(task)) === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    throw fault('CONFLICT', { problem: 'the task does not wait for a decision' });
  }
  const { actions } = approvalOf(id, wait);
  if (!actions.includes(decision.action)) {
    throw fault('INVALID_INPUT', { field: 'action', problem: `it is one of ${actions.join(', ')}` });
  }
  // For whoever waits now: what comes second is not kept for a later wait.
  const { woken } = await engine.signal(wait.channel, decision, { broadcast: true });
  if (!woken.includes(task)) throw fault('CONFLICT', { problem: 'somebody else has decided, or its time is over' });
}

export function approvalOf(id: string, { key, form, since, deadline }: WaitRecord): Approval {
  const shown: unknown = form === undefined ? {} : JSON.parse(form);
  return { id, key, ...requestOf(shown, key), since, ...(deadline === undefined ? {} : { deadline }) };
}

/** Who parks by hand may show any value, and must not pass for another wait by it: what is no request is a form. */
function requestOf(shown: unknown, key: string): ApprovalRequest & { readonly actions: readonly string[] } {
  if (typeof shown !== 'object' || shown === null || Array.isArray(shown)) {
    return { title: key, form: shown, actions: ACTIONS };
  }
  const { title, actions, form, context } = shown as Record<string, unknown>;
  const offered = Array.isArray(actions) && actions.length > 0 && actions.every((one) => typeof one === 'string');
  return {
    title: typeof title === 'string' && title !== '' ? title : key,
    ...(form === undefined ? {} : { form }),
    ...(context === undefined ? {} : { context }),
    actions: offered ? (actions as readonly string[]) : ACTIONS,
  };
}
