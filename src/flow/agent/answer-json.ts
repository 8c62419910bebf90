import type { Value } from '../expression/values.ts';

/** The value of a text that is JSON. Undefined: it is none. */
export function jsonIn(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

/** The JSON that a model has written: alone, in a fence, or with words around it. Undefined if there is none. */
export function jsonInAnswer(text: string): Value {
  const trimmed = text.trim();
  const fenced = /```(?:json|JSON)?[ \t]*\r?\n([\s\S]*?)\r?\n?```/.exec(trimmed)?.[1];
  const [from, to] = [trimmed.indexOf('{'), trimmed.lastIndexOf('}')];
  const candidates = [trimmed, fenced, from >= 0 && to > from ? trimmed.slice(from, to + 1) : undefined];
  for (const candidate of candidates) {
    const value = candidate === undefined ? undefined : jsonIn(candidate);
    if (value !== undefined) return value;
  }
  return undefined;
}
