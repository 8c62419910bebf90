import { fault } from '../errors.ts';
import { checkKey } from '../names.ts';
import { utf8Length } from '../task/payload.ts';

/** What a caller calls a run: the root task of a tree. */
export interface RunTitle {
  /** Unique among the runs that are kept: the same name means the same run. */
  readonly name?: string | undefined;
  /** A short word: `machine`, `task`, `agent`, `workflow`. */
  readonly kind: string;
  /** What a person calls it. */
  readonly title: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** A text that runs are made from, by the SHA-256 of it in hex. */
export interface Definition {
  readonly hash: string;
  readonly kind: string;
  readonly body: string;
}

export const MAX_DEFINITION_BYTES = 4 * 1_048_576;
const MAX_LABELS = 32;
const MAX_LABEL_KEY = 63;
const MAX_NOTE = 1000;
const KIND = /^[a-z][a-z0-9-]{0,31}$/;
const HASH = /^[0-9a-f]{64}$/;

/** A name of 1 to 255 characters, none of them a control character. */
export function checkRunName(name: unknown): string {
  return checkKey('run name', name);
}

/** In an address these two stand for folders: nobody could ask for the run. */
function checkNewName(name: unknown): string {
  if (name === '.' || name === '..') throw refuse('run name', 'it stands for a folder in every address');
  return checkRunName(name);
}

export function checkRunTitle({ name, kind, title, labels }: RunTitle): RunTitle {
  return {
    name: name === undefined ? undefined : checkNewName(name),
    kind: checkKind('kind', kind),
    title: checkKey('title', title),
    labels: labels === undefined ? undefined : checkLabels(labels),
  };
}

function checkKind(field: string, kind: unknown): string {
  if (typeof kind === 'string' && KIND.test(kind)) return kind;
  throw refuse(field, 'it must be 1 to 32 of a-z, 0-9 and "-", beginning with a letter');
}

function checkLabels(labels: unknown): Readonly<Record<string, string>> {
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) {
    throw refuse('labels', 'it must be an object of texts');
  }
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) throw refuse('labels', `it has more than ${MAX_LABELS} labels`);
  for (const [key, value] of entries) {
    if (key.length > MAX_LABEL_KEY) throw refuse('labels', `a key is longer than ${MAX_LABEL_KEY} characters`);
    checkKey('labels', key);
    if (value !== '') checkKey('labels', value);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

export function checkDefinitionHash(hash: unknown): string {
  if (typeof hash === 'string' && HASH.test(hash)) return hash;
  throw refuse('definition.hash', 'it must be a SHA-256 as 64 lower-case hex digits');
}

/** Everything but that the hash is that of the body. */
export function checkDefinition({ hash, kind, body }: Definition): Definition {
  if (typeof body !== 'string' || body === '') throw refuse('definition.body', 'it must be a text');
  if (body.length > MAX_DEFINITION_BYTES || utf8Length(body) > MAX_DEFINITION_BYTES) {
    throw fault('TOO_LARGE', { field: 'definition.body', maxBytes: MAX_DEFINITION_BYTES });
  }
  if (!body.isWellFormed() || body.includes('\u0000')) {
    throw refuse('definition.body', 'it contains NUL or half of a surrogate pair');
  }
  return { hash: checkDefinitionHash(hash), kind: checkKind('definition.kind', kind), body };
}

/** Why a run was cancelled, or by whom, in a form that every store can keep. Lines may be several. */
export function checkCancelNote(field: string, text: unknown): string | undefined {
  if (text === undefined) return undefined;
  if (typeof text !== 'string') throw refuse(field, 'it must be a text');
  if (text.length > MAX_NOTE) throw refuse(field, `it is longer than ${MAX_NOTE} characters`);
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
