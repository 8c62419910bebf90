import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../../protocol/route.ts';
import { ROUTES } from '../../protocol/routes.ts';
import { checked } from './caller.ts';

/** The name of the route that matched. */
export function nameOf(request: FastifyRequest): string {
  return (request.routeOptions.config as { readonly name?: string }).name ?? 'none';
}

export function routeOf(request: FastifyRequest): Route | undefined {
  return (ROUTES as Readonly<Record<string, Route>>)[nameOf(request)];
}

/** What is handed over as it came, or as it comes, has a form that its handler checks. */
export function bodyOf(route: Route, { body }: FastifyRequest): unknown {
  if (route.raw === true) return body ?? '';
  return route.bytes === true ? undefined : checked('body', route.body, body ?? {});
}

/** The headers of every answer. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
}
