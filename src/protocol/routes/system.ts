import { z } from 'zod';
import { type Route, route } from '../route.ts';

/** Health, metrics and the description of the API itself. */
export const SYSTEM_ROUTES = {
  health: route({
    method: 'GET',
    path: '/healthz',
    access: 'open',
    does: 'Says that the process is alive',
    answer: z.object({ status: z.literal('ok') }),
  }),
  ready: route({
    method: 'GET',
    path: '/readyz',
    access: 'open',
    does: 'Says whether this node can hand out work; 503 when it cannot. The reasons are shown to callers who may read',
    answer: z.object({ status: z.enum(['ready', 'not ready']), reasons: z.array(z.string()).readonly().optional() }),
  }),
  metrics: route({
    method: 'GET',
    path: '/metrics',
    access: 'read',
    does: 'Figures for Prometheus',
    answer: z.string(),
    text: 'prometheus',
  }),
  openapi: route({
    method: 'GET',
    path: '/openapi.json',
    access: 'read',
    does: 'This API as an OpenAPI 3.1 document',
    answer: z.record(z.string(), z.unknown()),
  }),
} as const satisfies Record<string, Route>;
