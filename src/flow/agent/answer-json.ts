import type { Value } from '../expression/values.ts';

/** The JSON that a model has written: alone, in a fence, or with words around it. Undefined if there is none. */
export function jsonInAnswer(text: string): Value {
  const trimmed = text.trim();
  const fenced = /```(?:json|JSON)?[ \t]*\r?\n([\s\S]*?)\r?\n?```/.exec(trimmed)?.[1];
  const [from, to] = [trimmed.indexOf('{'), trimmed.lastIndexOf('}')];
  const candidates = [trimmed, fenced, from >= 0 && to > from ? trimmed.slice(from, to + 1) : undefined];
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    try {
      return JSON.parse(candidate) as Value;
    } catch {
      // The next one may be it.
    }
  }
  return undefined;
}
