import { isEngineError } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { type StoredError, sayPlace } from '../../flow/workflow/workflow-journal.ts';

const LONGEST_MESSAGE = 8000;
const MOST_DETAILS = 64 * 1024;

/**
 * What a workflow catches when a step or a child has failed. It is made from what is stored of the error, the first time too, so that code that looks
 * at it does the same in every attempt.
 */
export class StepError extends Error {
  /** The name that the error had: `TypeError`. */
  readonly errorName: string;
  /** As `step "charge"`. */
  readonly place: string;
  readonly code: string | undefined;
  readonly details: unknown;

  constructor(place: string, { name, message, code, details }: StoredError) {
    super(message);
    this.name = 'StepError';
    this.errorName = name;
    this.place = sayPlace(place);
    this.code = code;
    this.details = details;
  }

  /** As it is kept with a run that it fails. */
  toJSON(): object {
    const { errorName, message, place, code, details } = this;
    return { name: errorName, message, step: place, code, details };
  }
}

/** Whatever was thrown, in a form that can be stored. */
export function storedError(error: unknown): StoredError {
  if (isEngineError(error)) {
    const { code, message, details } = error;
    return { name: 'EngineError', message, code, ...detailsOf(details) };
  }
  const { name, message, code, details } = (
    typeof error === 'object' && error !== null ? error : { message: String(error) }
  ) as Partial<Record<string, unknown>>;
  return {
    name: typeof name === 'string' ? name.slice(0, 200).toWellFormed() : 'Error',
    message: clean(typeof message === 'string' ? message : 'it gave no reason'),
    ...(typeof code === 'string' ? { code: code.slice(0, 200).toWellFormed() } : {}),
    ...detailsOf(details),
  };
}

/** Details that cannot be stored are left out: the error counts more. */
function detailsOf(details: unknown): { readonly details?: unknown } {
  if (details === undefined) return {};
  try {
    return { details: JSON.parse(encodePayload(details, { maxBytes: MOST_DETAILS, maxDepth: 32 })) as unknown };
  } catch {
    return {};
  }
}

function clean(text: string): string {
  return text.slice(0, LONGEST_MESSAGE).toWellFormed().replaceAll('\u0000', '\ufffd');
}
