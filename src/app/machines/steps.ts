/** What happens in a run, for whoever watches it: a line of progress, a log, a test. */
import { isMap } from '../../flow/expression/values.ts';
import type { AgentCommand, Child, Command } from '../../flow/machine/commands.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';

/** Which run it happened in. A machine within another has its own. */
interface Place {
  readonly executionId: string;
  readonly parentExecutionId?: string;
  /** How many machines are around this one. */
  readonly depth: number;
  /** The name of the machine. */
  readonly machine: string;
  readonly step: number;
  readonly state: string;
}

export type MachineStep = Place &
  (
    | { readonly kind: 'enter'; readonly error?: { readonly type: string; readonly message: string } }
    | { readonly kind: 'action'; readonly action: string }
    | { readonly kind: 'wait'; readonly channel: string; readonly timeoutMs: number | undefined }
    | { readonly kind: 'launch' | 'invoke'; readonly children: readonly Child[] }
    /** `calls`: it is asked so often, and `input` is a list. */
    | { readonly kind: 'agent'; readonly agent: string; readonly input: unknown; readonly calls?: number }
    | { readonly kind: 'exit'; readonly output: unknown }
    | { readonly kind: 'transition'; readonly to: string }
    | { readonly kind: 'completed'; readonly output: unknown }
    | { readonly kind: 'failed'; readonly type: string; readonly message: string }
  );

/** Makes steps of the moves of a run and of all runs within it. The driver stops at every step for it. */
export class StepReporter {
  readonly #report: (step: MachineStep) => void;
  /** Runs that are about to enter the state that a transition named: any other state is entered by an error. */
  readonly #moving = new Set<string>();

  constructor(report: (step: MachineStep) => void) {
    this.#report = report;
  }

  readonly onStep = (snapshot: Snapshot, command: Command | undefined): void => {
    const { executionId, parentExecutionId, depth, step, state, end } = snapshot;
    const place = {
      executionId,
      ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
      depth,
      machine: nameOf(snapshot),
      step,
      state,
    };
    if (command !== undefined) this.#command(place, snapshot, command);
    else if (end?.kind === 'completed') this.#report({ ...place, kind: 'completed', output: end.output });
    else if (end !== undefined) this.#report({ ...place, kind: 'failed', ...end.error });
  };

  #command(place: Place, { context }: Snapshot, command: Command): void {
    switch (command.do) {
      case 'hook':
        return this.#hook(place, context, command);
      case 'action':
        return this.#report({ ...place, kind: 'action', action: command.action });
      case 'wait':
        return this.#report({ ...place, kind: 'wait', channel: command.channel, timeoutMs: command.timeoutMs });
      case 'launch':
      case 'invoke':
        return this.#report({ ...place, kind: command.do, children: command.children });
      case 'agent':
        return this.#report({ ...place, kind: 'agent', agent: command.agent, input: command.input });
      case 'agents':
        return this.#calls(place, command.calls);
    }
  }

  #calls(place: Place, calls: readonly AgentCommand[]): void {
    const [first] = calls;
    if (first === undefined) return;
    const input = calls.map((one) => one.input);
    this.#report({ ...place, kind: 'agent', agent: first.agent, input, calls: calls.length });
  }

  #hook(place: Place, context: Snapshot['context'], command: Command & { readonly do: 'hook' }): void {
    const { executionId } = place;
    if (command.hook === 'on_state_exit') this.#report({ ...place, kind: 'exit', output: command.output });
    if (command.hook === 'on_transition') {
      this.#moving.add(executionId);
      this.#report({ ...place, kind: 'transition', to: command.to });
    }
    if (command.hook !== 'on_state_enter') return;
    const byError = place.step > 1 && !this.#moving.has(executionId);
    this.#moving.delete(executionId);
    const error = { type: String(context['last_error_type']), message: String(context['last_error']) };
    this.#report({ ...place, kind: 'enter', ...(byError ? { error } : {}) });
  }
}

/** The interpreter says it in the context, unless a machine of the first versions uses that place itself. */
function nameOf({ context }: Snapshot): string {
  const about = context['machine'];
  const name = isMap(about) ? about['machine_name'] : undefined;
  return typeof name === 'string' ? name : 'machine';
}
