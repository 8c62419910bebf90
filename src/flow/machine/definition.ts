/** A machine as the interpreter runs it: every field read, every template and condition parsed. */
import type { Amount } from '../../core/limits/budget.ts';
import type { Expression } from '../expression/ast.ts';
import type { Value, ValueMap } from '../expression/values.ts';
import type { TemplateMode } from '../template/template.ts';
import type { ValueTemplate } from '../template/value-template.ts';

export interface Machine {
  readonly name: string;
  /** As the file says it: `0.8.3`. */
  readonly specVersion: string;
  readonly templateMode: TemplateMode;
  readonly context: Entries;
  readonly states: ReadonlyMap<string, State>;
  readonly initial: string;
  readonly maxSteps: number;
  readonly maxDepth: number;
  /** Undefined: as many as it makes. */
  readonly maxAgentCalls: number | undefined;
  /** Ours: how many items of a list its agents are asked for at once. */
  readonly maxParallel: number;
  /** What is done with calls that cannot be made side by side. */
  readonly parallelFallback: 'sequential' | 'error';
  readonly settings: ValueMap;
  /** As they are in the file, by name: the driver resolves them. */
  readonly agents: ValueMap;
  readonly machines: ValueMap;
  /** Of its agents: the path of a file, or a catalogue. */
  readonly profiles: Value;
  readonly persistence: ValueMap;
  readonly hooks: readonly HookReference[];
  /** Since 4.x: they hear the start and the end of the machine. */
  readonly lifecycleHooks: readonly HookReference[];
  readonly metadata: ValueMap;
}

/** In the order of the file: a later one sees what an earlier one has set. */
export type Entries = readonly (readonly [name: string, value: ValueTemplate])[];

export interface State {
  readonly name: string;
  readonly final: boolean;
  readonly waitFor: ValueTemplate | undefined;
  readonly action: string | undefined;
  readonly launch: readonly string[];
  readonly launchInput: ValueTemplate;
  readonly machines: readonly Invoked[];
  /** Whether `machine` is a list: then the result is a map by name, also for a list of one. */
  readonly several: boolean;
  readonly agent: string | undefined;
  readonly execution: ValueMap | undefined;
  readonly toolLoop: ValueTemplate | undefined;
  /** Calls of agents with the same one go on with one conversation. */
  readonly sessionId: ValueTemplate | undefined;
  readonly foreach: ValueTemplate | undefined;
  readonly as: string;
  readonly key: ValueTemplate | undefined;
  readonly mode: 'settled' | 'any';
  /** Ours: what a call of its agent may cost at most. */
  readonly draw: readonly Amount[];
  /** Ours: what becomes of the others when one has won. */
  readonly losers: 'cancel' | 'keep';
  /** Ours: `settled` gives the error of a child as its result, unless this says otherwise. */
  readonly onChildError: 'collect' | 'fail';
  /** Seconds; 0: never. */
  readonly timeout: ValueTemplate | undefined;
  readonly input: ValueTemplate;
  readonly outputToContext: Entries;
  /** Of a final state. Undefined: what the state itself has given. */
  readonly output: ValueTemplate | undefined;
  /** By the type of an error; `default` for any other. */
  readonly onError: ReadonlyMap<string, string>;
  readonly transitions: readonly Transition[];
  readonly hooks: readonly HookReference[];
}

export interface Invoked {
  readonly name: string;
  /** Besides the input of the state, and before it. */
  readonly input: ValueTemplate | undefined;
}

export interface Transition {
  /** Undefined: always. */
  readonly condition: Condition | undefined;
  readonly to: string;
}

export interface Condition {
  readonly engine: 'simple' | 'cel';
  readonly source: string;
  readonly expression: Expression;
}

/** By name, or by file or module and class, as the first versions had it. */
export interface HookReference {
  readonly name: string | undefined;
  readonly file: string | undefined;
  readonly module: string | undefined;
  readonly class: string | undefined;
  readonly args: ValueMap;
  /** Of those with `{{ }}`, which see the input of the run. */
  readonly argTemplates?: ValueTemplate;
}
