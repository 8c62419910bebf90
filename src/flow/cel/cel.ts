/** Conditions in CEL, the Common Expression Language. */
import type { Expression } from '../expression/ast.ts';
import { type Bounds, Budget, CONDITION_BOUNDS } from '../expression/budget.ts';
import { evaluate } from '../expression/evaluate.ts';
import { scopeOf } from '../expression/scope.ts';
import { isList, mapOf, type Value, type ValueMap } from '../expression/values.ts';
import { celLibrary } from './functions.ts';
import { celSemantics } from './operators.ts';
import { durationText, timestampText } from './times.ts';
import { Bytes, celOf, Duration, isCelMap, Timestamp, TypeName, Uint } from './values.ts';

export interface CelOptions {
  readonly bounds?: Bounds;
  /** Of the name `now`, in milliseconds. */
  readonly now?: number;
}

/** The value of a parsed CEL expression, as JSON says it. */
export function evaluateCel(
  expression: Expression,
  values: ValueMap,
  { bounds = CONDITION_BOUNDS, now }: CelOptions = {},
): Value {
  const budget = new Budget(bounds);
  const names = mapOf([
    ...TYPES,
    ...(now === undefined ? [] : [['now', new Timestamp(BigInt(now) * 1_000_000n)] as const]),
    ...Object.entries(values).map(([name, value]) => [name, celOf(value)] as const),
  ]);
  const value = evaluate(expression, {
    scope: scopeOf(names),
    budget,
    library: celLibrary,
    semantics: celSemantics,
    lenient: false,
  });
  return jsonOf(value, budget, expression.at);
}

const TYPES = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type'].map(
  (name) => [name, new TypeName(name)] as const,
);

/** Whole numbers beyond what a double holds exactly are texts, as in the JSON of protocol buffers. */
function jsonOf(value: Value, budget: Budget, at: number): Value {
  budget.step(at);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Uint) return jsonOf(value.value, budget, at);
  if (value instanceof Bytes) return btoa(Array.from(value.bytes, (byte) => String.fromCharCode(byte)).join(''));
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeName) return value.name;
  if (isList(value)) return value.map((item) => jsonOf(item, budget, at));
  if (isCelMap(value)) return mapOf(Object.entries(value).map(([key, item]) => [key, jsonOf(item, budget, at)]));
  return value ?? null;
}
