import { z } from 'zod';
import { type Route, route } from '../route.ts';
import {
  Pool,
  PoolChecked,
  PoolCheckInput,
  PoolDecision,
  PoolDetail,
  PoolInput,
  PoolPaging,
  PoolTicket,
} from '../shapes/pool.ts';
import { API, onePool } from './address.ts';

/** Pools of workers. Who may write one may start programs on the hosts that check it. */
export const POOL_ROUTES = {
  listPools: route({
    method: 'GET',
    path: `${API}/pools`,
    access: 'read',
    does: 'Pools of workers by name, each with what a check would find and do now',
    answer: z.object({ pools: z.array(PoolDetail).readonly() }),
  }),
  putPool: route({
    method: 'POST',
    path: `${API}/pools`,
    access: 'admin',
    does: 'Makes a pool or replaces the one of its name',
    body: PoolInput,
    answer: Pool,
  }),
  getPool: route({
    method: 'GET',
    path: `${API}/pools/{name}`,
    access: 'read',
    does: 'A pool, with what a check would find and do now',
    params: onePool,
    answer: PoolDetail,
  }),
  removePool: route({
    method: 'DELETE',
    path: `${API}/pools/{name}`,
    access: 'admin',
    does: 'Removes a pool with its tickets and decisions; its workers stay, and those still to come are refused',
    params: onePool,
    answer: Pool,
  }),
  checkPool: route({
    method: 'POST',
    path: `${API}/pools/{name}/check`,
    access: 'operator',
    does: 'Checks a pool now: starts the workers that are missing, or sends idle ones home',
    params: onePool,
    body: PoolCheckInput,
    answer: PoolChecked,
  }),
  listPoolDecisions: route({
    method: 'GET',
    path: `${API}/pools/{name}/decisions`,
    access: 'read',
    does: 'The last decisions about a pool with their reasons, the newest first',
    params: onePool,
    query: PoolPaging,
    answer: z.object({ decisions: z.array(PoolDecision).readonly() }),
  }),
  listPoolTickets: route({
    method: 'GET',
    path: `${API}/pools/{name}/tickets`,
    access: 'read',
    does: 'The last starts of workers, the newest first, and what became of each',
    params: onePool,
    query: PoolPaging,
    answer: z.object({ tickets: z.array(PoolTicket).readonly() }),
  }),
} as const satisfies Record<string, Route>;
