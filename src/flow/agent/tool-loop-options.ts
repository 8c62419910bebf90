/** The bounds of a tool loop: `tool_loop` of a state. */
import { isList, isMap, numberIn, type Value, type ValueMap } from '../expression/values.ts';
import { StateError } from '../machine/scopes.ts';

/** What is done with a tool call that a crash has interrupted. */
export type ReplayPolicy =
  /** It has no effect, or the same one under the same key: run it again. */
  | 'repeat'
  /** It must not happen twice: the state fails with `StepUncertain`. */
  | 'exact'
  /** Run it again, and tell it so. */
  | 'relaunch';

export interface ToolLoopOptions {
  /** 0 in any of these: without a bound. */
  readonly maxToolCalls: number;
  readonly maxTurns: number;
  readonly toolTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxCost: number;
  /** Empty: all. */
  readonly allowed: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
  /** Ours: by the name of the tool. */
  readonly policies: ReadonlyMap<string, ReplayPolicy>;
  /** Ours: of a call that was cut off and must not happen twice: the state fails, or a person is asked. */
  readonly uncertain: 'fail' | 'ask';
  /** Ours: what an "exact" tool gave is the answer to every later call with the same arguments. */
  readonly once: boolean;
}

/** Version 4 took away the defaults: a loop without bounds has none. */
const DEFAULTS = { max_tool_calls: 50, max_turns: 20, tool_timeout: 30, total_timeout: 600 } as const;

/** Throws a `StateError` for what is no bound. The templates in it are rendered by now. */
export function readToolLoop(value: Value, specVersion: string, settings: ValueMap = {}): ToolLoopOptions {
  const options = isMap(value) ? value : {};
  const unbounded = Number.parseInt(specVersion, 10) >= 4;
  const bound = (name: keyof typeof DEFAULTS | 'max_cost'): number => {
    const given = options[name] ?? undefined;
    if (given === undefined) return name === 'max_cost' || unbounded ? 0 : DEFAULTS[name];
    const number = typeof given === 'string' ? numberIn(given) : given;
    if (typeof number === 'number' && Number.isFinite(number)) return Math.max(0, number);
    throw wrong(name, `expected a number, found ${JSON.stringify(given)}`);
  };
  return {
    maxToolCalls: bound('max_tool_calls'),
    maxTurns: bound('max_turns'),
    toolTimeoutMs: bound('tool_timeout') * 1000,
    totalTimeoutMs: bound('total_timeout') * 1000,
    maxCost: bound('max_cost'),
    allowed: namesOf(options, 'allowed_tools'),
    denied: namesOf(options, 'denied_tools'),
    policies: new Map([...policiesOf(settings['tool_policies']), ...policiesOf(options['policies'])]),
    uncertain: options['uncertain'] === 'ask' ? 'ask' : 'fail',
    once: options['once'] === true,
  };
}

function namesOf(options: ValueMap, name: string): ReadonlySet<string> {
  const value = options[name] ?? [];
  const names = typeof value === 'string' ? [value] : value;
  if (isList(names) && names.every((one) => typeof one === 'string')) return new Set(names as readonly string[]);
  throw wrong(name, 'expected a list of names');
}

function policiesOf(value: Value): readonly (readonly [string, ReplayPolicy])[] {
  if (!isMap(value)) return [];
  return Object.entries(value).map(([tool, word]) => {
    const policy = replayPolicyOf(word);
    if (policy !== undefined) return [tool, policy];
    throw wrong(`policies.${tool}`, 'expected repeat, exact or relaunch');
  });
}

/** Our words, and those of the ledger that this was learned from. */
export function replayPolicyOf(word: Value): ReplayPolicy | undefined {
  switch (typeof word === 'string' ? word.toLowerCase() : '') {
    case 'repeat':
    case 'replay_idempotent':
    case 'idempotent':
      return 'repeat';
    case 'exact':
    case 'replay_exact':
      return 'exact';
    case 'relaunch':
      return 'relaunch';
    default:
      return undefined;
  }
}

const wrong = (name: string, problem: string): StateError =>
  new StateError('ValidationError', `tool_loop.${name}: ${problem}`);
