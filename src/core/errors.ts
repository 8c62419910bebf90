import { CATALOGUE, type CatalogueEntry } from './catalogue.ts';

export { CATALOGUE, type CatalogueEntry } from './catalogue.ts';

export type ErrorDetails = Readonly<Record<string, unknown>>;

export type ErrorCode = keyof typeof CATALOGUE;

/** Whether a text from elsewhere is one of our codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(CATALOGUE, text);
}

export interface EngineErrorInit {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly details?: ErrorDetails | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** The error on the wire. Never the cause or the stack: those may contain what the caller must not see. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: ErrorDetails;
}

const BRAND: unique symbol = Symbol.for('leasehold.error');

/** The one error class. `fault()` makes it; the constructor is for errors that arrive with their text over the wire. */
export class EngineError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly status: number;
  readonly details: ErrorDetails | undefined;
  readonly hint: string | undefined;

  constructor(init: EngineErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.retryable = init.retryable;
    this.status = init.status;
    this.details = init.details;
    this.hint = init.hint;
  }

  static {
    // On the prototype: the stack then begins with the name, and neither appears among the fields when it is printed.
    Object.defineProperties(EngineError.prototype, { name: { value: 'EngineError' }, [BRAND]: { value: true } });
  }

  /** By brand, so that an error from another loaded copy of the package is recognised. */
  static override [Symbol.hasInstance](value: unknown): value is EngineError {
    return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === true;
  }

  toJSON(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

export interface FaultOptions {
  /** Replaces the hint of the catalogue. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** Builds the error of a code; `details` fill the placeholders of its message and travel with it. */
export function fault(code: ErrorCode, details?: ErrorDetails, options: FaultOptions = {}): EngineError {
  const entry: CatalogueEntry = CATALOGUE[code];
  return new EngineError({
    code,
    message: fillTemplate(entry.message, details ?? {}),
    retryable: entry.retryable,
    status: entry.status,
    details,
    hint: options.hint ?? entry.hint,
    cause: options.cause,
  });
}

export function isEngineError(error: unknown, code?: ErrorCode): error is EngineError {
  return error instanceof EngineError && (code === undefined || error.code === code);
}

/** For conditions that only a bug of ours can make false; bad input gets its own code. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw fault('INTERNAL', { problem: message });
}

const LONGEST_DETAIL = 200;

function fillTemplate(template: string, details: ErrorDetails): string {
  return template.replace(/\{(\w+)\|([^}]*)\}/g, (_whole, name: string, fallback: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : undefined;
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
    if (typeof value !== 'string') return fallback;
    // One line of bounded length: details come from outside and messages end up in logs.
    return value
      .slice(0, LONGEST_DETAIL)
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ');
  });
}
