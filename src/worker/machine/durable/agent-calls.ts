/** The calls that an attempt makes of the agents of its machine. */
import type { AgentEnd, AgentSpent, Command } from '../../../flow/machine/commands.ts';
import { AskEach, type AskEachOptions, askEach } from '../../agents/ask-each.ts';
import type { AgentAround, AgentCall, RunnableMachine } from '../inline-driver.ts';
import { RunScope } from '../run-scope.ts';
import type { InlineMeter } from './inline-meter.ts';

export interface EachDeps extends Pick<AskEachOptions, 'careful'> {
  readonly within: Parameters<typeof askEach>[1];
  readonly meter: InlineMeter;
  /** Of all calls that have answered, also in an earlier attempt. */
  readonly onSpent: (spent: AgentSpent) => void;
}

export class AgentCalls {
  readonly #runnable: RunnableMachine;
  readonly #open = new Set<Promise<unknown>>();
  /** Of the attempt: a run that waits holds nothing, and goes on elsewhere. */
  readonly scope = new RunScope();

  constructor(runnable: RunnableMachine) {
    this.#runnable = runnable;
  }

  async of(agent: string): Promise<AgentCall> {
    const call = await this.#runnable.agent(agent);
    return (...asked) => {
      const calling = call(...asked);
      this.#open.add(calling);
      const over = (): boolean => this.#open.delete(calling);
      calling.then(over, over);
      return calling;
    };
  }

  /** Each answer stands in the journal as it comes. */
  async each(
    command: Command & { readonly do: 'agents' },
    around: AgentAround,
    { within, onSpent, meter, ...options }: EachDeps,
  ): Promise<readonly (AgentEnd | undefined)[]> {
    const asking = new AskEach(command, {
      ...options,
      ledger: around.ledger,
      ask: async (call, stop, ledger) => meter.metered(await this.of(call.agent))(call, stop, { ...around, ledger }),
    });
    return askEach(asking, within).finally(() => onSpent(asking.spent));
  }

  /** Resolves when nothing of them is left. They may outlive their timeout: a program takes a moment to end. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#open);
    await this.scope.close();
  }
}
