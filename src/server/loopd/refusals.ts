import type { FastifyRequest } from 'fastify';
import type { EngineError } from '../../core/errors.ts';

/** Errors as loopd writes them. */
export function plainText(error: EngineError, { headers }: Pick<FastifyRequest, 'headers'>): string {
  return JSON.stringify({ error: textOf(error, headers.authorization), code: error.code });
}

function textOf({ code, message, hint }: EngineError, authorization: string | undefined): string {
  if (code === 'UNAUTHENTICATED') return authorization === undefined ? 'missing auth token' : 'invalid auth token';
  return hint === undefined ? message : `${message} ${hint}`;
}

/** loopd has no 409: what a run cannot do now is a bad request. */
export const plainStatus = ({ status }: EngineError): number => (status === 409 ? 400 : status);
