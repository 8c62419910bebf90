import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fault, isEngineError } from '../../core/errors.ts';
import { encodePayload, MAX_PAYLOAD_BYTES } from '../../core/task/payload.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import { MAX_RESULT_BYTES, type ResultReference, storeText } from '../artifacts/large-result.ts';
import type { Journal } from './journal.ts';

/** What is shown of a step in the name of its artifact. */
const SHOWN = 60;

/**
 * Values of steps that are too large for the journal. Each is an artifact of the task; the journal has what stands for it, under a key of its own: no
 * value can be taken for it, and a worker of an older release finds no value.
 */
export class LargeValues {
  readonly #journal: Journal;
  readonly #artifacts: () => ArtifactReader | undefined;

  constructor(journal: Journal, artifacts: () => ArtifactReader | undefined) {
    this.#journal = journal;
    this.#artifacts = artifacts;
  }

  /** The JSON text of a value that an earlier attempt has stored as an artifact. Asked for when the journal has none in that place. */
  recall(place: string): Promise<string> | undefined {
    const reference = this.#journal.recalled(keyOf(place));
    return reference === undefined ? undefined : this.#fetched(reference);
  }

  async #fetched(reference: string): Promise<string> {
    const artifacts = this.#artifacts();
    if (artifacts === undefined)
      throw fault('UNSUPPORTED', {}, { hint: 'The value of a step is an artifact, and this run can read none.' });
    const { $artifact: id } = JSON.parse(reference) as ResultReference;
    const { folder } = await artifacts.room();
    const path = join(folder, randomUUID());
    try {
      await artifacts.fetch(await artifacts.find({ id }), path);
      return await readFile(path, 'utf8');
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Stores the value of a step, and answers its JSON text. The artifact is whole before the journal has it. */
  async record(place: string, value: unknown, field: string): Promise<string> {
    try {
      return await this.#journal.record(place, 'value', value, field);
    } catch (error) {
      const artifacts = isTooLarge(error, field) ? this.#artifacts() : undefined;
      if (artifacts === undefined) throw error;
      const text = encodePayload(value ?? null, { field, maxBytes: MAX_RESULT_BYTES });
      const reference = await storeText(text, nameOf(place), artifacts).catch((failure: unknown) => {
        throw hasNoPlace(failure) ? error : failure;
      });
      await this.#journal.record(keyOf(place), 'value', reference, field);
      return text;
    }
  }
}

/** No place of a value ends like this: behind the sign of its count there are digits alone. */
const keyOf = (place: string): string => `${place}@artifact`;

/** Refused for its own size, and not because the journal is full. */
function isTooLarge(error: unknown, field: string): boolean {
  if (!isEngineError(error, 'TOO_LARGE')) return false;
  const { field: of, maxBytes } = error.details ?? {};
  return of === field && maxBytes === MAX_PAYLOAD_BYTES;
}

const hasNoPlace = (error: unknown): boolean =>
  isEngineError(error, 'UNSUPPORTED') || isEngineError(error, 'NODE_TOO_OLD');

/** The same for a place in every attempt, and never that of another place. */
function nameOf(place: string): string {
  const shown = place.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, SHOWN);
  return `steps/${shown}-${createHash('sha256').update(place).digest('hex').slice(0, 16)}.json`;
}
