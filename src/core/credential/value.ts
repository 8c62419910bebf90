import { fault } from '../errors.ts';
import { utf8Length } from '../task/payload.ts';

/** A value: a text, or an object of texts. */
export type CredentialValue =
  | { readonly value: string }
  | { readonly type: string; readonly fields: Readonly<Record<string, string>> };

export const CREDENTIAL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** Shorter values are not looked for in what a task says: they would be found everywhere. */
export const SHORTEST_HIDDEN = 8;
/** Of a value, or of all its fields together. */
export const MAX_CREDENTIAL_BYTES = 64 * 1024;
/** A value as JSON text: a control character of one byte becomes six. */
const MAX_CREDENTIAL_TEXT = 6 * MAX_CREDENTIAL_BYTES + 16 * 1024;
const MAX_FIELDS = 200;
const FIELD = /^\P{Cc}{1,200}$/u;

/** A value from its canonical JSON text: `{"value":"…"}` or `{"type":"…","fields":{…}}`. */
export function readValue(text: string): CredentialValue {
  if (utf8Length(text) > MAX_CREDENTIAL_TEXT) throw refuse('it is too long');
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    // The message of the parser quotes what it has read.
    throw refuse('it is not JSON');
  }
  const { value, type, fields } = record(given);
  if (typeof value === 'string') {
    bounded([value]);
    return { value };
  }
  if (typeof type !== 'string' || !FIELD.test(type)) throw refuse('it has neither a value nor a type');
  const entries = Object.entries(record(fields));
  if (entries.length === 0 || entries.length > MAX_FIELDS) throw refuse('it has no fields, or too many');
  for (const [name, one] of entries)
    if (!FIELD.test(name) || name === '__proto__' || typeof one !== 'string') throw refuse('a field is no named text');
  bounded(entries.map(([, one]) => one as string));
  return { type, fields: Object.fromEntries(entries) as Record<string, string> };
}

/** The texts that must not be told: of an object its fields. */
export function textsOf(value: CredentialValue): readonly string[] {
  return 'value' in value ? [value.value] : Object.values(value.fields);
}

function bounded(texts: readonly string[]): void {
  const size = texts.reduce((sum, text) => sum + utf8Length(text), 0);
  if (size === 0 || size > MAX_CREDENTIAL_BYTES) throw refuse('it is empty or too long');
}

function record(given: unknown): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>;
  throw refuse('it is not an object');
}

/** What it is must not be told. */
function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'value of the credential', problem });
}
