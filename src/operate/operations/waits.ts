import { fault, isEngineError } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { SignalOptions } from '../../engine/settle/waits.ts';
import { PER_PAGE } from '../../protocol/defaults.ts';
import type { SignalView, WaitView } from '../views.ts';
import { approvals, decide, requestOf } from './approvals.ts';
import type { Operations } from './operation.ts';

/** Signals and decisions for waiting tasks. */
export const waitOperations = {
  sendSignal: ({ engine }, { body: { channel, body, broadcast = false } }) =>
    signal(engine, channel, body, { broadcast }),

  async listApprovals({ engine }, { query: { limit = PER_PAGE } = {} }) {
    return { approvals: await approvals(engine, limit) };
  },

  async decideApproval(snapshot, { params, body, by = '' }) {
    const { engine } = snapshot;
    const task = snapshot.numberOf(params.id);
    const record = await engine.get(task);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task }, { hint: LIST });
    const id = engine.idOf(record);
    const decision = by === '' ? body : { ...body, by };
    await decide(engine, id, decision).catch((error: unknown) => {
      if (!isEngineError(error, 'CONFLICT')) throw error;
      const hint = `"leasehold tasks show ${id}" says how it stands. ${LIST}`;
      throw fault('CONFLICT', error.details ?? {}, { hint, cause: error });
    });
    const { key: _, ...said } = decision;
    return { id, ...said };
  },
} satisfies Operations;

/** Answers the tasks that it woke, by their public ids. */
export async function signal(
  engine: Engine,
  channel: string,
  body: unknown,
  options: SignalOptions,
): Promise<SignalView> {
  const { woken } = await engine.waits.signal(channel, body, options);
  const records = await engine.store.taskGet({ tasks: woken });
  const ids = woken.map((task, i) => (records[i] === undefined ? String(task) : engine.idOf(records[i])));
  return { channel, woken: ids, kept: woken.length === 0 && options.broadcast !== true };
}

/** What a waiting task waits for, if somebody outside can give it. */
export async function waitOf(engine: Engine, task: number): Promise<WaitView | undefined> {
  const wait = await engine.waits.of(task);
  if (wait?.outcome !== 'open' || wait.channel === undefined) return undefined;
  if (wait.form === undefined) return { kind: 'signal', channel: wait.channel };
  const { title, actions } = requestOf(wait);
  return { kind: 'approval', title, actions };
}

const LIST = '"leasehold approvals" lists the tasks that wait for a decision.';
