/** Values as they are stored. Hooks may leave anything in a context, and JSON cannot say all of it. */
import type { Stored } from './backends.ts';

/** The text of a value. What JSON cannot say becomes text, and `onOdd` is told of the field. */
export function textOf(value: Stored, onOdd: (field: string) => void = () => {}): string {
  return typeof value === 'string' ? value : jsonOf(value, onOdd);
}

/** The same for any value, in JSON. */
export function jsonOf(value: unknown, onOdd: (field: string) => void = () => {}): string {
  return isJson(value) ? JSON.stringify(value) : JSON.stringify(plainOf(value, '', onOdd));
}

/** Nearly always so, and quick to see: the way below makes a copy of everything. */
function isJson(value: unknown): boolean {
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'object' && one !== null) {
      if (!Array.isArray(one) && !isPlain(one)) return false;
      for (const part of Object.values(one)) left.push(part);
    } else if (oddOf(one) !== undefined) return false;
  }
  return true;
}

function plainOf(value: unknown, path: string, onOdd: (field: string) => void): unknown {
  if (Array.isArray(value)) return value.map((part, i) => plainOf(part, `${path}[${i}]`, onOdd));
  if (typeof value === 'object' && value !== null && isPlain(value)) {
    const parts = Object.entries(value).map(([name, part]) => [
      name,
      plainOf(part, path === '' ? name : `${path}.${name}`, onOdd),
    ]);
    return Object.fromEntries(parts) as unknown;
  }
  const odd = oddOf(value);
  if (odd === undefined) return value;
  onOdd(path);
  return odd;
}

/** The text for what is no JSON; undefined: it is. */
function oddOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'bigint':
    case 'symbol':
      return String(value);
    case 'function':
      return `[function ${value.name}]`;
    case 'number':
      return Number.isFinite(value) ? undefined : String(value);
    case 'object':
      return value === null ? undefined : objectText(value);
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined;
  }
}

function objectText(value: object): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString();
  if (value instanceof Error) return String(value);
  return Object.prototype.toString.call(value);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
