import { fault } from '../../core/errors.ts';
import type { HookCommand, HookName } from '../../flow/machine/commands.ts';
import type { HookContext, HookedRun, MachineHooks } from './machine-hooks.ts';

/** The calls that a driver makes beside those that the interpreter asks for. */
type DriverHookName =
  | 'on_action'
  | 'on_tool_calls'
  | 'on_tool_result'
  | 'get_tool_provider'
  | 'on_agent_stream_event'
  | 'around_run';

type HookMethod = (given: readonly unknown[]) => unknown;

/** Whose hooks a machine has. */
export interface HookSets {
  /** Of the whole machine: they hear everything, except in states that have their own. */
  readonly machine: readonly MachineHooks[];
  /** `lifecycle_hooks`: they hear the start and the end, and an action that nobody else hears. */
  readonly lifecycle?: readonly MachineHooks[];
  /** By the name of the state. They stand in for those of the machine, so that no action runs twice. */
  readonly states?: ReadonlyMap<string, readonly MachineHooks[]>;
}

/** Several hooks as one: they run in order, and each sees what the one before it gave. */
export class HookChain {
  readonly #machine: readonly MachineHooks[];
  readonly #lifecycle: readonly MachineHooks[];
  readonly #states: ReadonlyMap<string, readonly MachineHooks[]>;
  readonly #stateFirst: boolean;
  readonly #onUnheard: ((state: string, action: string) => void) | undefined;

  /**
   * `specVersion`: from 4 on an action comes with its state. `onUnheard` is told of an action for which there is no hook, and the context
   * stays as it is; without it, such an action is an error.
   */
  constructor(
    hooks: readonly MachineHooks[] | HookSets,
    specVersion: string,
    onUnheard?: (state: string, action: string) => void,
  ) {
    const sets: HookSets = 'machine' in hooks ? hooks : { machine: hooks };
    this.#machine = sets.machine;
    this.#lifecycle = sets.lifecycle ?? [];
    this.#states = sets.states ?? new Map();
    this.#stateFirst = Number.parseInt(specVersion, 10) >= 4;
    this.#onUnheard = onUnheard;
  }

  /** Whether anybody hears this call, within a state or, without one, of the machine. */
  has(hook: HookName | DriverHookName, state?: string): boolean {
    return this.#hearing(hook, state).length > 0;
  }

  /** Runs a machine within the hooks that are around whole runs; the first is the outermost. */
  around(run: HookedRun, drive: () => Promise<unknown>): Promise<unknown> {
    const calls = this.#hearing('around_run', undefined);
    return calls.reduceRight<() => Promise<unknown>>((inner, call) => async () => call([run, inner]), drive)();
  }

