import type { MachineStep } from '../../app/machines.ts';
import type { Paint } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { clip } from '../display/width.ts';

export interface RunProgressOptions {
  readonly write: (line: string) => void;
  readonly paint: Paint;
  readonly columns: number;
  /** Also inputs, outputs and transitions. */
  readonly verbose: boolean;
}

/** Longer ones are in the output, or in the log of whoever made them. */
const MOST_JSON = 400;

/** One line for each state that is entered and each thing that it does. Machines within others are indented, and each line begins with their name. */
export class RunProgress {
  readonly #options: RunProgressOptions;
  readonly #labels = new Map<string, string>();
  readonly #named = new Map<string, number>();
  #states = 0;

  constructor(options: RunProgressOptions) {
    this.#options = options;
  }

  /** States that were entered, also by machines within. */
  get states(): number {
    return this.#states;
  }

  readonly show = (step: MachineStep): void => {
    const { paint, verbose } = this.#options;
    switch (step.kind) {
      case 'enter':
        this.#states += 1;
        if (step.error !== undefined) this.#does(step, `! ${step.error.type}: ${step.error.message}`, 'yellow');
        return this.#line(step, `${String(step.step).padStart(2)} `, paint('bold', safeLine(step.state)));
      case 'action':
        return this.#does(step, `action ${step.action}`);
      case 'agent':
        this.#does(step, `agent ${step.agent}${step.calls === undefined ? '' : ` ×${step.calls}`}`);
        return verbose ? this.#does(step, `input ${jsonOf(step.input)}`) : undefined;
      case 'launch':
        return this.#children(step, 'launch', step.children);
      case 'invoke':
        return this.#children(step, 'machine', step.children);
      case 'wait': {
        const most = step.timeoutMs === undefined ? '' : ` (at most ${step.timeoutMs / 1000} s)`;
        return this.#does(step, `waits for signal ${step.channel}${most}`, 'cyan');
      }
      case 'exit':
        return verbose && step.output !== null ? this.#does(step, `= ${jsonOf(step.output)}`) : undefined;
      case 'transition':
        return verbose ? this.#does(step, `→ ${step.to}`) : undefined;
      case 'completed':
        return verbose && step.depth > 0 ? this.#does(step, `completed ${jsonOf(step.output)}`, 'green') : undefined;
      case 'failed':
        return step.depth > 0 ? this.#does(step, `failed: ${step.type}: ${step.message}`, 'red') : undefined;
    }
  };

  #children(step: MachineStep, verb: string, children: readonly { machine: string; input: unknown }[]): void {
    const counts = new Map<string, number>();
    for (const { machine } of children) counts.set(machine, (counts.get(machine) ?? 0) + 1);
    const names = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
    this.#does(step, `${verb} ${names.join(', ')}`);
    if (!this.#options.verbose) return;
    for (const { machine, input } of children) this.#does(step, `${machine} with ${jsonOf(input)}`);
  }

  #does(step: MachineStep, text: string, colour: 'dim' | 'yellow' | 'cyan' | 'green' | 'red' = 'dim'): void {
    const line = safeLine(text);
    this.#line(step, '   ', this.#options.paint(colour, clip(line, Math.max(20, this.#options.columns - 12))));
  }

  #line({ executionId, depth, machine }: MachineStep, number: string, text: string): void {
    const label = depth === 0 ? '' : `${this.#labelOf(executionId, machine)} `;
    this.#options.write(
      `${'   '.repeat(depth)}${this.#options.paint('dim', `${safeLine(label)}${label && ' '}${number}`)}${text}`,
    );
  }

  /** `shipper`, `shipper#2`: runs of one machine are told apart. */
  #labelOf(executionId: string, machine: string): string {
    const known = this.#labels.get(executionId);
    if (known !== undefined) return known;
    const count = (this.#named.get(machine) ?? 0) + 1;
    this.#named.set(machine, count);
    const label = count === 1 ? machine : `${machine}#${count}`;
    this.#labels.set(executionId, label);
    return label;
  }
}

function jsonOf(value: unknown): string {
  const text = safeJson(value);
  return text.length > MOST_JSON ? `${text.slice(0, MOST_JSON)}…` : text;
}
