/** Hooks that every machine can name. */
import type { HooksFactory, MachineHooks } from './machine-hooks.ts';
import { type WebhookOptions, webhookHooks } from './webhook-hooks.ts';

export interface BuiltinOptions extends WebhookOptions {
  /** Where `logging` writes, and `metrics` at the end. */
  readonly onLog: (line: string) => void;
}

export function builtinHooks(options: BuiltinOptions): ReadonlyMap<string, HooksFactory> {
  // What the caller's function gives is not what a hook gives.
  const log = (line: string): void => {
    options.onLog(line);
  };
  return new Map<string, HooksFactory>([
    ['logging', () => loggingHooks(log)],
    ['metrics', () => metricsHooks(log)],
    ['webhook', (args) => webhookHooks(args, options)],
  ]);
}

/** It tells every step, and changes nothing: names only, for what a context holds may be secret. */
function loggingHooks(log: (line: string) => void): MachineHooks {
  return {
    onMachineStart: () => log('machine started'),
    onMachineEnd: () => log('machine ended'),
    onStateEnter: (state) => log(`state ${state} entered`),
    onStateExit: (state) => log(`state ${state} left`),
    onTransition: (from, to) => log(`transition ${from} -> ${to}`),
    onError: (state, error) => log(`state ${state} failed: ${error.name}: ${error.message}`),
    onToolCalls: (state, calls) => log(`state ${state} calls ${namesIn(calls).join(', ')}`),
    onToolResult: (state, result) => log(`state ${state} has the result of ${namesIn([result]).join('')}`),
  };
}

function namesIn(calls: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(calls) ? calls : [];
  return all.map((one) =>
    typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string' ? one.name : '?',
  );
}

/** It counts states, transitions and errors, and says the counts when the machine ends. */
function metricsHooks(log: (line: string) => void): MachineHooks {
  const states = new Map<string, number>();
  const transitions = new Map<string, number>();
  let errors = 0;
  const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  return {
    onStateEnter: (state) => count(states, state),
    onTransition: (from, to) => count(transitions, `${from}->${to}`),
    onError: () => void errors++,
    onMachineEnd: () =>
      log(
        `metrics ${JSON.stringify({
          state_counts: Object.fromEntries(states),
          transition_counts: Object.fromEntries(transitions),
          total_states_executed: [...states.values()].reduce((sum, n) => sum + n, 0),
          error_count: errors,
        })}`,
      ),
  };
}
