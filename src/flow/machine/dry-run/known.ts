/** What is known of a run before it runs: the values that it begins with, until an action, an agent or a machine changes them. */
import { ExpressionError } from '../../expression/expression-error.ts';
import { isList, isMap, mapOf, type Value, type ValueMap } from '../../expression/values.ts';
import { renderTemplate, type TemplateMode, templateOf } from '../../template/template.ts';
import type { Condition, State } from '../definition.ts';
import { StateError, transitionOf } from '../scopes.ts';
import { type Reference, referencesOf, referencesOfTemplate } from './references.ts';

/** A map of which some keys are known. */
export interface Known {
  readonly values: ValueMap;
  readonly unknown: ReadonlySet<string>;
  /** Whether there may be other keys, or other values of these: then only what was set since is known. */
  readonly open: boolean;
}

/** The names that templates and conditions see. One that is undefined is not known at all. */
export type KnownScope = Readonly<Record<string, Known | { readonly value: Value } | undefined>>;

/** A value with what is known of it filled in: what is not stays as it is written. */
export interface Shown {
  readonly value: Value;
  readonly known: boolean;
}

export const allKnown = (values: ValueMap): Known => ({ values, unknown: new Set(), open: false });

export const nothingKnown = (): Known => ({ values: {}, unknown: new Set(), open: true });

/** With one key set. */
export function knownWith({ values, unknown, open }: Known, key: string, shown: Shown): Known {
  const others = new Set([...unknown].filter((one) => one !== key));
  if (!shown.known) others.add(key);
  return { values: mapOf([...Object.entries(values), [key, shown.value]]), unknown: others, open };
}

export function isKnown(scope: KnownScope, [root, key]: Reference): boolean {
  if (!Object.hasOwn(scope, root)) return true;
  const found = scope[root];
  if (found === undefined) return false;
  if ('value' in found) return true;
  if (key === undefined) return !found.open && found.unknown.size === 0;
  return !found.unknown.has(key) && (!found.open || Object.hasOwn(found.values, key));
}

const valuesOf = (scope: KnownScope): ValueMap =>
  mapOf(
    Object.entries(scope).map(([name, found]) => [
      name,
      found === undefined ? null : 'value' in found ? found.value : found.values,
    ]),
  );

/** Fills in what is known. An error of a template says why it would fail. */
export function show(raw: Value, scope: KnownScope, mode: TemplateMode): Shown {
  if (isList(raw)) {
    const items = raw.map((item) => show(item, scope, mode));
    return { value: items.map(({ value }) => value), known: items.every(({ known }) => known) };
  }
  if (isMap(raw)) {
    const entries = Object.entries(raw).map(([key, item]) => [key, show(item, scope, mode)] as const);
    return {
      value: mapOf(entries.map(([key, { value }]) => [key, value])),
      known: entries.every(([, { known }]) => known),
    };
  }
  if (typeof raw !== 'string') return { value: raw ?? null, known: true };
  const template = templateOf(raw);
  if (!referencesOfTemplate(template).every((one) => isKnown(scope, one))) return { value: raw, known: false };
  return { value: renderTemplate(template, valuesOf(scope), { mode }), known: true };
}

/** Whether a condition holds; undefined if that depends on what is not known. */
export function decide(state: State, condition: Condition, scope: KnownScope, now: number): boolean | undefined {
  if (!referencesOf(condition.expression).every((one) => isKnown(scope, one))) return undefined;
  const alone = { ...state, transitions: [{ condition, to: state.name }] };
  return transitionOf(alone, valuesOf(scope), now) !== undefined;
}

/** The message of an error that a template or a condition would end with; any other error is thrown. */
export function reasonOf(error: unknown): string {
  if (error instanceof ExpressionError || error instanceof StateError) return error.message;
  throw error;
}
