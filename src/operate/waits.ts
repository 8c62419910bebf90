import { fault, isEngineError } from '../core/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { type Approval, approvalOf, approvals, type Decision, decide } from './approvals.ts';

/** What somebody outside could do for a task that has given its slot back. */
export type WaitView =
  | ({ readonly kind: 'approval' } & Pick<Approval, 'title' | 'actions'>)
  | { readonly kind: 'signal'; readonly channel: string };

export interface ApprovalView extends Approval {
  readonly queue: string;
  readonly handler: string;
}

export interface SignalView {
  readonly channel: string;
  /** Public ids of those that it woke. */
  readonly woken: readonly string[];
  /** Nobody waited, and the next one that does gets it. */
  readonly kept: boolean;
}

export interface DecisionView extends Decision {
  readonly id: string;
}

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
  async approvals(limit: number): Promise<readonly ApprovalView[]> {
    const found = await approvals(this.#engine, limit);
    const tasks = found.map(({ id }) => this.#engine.parseId(id));
    const records = await this.#engine.store.taskGet({ tasks });
    return found.map((one, i) => ({ ...one, queue: records[i]?.queue ?? '', handler: records[i]?.handler ?? '' }));
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
    const { title, actions } = approvalOf('', wait);
    return { kind: 'approval', title, actions };
  }
}

const LIST = '"leasehold approvals" lists the tasks that wait for a decision.';
