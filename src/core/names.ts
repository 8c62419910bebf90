import { fault } from './errors.ts';

interface NameRule {
  readonly pattern: RegExp;
  readonly text: string;
}

// ASCII only, so a name has one spelling: no normal forms, no look-alikes, nothing to escape in a path or a label.
const PLAIN: NameRule = {
  pattern: /^[a-z0-9][a-z0-9._-]{0,62}$/,
  text: '1 to 63 of a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit',
};
const HANDLER: NameRule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,62}$/,
  text: '1 to 63 of A-Z, a-z, 0-9, ".", "_", ":", "@", "/" and "-", beginning with a letter or a digit',
};

/** Programs that register workers by hand make names such as host:123:run. */
const WORKER_ID: NameRule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,126}$/,
  text: '1 to 127 letters, digits, ".", "_", ":", "@" and "-", beginning with a letter or a digit',
};

export const MAX_KEY_LENGTH = 255;

/** A name of a queue, handler, worker or schedule; handlers may also have capitals, "@", colons and slashes. */
export function checkName(kind: string, name: unknown): string {
  const rule = kind === 'handler' ? HANDLER : PLAIN;
  if (typeof name === 'string' && rule.pattern.test(name)) return name;
  throw fault('INVALID_INPUT', { field: `${kind} name`, problem: `${describe(name)} is not ${rule.text}` });
}

/**
 * The name of any worker. Programs that register workers themselves may use longer names, with more characters, than `checkName` allows.
 */
export function checkWorkerId(field: string, name: unknown): string {
  if (typeof name === 'string' && WORKER_ID.pattern.test(name)) return name;
  throw fault('INVALID_INPUT', { field, problem: `${describe(name)} is not ${WORKER_ID.text}` });
}

/** A unique key or an operation id: any text of 1 to 255 UTF-16 units that every store keeps unchanged. */
export function checkKey(kind: string, text: unknown): string {
  if (typeof text !== 'string') throw refuseKey(kind, 'it must be a text');
  if (text.length === 0) throw refuseKey(kind, 'it is empty');
  if (text.length > MAX_KEY_LENGTH) throw refuseKey(kind, `it is longer than ${MAX_KEY_LENGTH} characters`);
  if (/\p{Cc}/u.test(text)) throw refuseKey(kind, 'it contains a control character');
  if (!text.isWellFormed()) throw refuseKey(kind, 'it contains half of a surrogate pair');
  return text;
}

function refuseKey(kind: string, problem: string): Error {
  return fault('INVALID_INPUT', { field: kind, problem });
}

function describe(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : `a value of type ${typeof value}`;
}
