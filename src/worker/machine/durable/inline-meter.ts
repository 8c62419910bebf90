import type { Amount } from '../../../core/limits/budget.ts';
import type { AgentSpent } from '../../../flow/machine/commands.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import { AgentFailed } from '../../agents/agent-failed.ts';
import type { AttemptSession } from '../../runner/runner.ts';
import type { AgentCall } from '../inline-driver.ts';
import type { Spending } from './spending.ts';

export interface InlineMeterDeps {
  readonly session: Pick<AttemptSession, 'turn'>;
  readonly spending: Spending;
  /** What the receipts of this state and this attempt begin with. */
  readonly key: string;
  /** For the entry of the state. */
  readonly onSpent: (spent: AgentSpent) => void;
}

/**
 * Calls of agents of machines that run within an attempt, many at once: each draws what it may cost before it begins, and settles with the next
 * turn that is made. When too little is left, the run waits: the others are cut off, and what was drawn for them counts as spent.
 */
export class InlineMeter {
  readonly #deps: InlineMeterDeps;
  readonly #over = new AbortController();
  /** Draws are made one after the other: the answer to one may be that there are no more. */
  #lastDraw: Promise<unknown> = Promise.resolve();
  #draws = 0;

  constructor(deps: InlineMeterDeps) {
    this.#deps = deps;
  }

  /** Aborted when the attempt has no lease any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  metered(call: AgentCall): AgentCall {
    return async (command, stop, around) => {
      const drawn = around.machine.states.get(command.state)?.draw ?? [];
      if (drawn.length > 0) await this.#draw(drawn);
      if (stop.aborted) this.#deps.spending.end({}, drawn);
      stop.throwIfAborted();
      const settle = this.#once(drawn);
      // A call may outlive its stop: a program takes a moment to end. Its attempt does not wait for what it says then.
      const cut = (): void => settle(undefined);
      stop.addEventListener('abort', cut);
      try {
        const answer = await call(command, stop, around);
        settle(answer);
        return answer;
      } catch (error) {
        settle(error instanceof AgentFailed ? error.spent : undefined);
        throw error;
      } finally {
        stop.removeEventListener('abort', cut);
      }
    };
  }

  /** Counts one call, by what is known first. Undefined: nobody knows what it has used. */
  #once(drawn: readonly Amount[]): (spent: AgentSpent | undefined) => void {
    const { spending, onSpent } = this.#deps;
    let isOpen = true;
    return (spent) => {
      if (!isOpen) return;
      isOpen = false;
      if (spent === undefined) return spending.endCut(drawn);
      spending.end(spent, drawn);
      onSpent(spent);
    };
  }

  #draw(amounts: readonly Amount[]): Promise<void> {
    const draw = this.#lastDraw.then(() => this.#drawNow(amounts));
    this.#lastDraw = draw.catch(() => {});
    return draw;
  }

  async #drawNow(amounts: readonly Amount[]): Promise<void> {
    const { session, spending, key } = this.#deps;
    this.over.throwIfAborted();
    const receipt = { key: `${key}:${this.#draws++}`, kind: 'mark', value: amounts } as const;
    const { went } = await spending.tellWith((told) =>
      session.turn({ entries: [receipt], then: { go: 'on' }, draw: amounts, ...told }),
    );
    if (went !== 'on') this.#over.abort(new StateError('BudgetShort', 'the run waits for its budget'));
    this.over.throwIfAborted();
  }
}
