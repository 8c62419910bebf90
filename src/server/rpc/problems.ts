import { type EngineError, type ErrorCode, isEngineError } from '../../core/errors.ts';
import type { DocumentRefusal } from '../../engine/trees/document-refusals.ts';
import { RPC_ERRORS, type RpcErrorKind, type RpcId } from '../../protocol/rpc/envelope.ts';
import { errorOf } from '../http/refusals.ts';

/** A refusal with a JSON-RPC code of its own. */
export class RpcProblem extends Error {
  readonly kind: RpcErrorKind;
  readonly data: Readonly<Record<string, unknown>>;
  /** The call is wrong, not the node. */
  readonly statusCode = 400;

  constructor(kind: RpcErrorKind, problem: string, data: Readonly<Record<string, unknown>> = {}) {
    super(problem);
    this.kind = kind;
    this.data = data;
  }
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface RpcAnswer {
  readonly jsonrpc: '2.0';
  readonly id: RpcId;
  readonly result?: unknown;
  readonly error?: RpcError;
}

export function refusal(kind: RpcErrorKind, problem: string, data: Readonly<Record<string, unknown>> = {}): RpcError {
  const { code, message } = RPC_ERRORS[kind];
  return { code, message: `${message}: ${problem}`, data: { problem, ...data } };
}

/** The error that a caller sees: its JSON-RPC code, and in `data` ours. The text of an unexpected error is hidden. */
export function problemOf(thrown: unknown): RpcError {
  if (thrown instanceof RpcProblem) return refusal(thrown.kind, thrown.message, thrown.data);
  const error = errorOf(thrown);
  const { code, message, hint, retryable } = error;
  const problem = error.details?.['problem'];
  return {
    ...refusal(kindOf(error), typeof problem === 'string' ? problem : message),
    data: { code, message, ...(hint === undefined ? {} : { hint }), ...(retryable ? { retryable } : {}) },
  };
}

/** Whether it belongs in the log. */
export function isDefect(thrown: unknown): boolean {
  return !(thrown instanceof RpcProblem) && (!isEngineError(thrown) || thrown.status >= 500);
}

const KINDS: Partial<Readonly<Record<ErrorCode, RpcErrorKind>>> = {
  UNAUTHENTICATED: 'unauthorized',
  FORBIDDEN: 'unauthorized',
  READ_ONLY: 'unauthorized',
  WORKER_DISABLED: 'unauthorized',
  INVALID_ID: 'notFound',
  LEASE_LOST: 'transition',
  ILLEGAL_TRANSITION: 'transition',
  CONFLICT: 'transition',
  INVALID_INPUT: 'params',
  UNKNOWN_OPTION: 'params',
  TOO_LARGE: 'params',
  UNIQUE_CONFLICT: 'params',
};

function kindOf({ code, details }: EngineError): RpcErrorKind {
  const refused = details?.['refusal'] as DocumentRefusal | undefined;
  if (refused !== undefined) return refused;
  if (code === 'NOT_FOUND') return details?.['kind'] === 'task' ? 'notFound' : 'params';
  return KINDS[code] ?? 'internal';
}

/** The error of a request that never became a call: it was not authorized, is not JSON, or is too large. */
export function refuseRequest(thrown: unknown): RpcAnswer {
  const error = errorOf(thrown);
  const shown = problemOf(error);
  const parse = error.code === 'INVALID_INPUT' && error.details?.['field'] === 'body';
  const kind: RpcErrorKind = parse ? 'parse' : kindOf(error) === 'params' ? 'request' : kindOf(error);
  const { code, message } = RPC_ERRORS[kind];
  return { jsonrpc: '2.0', id: null, error: { ...shown, code, message: `${message}: ${error.message}` } };
}