  /** What the hooks make of a step. They are given a context of their own, which they may write to. One that gives nothing is taken to have done that. */
  async call(command: HookCommand): Promise<unknown> {
    switch (command.hook) {
      case 'on_machine_start':
        return this.#fold(command.hook, undefined, { ...command.context }, (context) => [context]);
      case 'on_machine_end':
        return this.#fold(command.hook, undefined, command.output, (output) => [command.context, output]);
      case 'on_state_enter':
        return this.#fold(command.hook, command.state, { ...command.context }, (context) => [command.state, context]);
      case 'on_state_exit':
        return this.#fold(command.hook, command.state, command.output, (output) => [
          command.state,
          command.context,
          output,
        ]);
      case 'on_transition':
        return this.#fold(command.hook, command.from, command.to, (to) => [command.from, to, command.context]);
      case 'on_error':
        return this.#recover(command);
    }
  }

  /** `same`: the hooks gave back the context itself, which they may have changed: it is the new one, and nothing is to be merged. */
  async act(
    state: string,
    action: string,
    context: HookContext,
  ): Promise<{ readonly value: unknown; readonly same: boolean }> {
    if (!this.has('on_action', state)) {
      this.#unheard(state, action);
      return { value: context, same: true };
    }
    const own = { ...context };
    const value = await this.#fold('on_action', state, own, (given) =>
      this.#stateFirst ? [state, action, given] : [action, given],
    );
    return { value, same: value === own };
  }

  /** The context after the hooks have seen what an agent asks for. */
  async toolCalls(state: string, calls: unknown, context: HookContext): Promise<HookContext> {
    return this.#toContext('on_tool_calls', state, context, (given) => [state, calls, given]);
  }

  /** The context after the hooks have seen what a tool gave. */
  async toolResult(state: string, result: unknown, context: HookContext): Promise<HookContext> {
    return this.#toContext('on_tool_result', state, context, (given) => [state, result, given]);
  }

  /** What runs the tools of a state: the first that anybody has. Undefined if nobody has one. */
  async toolProvider(state: string): Promise<unknown> {
    for (const call of this.#hearing('get_tool_provider', state)) {
      const provider: unknown = await call([state]);
      if (provider !== undefined && provider !== null) return provider;
    }
    return undefined;
  }

  /** Everybody hears it, and nobody changes anything by it. */
  async streamEvent(state: string, event: unknown, context: HookContext): Promise<void> {
    for (const call of this.#hearing('on_agent_stream_event', state)) await call([state, event, context]);
  }

  #unheard(state: string, action: string): void {
    if (this.#onUnheard !== undefined) this.#onUnheard(state, action);
    else {
      throw fault(
        'NOT_FOUND',
        { kind: 'hook', id: `for the action ${action}` },
        { hint: 'Give the machine hooks with onAction.' },
      );
    }
  }

  #hearing(hook: HookName | DriverHookName, state: string | undefined): readonly HookMethod[] {
    if (state === undefined) return callsOf([...this.#machine, ...this.#lifecycle], hook);
    const own = callsOf(this.#states.get(state) ?? this.#machine, hook);
    return own.length === 0 && hook === 'on_action' ? callsOf(this.#lifecycle, hook) : own;
  }

  async #toContext(
    hook: DriverHookName,
    state: string,
    context: HookContext,
    given: (value: unknown) => readonly unknown[],
  ): Promise<HookContext> {
    const value = await this.#fold(hook, state, { ...context }, given);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as HookContext) : context;
  }

  async #fold(
    hook: HookName | DriverHookName,
    state: string | undefined,
    first: unknown,
    given: (value: unknown) => readonly unknown[],
  ): Promise<unknown> {
    let value = first;
    for (const call of this.#hearing(hook, state)) {
      const answer: unknown = await call(given(value));
      if (answer !== undefined) value = answer;
    }
    return value;
  }

  /** The first that names a state decides. */
  async #recover({ state, type, message, context }: HookCommand & { readonly hook: 'on_error' }): Promise<unknown> {
    const error = Object.assign(new Error(message), { name: type });
    for (const call of this.#hearing('on_error', state)) {
      const to: unknown = await call([state, error, context]);
      if (to !== undefined && to !== null) return to;
    }
    return null;
  }
}

/** Worked out once: a driver asks at every step. */
const METHOD_NAMES = new Map(
  [
    'on_machine_start',
    'on_machine_end',
    'on_state_enter',
    'on_state_exit',
    'on_transition',
    'on_error',
    'on_action',
    'on_tool_calls',
    'on_tool_result',
    'get_tool_provider',
    'on_agent_stream_event',
    'around_run',
  ].map((name) => [name, name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]),
);

function callsOf(hooks: readonly MachineHooks[], hook: HookName | DriverHookName): readonly HookMethod[] {
  if (hooks.length === 0) return NOBODY;
  const camel = METHOD_NAMES.get(hook) as string;
  return hooks.flatMap((one) => {
    const methods = one as unknown as Readonly<Record<string, unknown>>;
    const method = methods[camel] ?? methods[hook];
    return typeof method === 'function' ? [(given) => method.apply(one, given) as unknown] : [];
  });
}

const NOBODY: readonly HookMethod[] = [];
