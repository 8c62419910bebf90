import type { z } from 'zod';

/** Roles of callers. A role may do what the roles after it may do, except `worker`, which stands apart. */
export const ROLES = ['admin', 'operator', 'read', 'worker'] as const;
export type Role = (typeof ROLES)[number];

/** `open`: without a token. `any`: with a token of any role; the handler checks which role it needs. */
export type Access = Role | 'open' | 'any';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` where a part of it varies. */
  readonly path: string;
  readonly access: Access;
  /** One line for people. */
  readonly does: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The shape of the answer; of a stream, the shape of each message. */
  readonly answer: z.ZodType;
  /** Default 200. */
  readonly status?: number;
  /** `events`: server-sent events. `maybe`: server-sent events when the query says `follow`. */
  readonly stream?: 'events' | 'maybe';
  /** Not JSON. */
  readonly text?: 'prometheus' | 'shell' | 'bytes';
  /** The endpoint of another protocol: each of its methods needs a role of its own, and `access` is the least of them. */
  readonly methods?: true;
  /** An observer accepts it too. One with many methods refuses those that write by itself. */
  readonly onObserver?: boolean;
  /** A repeat under the same `Idempotency-Key` gets the first answer. */
  readonly repeatable?: boolean;
  /** The body is read within a bound of its own and handed over as it came, since its signature is over these bytes. */
  readonly raw?: boolean;
  /** The body is bytes of any length, which its handler reads as they come. */
  readonly bytes?: boolean;
  /** Its address is signed for one of these ways: who has it needs no token. It is checked before the body is read. */
  readonly signed?: 'put' | 'get';
  /** Errors have the form of JSON-RPC. */
  readonly rpc?: boolean;
  /** Errors are `{error: TEXT}`, and a token may come without the word Bearer, as clients of loopd send and expect it. */
  readonly plain?: boolean;
}

/** Whether an observer refuses it. */
export function isWrite({ method, onObserver = false }: Route): boolean {
  return method !== 'GET' && !onObserver;
}

/** Keeps the literal types of a route. */
export function route<const R extends Route>(one: R): R {
  return one;
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<never, never>;
export type Params<R extends Route> = Parsed<R['params']>;
export type Query<R extends Route> = Parsed<R['query']>;
export type Body<R extends Route> = R['body'] extends z.ZodType ? z.output<R['body']> : undefined;
export type Answer<R extends Route> = z.input<R['answer']>;

/** Whether a caller of this role may call a route with that access. */
export function mayCall(role: Role, access: Access): boolean {
  if (access === 'open' || access === 'any') return true;
  if (role === 'worker' || access === 'worker') return role === access;
  return ROLES.indexOf(role) <= ROLES.indexOf(access);
}
