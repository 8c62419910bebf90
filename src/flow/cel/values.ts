/**
 * Values of CEL: whole numbers are bigints and doubles are numbers, so that `7 / 2` is 3 and `7.0 / 2.0` is 3.5. A number of JSON
 * that is whole is a whole number. Lists and maps stay as JSON has them; what is taken out of them is converted then.
 */
import { ExpressionError } from '../expression/expression-error.ts';
import { isList, isMap as isObject, kindOf, type Value, type ValueMap } from '../expression/values.ts';

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Bytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const OWN = [Uint, Bytes, Timestamp, Duration, TypeName] as const;

export function isCelMap(value: Value): value is ValueMap {
  return isObject(value) && !OWN.some((own) => value instanceof own);
}

export function celOf(value: Value): Value {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

const MOST = 2n ** 63n - 1n;
const LEAST = -(2n ** 63n);

export function int(value: bigint, at: number): bigint {
  if (value < LEAST || value > MOST) throw new ExpressionError('this is too large for a whole number', at);
  return value;
}

export function uint(value: bigint, at: number): Uint {
  if (value < 0n || value >= 2n ** 64n) throw new ExpressionError('this is no unsigned number', at);
  return new Uint(value);
}

export type CelNumber = bigint | number | Uint;

export const isNumber = (value: Value): value is CelNumber =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;

/** A whole number as such; a double as it is. */
export const plain = (value: CelNumber): bigint | number => (value instanceof Uint ? value.value : value);

export function typeOf(value: Value): string {
  if (value === null || value === undefined) return 'null_type';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (isList(value)) return 'list';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Bytes) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  return value instanceof TypeName ? 'type' : 'map';
}

/** What a message calls a value. */
export function celKind(value: Value): string {
  const names: Readonly<Record<string, string>> = {
    int: 'a whole number',
    uint: 'an unsigned number',
    double: 'a number',
    bytes: 'bytes',
    type: 'a type',
    'google.protobuf.Timestamp': 'a time',
    'google.protobuf.Duration': 'a duration',
  };
  return names[typeOf(value)] ?? kindOf(value);
}
