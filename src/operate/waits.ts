import { fault, isEngineError } from '../core/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { approvals, type Decision, decide, requestOf } from './approvals.ts';
import type { ApprovalView, DecisionView, SignalView, WaitView } from './views.ts';

/** Tasks that wait for a word from outside, for who gives it from there. */
export class WaitDesk {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async signal(channel: string, body: unknown, { broadcast }: { readonly broadcast: boolean }): Promise<SignalView> {
    const { woken } = await this.#engine.signal(channel, body, { broadcast });
    const records = await this.#engine.store.taskGet({ tasks: woken });
    const ids = woken.map((task, i) => {
      const record = records[i];
      return record === undefined ? String(task) : this.#engine.idOf(record);
    });
    return { channel, woken: ids, kept: woken.length === 0 && !broadcast };
  }

  /** Those that somebody is asked to decide, oldest first. */
  approvals(limit: number): Promise<readonly ApprovalView[]> {
    return approvals(this.#engine, limit);
  }

  async decide(task: number, decision: Decision): Promise<DecisionView> {
    const record = await this.#engine.get(task);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: task }, { hint: LIST });
    const id = this.#engine.idOf(record);
    try {
      await decide(this.#engine, id, decision);
    } catch (error) {
      throw isEngineError(error, 'CONFLICT')
        ? fault('CONFLICT', error.details ?? {}, {
            hint: `"leasehold tasks show ${id}" says how it stands. ${LIST}`,
            cause: error,
          })
        : error;
    }
    return { id, ...decision };
  }

  /** What a waiting task waits for, if somebody outside can give it. */
  async waitOf(task: number): Promise<WaitView | undefined> {
    const wait = await this.#engine.waitOf(task);
    if (wait?.outcome !== 'open' || wait.channel === undefined) return undefined;
    if (wait.form === undefined) return { kind: 'signal', channel: wait.channel };
    const { title, actions } = requestOf(wait);
    return { kind: 'approval', title, actions };
  }
}

const LIST = '"leasehold approvals" lists the tasks that wait for a decision.';
