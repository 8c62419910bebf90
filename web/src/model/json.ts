/** JSON values: exact numbers, previews, pretty printing, error messages. */

import { plainText } from './ansi.ts';

/** A number that JavaScript would write in another way than it came: `12345678901234567890`, `1.10`, `1e400`. */
export class ExactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** JSON.parse, except that a number which it would change keeps its digits. */
export function parseExact(text: string): unknown {
  const keep: Reviver = (_, value, context) =>
    typeof value === 'number' && context?.source !== undefined && JSON.stringify(value) !== context.source
      ? new ExactNumber(context.source)
      : value;
  return JSON.parse(text, keep as (this: unknown, key: string, value: unknown) => unknown);
}

/** A value in one line, cut where it is long; for lists. */
export function previewOf(value: unknown, most = 140): string {
  let text = '';
  const room = (): boolean => text.length <= most;
  const write = (one: unknown): void => {
    if (!room()) return;
    if (Array.isArray(one)) {
      text += '[';
      for (const [i, item] of one.entries()) {
        if (!room()) return;
        if (i > 0) text += ', ';
        write(item);
      }
      text += ']';
    } else if (one instanceof ExactNumber) text += one.source;
    else if (typeof one === 'object' && one !== null) {
      text += '{';
      for (const [i, [key, item]] of Object.entries(one).entries()) {
        if (!room()) return;
        text += `${i > 0 ? ', ' : ''}${key}: `;
        write(item);
      }
      text += '}';
    } else if (typeof one === 'string') text += JSON.stringify(one.length > most ? one.slice(0, most + 1) : one);
    else text += String(one);
  };
  write(value);
  return room() ? text : `${text.slice(0, most)}…`;
}

/** A value with indentation, exact numbers as they came. */
export function prettyJson(value: unknown, indent = ''): string {
  const deeper = `${indent}  `;
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value)) {
    return value.length === 0
      ? '[]'
      : `[\n${value.map((one) => deeper + prettyJson(one, deeper)).join(',\n')}\n${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return '{}';
    return `{\n${entries.map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${prettyJson(one, deeper)}`).join(',\n')}\n${indent}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** The message of an error, without terminal colours. Most errors are objects with a message. */
export function messageOf(error: unknown): string {
  return plainText(rawMessage(error));
}

const withWord = (word: string, message: string): string =>
  word === '' || message.includes(word) ? message : `${word}: ${message}`;

function rawMessage(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message, code, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    message?: unknown;
    code?: unknown;
    name?: unknown;
  };
  if (typeof message === 'string')
    return withWord(
      typeof code === 'string' ? code : typeof name === 'string' && name !== 'Error' ? name : '',
      message,
    );
  return error === undefined ? '' : previewOf(error);
}
