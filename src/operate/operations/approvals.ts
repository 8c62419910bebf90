import { fault } from '../../core/errors.ts';
import { checkOptions } from '../../engine/check.ts';
import type { Engine } from '../../engine/engine.ts';
import type { WaitRecord } from '../../engine/records.ts';
import type { ApprovalView, DecisionView } from '../../protocol/views.ts';

/** A decision. */
export type Decision = Omit<DecisionView, 'id'> & { readonly key?: string | undefined };

const DECISION: ReadonlySet<string> = new Set(['action', 'value', 'by', 'key'] satisfies (keyof Decision)[]);
const ACTIONS: readonly string[] = ['approve', 'reject'];

/** Open approvals, the oldest first. */
export async function approvals(engine: Engine, limit: number): Promise<readonly ApprovalView[]> {
  const waits = await engine.waits.open(limit);
  const records = await engine.store.taskGet({ tasks: waits.map(({ task }) => task) });
  return waits.flatMap((wait, i) => {
    const record = records[i];
    if (record === undefined) return [];
    const { queue, handler } = record;
    const { since, deadline } = wait;
    const when = { since, ...(deadline === undefined ? {} : { deadline }) };
    const common = { id: engine.idOf(record), queue, handler };
    return askedIn(wait).map((one) => ({ ...common, key: one.key, ...requestOf(one), ...when }));
  });
}

/** A task may wait for several decisions at once. */
export function askedIn(
  wait: WaitRecord,
): readonly (WaitRecord & { readonly form: string; readonly channel: string })[] {
  return [wait, ...(wait.others ?? []).map((other) => ({ ...wait, form: undefined, ...other }))].flatMap((one) => {
    const { form, channel } = one;
    return form === undefined || channel === undefined ? [] : [{ ...one, form, channel }];
  });
}

/** Refused unless the task waits for a decision now and offers this action. */
export async function decide(engine: Engine, id: string, { key, ...decision }: Decision): Promise<void> {
  checkOptions('decision', decision, DECISION);
  const task = engine.parseId(id);
  const open = await engine.waits.of(task);
  const asked = open?.outcome === 'open' ? askedIn(open) : [];
  const wait = key === undefined ? asked[0] : asked.find((one) => one.key === key);
  if (wait === undefined) {
    if ((await engine.get(task)) === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    const which = key === undefined || asked.length === 0 ? '' : ` of the key ${key}`;
    throw fault('CONFLICT', { problem: `the task does not wait for a decision${which}` });
  }
  const { actions } = requestOf(wait);
  if (!actions.includes(decision.action)) {
    throw fault('INVALID_INPUT', { field: 'action', problem: `it is one of ${actions.join(', ')}` });
  }
  const { woken } = await engine.waits.decide({ channel: wait.channel }, decision);
  if (!woken.includes(task)) throw fault('CONFLICT', { problem: 'somebody else has decided, or its time is over' });
}

/**
 * The request of a wait. A task that parks by hand may have any value as its form; a value that is not a request is shown as
 * the form itself.
 */
export function requestOf({
  key,
  form: text,
}: WaitRecord): Pick<ApprovalView, 'title' | 'form' | 'context' | 'actions'> {
  const shown: unknown = text === undefined ? {} : JSON.parse(text);
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
