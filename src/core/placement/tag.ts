import { fault } from '../errors.ts';

/**
 * A tag is a string that a worker carries: `gpu`, or with a value `gpu=nvidia`, `memory_gb=32`. A credential that it holds is the tag
 * `credential:NAME`. A test is what a task asks of the tags: `gpu` (with or without a value), `gpu=nvidia`, `gpu!=amd`, `memory_gb>=16`.
 */
export interface Tag {
  readonly key: string;
  readonly value: string | undefined;
}

export interface TagTest {
  readonly key: string;
  /** Undefined: only the key is asked for. */
  readonly op: TagOp | undefined;
  readonly value: string;
}

type TagOp = '=' | '!=' | '>=' | '<=' | '>' | '<';

export const CREDENTIAL = 'credential:';
const MAX_LENGTH = 200;
const KEY = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;
const VALUE = /^[^\p{Cc}<>=!]+$/u;
const TEST = /^([^<>=!]+)(>=|<=|!=|=|>|<)(.*)$/su;

/** Any text of a worker is a tag: without a "=" it is all key. */
export function readTag(text: string): Tag {
  const at = text.indexOf('=');
  return at < 0 ? { key: text, value: undefined } : { key: text.slice(0, at), value: text.slice(at + 1) };
}

export function parseTest(field: string, text: unknown): TagTest {
  if (typeof text !== 'string' || text.length > MAX_LENGTH || !text.isWellFormed()) {
    throw refuse(field, text, `it must be a text of at most ${MAX_LENGTH} characters`);
  }
  const [, key = text, op, value = ''] = TEST.exec(text) ?? [];
  if (!KEY.test(key)) {
    throw refuse(
      field,
      text,
      'its name has only A-Z, a-z, 0-9, ".", "_", ":", "/" and "-", and begins with a letter or a digit',
    );
  }
  if (op !== undefined && !VALUE.test(value))
    throw refuse(field, text, 'its value is empty, or has <, >, =, ! or a control character in it');
  if (op !== undefined && isOrder(op as TagOp) && !isNumber(value)) throw refuse(field, text, `${op} compares numbers`);
  return { key, op: op as TagOp | undefined, value };
}

/**
 * Whether these tags pass the test. A tag may come several times with different values: one that fits is enough. `!=` passes if the tag is
 * there and never has that value.
 */
export function passes(test: TagTest, tags: readonly Tag[]): boolean {
  const own = tags.filter(({ key }) => key === test.key);
  if (test.op === undefined) return own.length > 0;
  if (test.op === '!=') return own.length > 0 && own.every(({ value }) => value !== test.value);
  return own.some(({ value }) => value !== undefined && fits(test.op as TagOp, value, test.value));
}

function fits(op: TagOp, has: string, wanted: string): boolean {
  if (op === '=') return has === wanted;
  if (!isNumber(has)) return false;
  const [a, b] = [Number(has), Number(wanted)];
  if (op === '>=') return a >= b;
  if (op === '<=') return a <= b;
  return op === '>' ? a > b : a < b;
}

const isOrder = (op: TagOp): boolean => op !== '=' && op !== '!=';
const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text);

function refuse(field: string, text: unknown, problem: string): Error {
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 80)) : `a value of type ${typeof text}`;
  return fault('INVALID_INPUT', { field, problem: `${shown} is not a test of tags: ${problem}` });
}
