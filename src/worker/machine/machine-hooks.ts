/** Hooks of machines: code beside a machine that sees every step and performs its actions. */
import type { ValueMap } from '../../flow/expression/values.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { WorkspaceReader } from '../workspace/handler-workspace.ts';

export type HookContext = Readonly<Record<string, unknown>>;

/** A run of a machine, for hooks that are around the whole of it. */
export interface HookedRun {
  readonly machine: string;
  readonly settings: ValueMap;
  readonly executionId: string;
  /** Somebody wants the run to end. */
  readonly stop: AbortSignal;
  /** Of a run that is a task: the number of its attempt, and the tries that it has used so far. A run that is tried again begins with its first try. */
  readonly attempt?: number;
  readonly tries?: number;
  /** A line for the log of the run, where it has one. */
  readonly log?: (text: string) => void;
  /** Of a run that is a task. Undefined: it leaves no files. */
  readonly files?: RunFiles;
  /**
   * Takes a signal that was sent already, and waits for none. Undefined: none was. For actions: a signal that was taken is kept with the state until
   * that is stored, so that the action is given it again after a crash. One call for each action.
   */
  readonly take?: (channel: string) => Promise<unknown>;
  /** Of a run that is a task, on a worker that makes workspaces. */
  readonly workspaces?: WorkspaceReader;
}

/** What hooks need that leave files. */
export interface RunFiles {
  /** Those of its task. Undefined: it has no place for any. */
  readonly artifacts: ArtifactReader | undefined;
  /** Takes secrets that the run has read out of a text. What it logs has none of them as it is. */
  hide(text: string): string;
  /** Calendar time. */
  now(): number;
}

/** Every method is optional, and may be async. Names of Python (`on_action`) are taken as well. */
export interface MachineHooks {
  onMachineStart?(context: HookContext): unknown;
  onMachineEnd?(context: HookContext, output: unknown): unknown;
  onStateEnter?(state: string, context: HookContext): unknown;
  onStateExit?(state: string, context: HookContext, output: unknown): unknown;
  onTransition?(from: string, to: string, context: HookContext): unknown;
  onError?(state: string, error: Error, context: HookContext): unknown;
  /** Given the action and the context; since version 4 the state comes first. The type lets a program say which of the two it takes. */
  onAction?(first: string, ...others: never[]): unknown;
  /** Once for each answer of an agent that asks for tools, before they run. */
  onToolCalls?(state: string, calls: unknown, context: HookContext): unknown;
  onToolResult?(state: string, result: unknown, context: HookContext): unknown;
  /** What runs the tools of a state. */
  getToolProvider?(state: string): unknown;
  onAgentStreamEvent?(state: string, event: unknown, context: HookContext): unknown;
  /** Around the whole run, however it ends, with the machines that it launched. `drive` runs it; what it gives or throws is to be passed on. */
  aroundRun?(run: HookedRun, drive: () => Promise<unknown>): Promise<unknown>;
}

/** Makes hooks of a name, with the arguments that the machine gives. `folder`: where paths of the machine begin. */
export type HooksFactory = (
  args: Readonly<Record<string, unknown>>,
  folder?: string,
) => MachineHooks | Promise<MachineHooks>;
