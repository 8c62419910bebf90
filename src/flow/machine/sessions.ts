import type { Value, ValueMap } from '../expression/values.ts';
import type { Machine, State } from './definition.ts';
import { renderField } from './scopes.ts';

/** The conversation that a state has with its agent. */
export interface SessionPlace {
  /** `session_id` of the state. */
  readonly name: string | undefined;
  /** Where the snapshot keeps by what the agent goes on. The sign keeps names of agents and sessions apart, and from names of JavaScript. */
  readonly key: string;
}

export function sessionPlace(machine: Machine, { agent = '', sessionId }: State, names: ValueMap): SessionPlace {
  const name = sessionId === undefined ? undefined : named(renderField(machine, 'session_id', sessionId, names));
  return { name, key: `${agent}#${name ?? ''}` };
}

/** An empty name is none. */
function named(value: Value): string | undefined {
  const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
  return text === '' ? undefined : text;
}
