import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import type { AgentAnswer } from '../../flow/machine/commands.ts';
import type { TurnThen } from '../../protocol/link.ts';

/** What a task of this handler gives. */
export interface AgentRunResult {
  /** The answer, unless fields of it were asked for. */
  readonly text: string | null;
  readonly output?: ValueMap;
  /** `complete`, or what stopped it before it said that it was done. */
  readonly stop: string;
  readonly iterations: number;
  readonly tool_calls: number;
  /** By which another task goes on with this conversation. */
  readonly session?: string;
  readonly usage: { readonly tokens: number; readonly cost: number; readonly calls: number; readonly ms: number };
  readonly about?: ValueMap;
}

export interface Counts {
  readonly iterations: number;
  readonly toolCalls: number;
}

const STOPS: ReadonlyMap<Value, string> = new Map([['max_turns', 'max_iterations']]);

/** The answer of the agent, as the result of the task. */
export function resultOf(answer: AgentAnswer, counts: Counts): AgentRunResult {
  const { output = {}, content, sessionId, about, tokens = 0, cost = 0, apiCalls = 0, ms = 0 } = answer;
  const stop = output['_tool_loop_stop'] ?? 'complete';
  const own = Object.fromEntries(Object.entries(output).filter(([name]) => !name.startsWith('_tool_')));
  const text = typeof own['content'] === 'string' ? own['content'] : (content ?? null);
  const fields = Object.keys(own).some((name) => name !== 'content');
  const number = (name: string, other: number): number => {
    const value = output[name] ?? about?.[name.replace(/^_tool_(loop_)?/, '').replace('calls_count', 'tool_calls')];
    return typeof value === 'number' ? value : other;
  };
  return {
    text,
    ...(fields ? { output: own } : {}),
    stop: STOPS.get(stop) ?? (typeof stop === 'string' ? stop : 'complete'),
    iterations: number('_tool_loop_turns', number('_tool_iterations', counts.iterations)),
    tool_calls: number('_tool_calls_count', counts.toolCalls),
    ...(sessionId === undefined ? {} : { session: sessionId }),
    usage: { tokens, cost, calls: apiCalls, ms },
    ...(about === undefined || Object.keys(about).length === 0 ? {} : { about }),
  };
}

/** The end of the task, from that of its machine. */
export function endOf(result: unknown, { fails, most }: { readonly fails: boolean; readonly most: number }): TurnThen {
  const answer = isMap(result) ? result['answer'] : undefined;
  if (!fails || !isMap(answer) || answer['stop'] !== 'max_iterations')
    return { go: 'complete', result: answer ?? null };
  const said = typeof answer['text'] === 'string' ? `: it said last: ${answer['text'].slice(0, 500)}` : '';
  const message = `the agent was not done after max_iterations ${most}${said}`;
  return { go: 'fail', error: { name: 'MAX_ITERATIONS', message }, giveUp: true };
}
