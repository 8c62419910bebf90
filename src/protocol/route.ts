import type { z } from 'zod';

/** Who may call: a role can do what those after it in this list can, but for `worker`, which stands apart. */
export const ROLES = ['admin', 'operator', 'read', 'worker'] as const;
export type Role = (typeof ROLES)[number];

/** `open`: without a token. `any`: with a token of any role; what is asked for says which it needs. */
export type Access = Role | 'open' | 'any';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `{name}` where a part of it varies. */
  readonly path: string;
  readonly access: Access;
  /** One line for people. */
  readonly does: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** What it answers with; a stream has one of these in each of its messages. */
  readonly answer: z.ZodType;
  /** Default 200. */
  readonly status?: number;
  /** `events`: server-sent events. `maybe`: so where the query says `follow`. */
  readonly stream?: 'events' | 'maybe';
  /** Not JSON. */
  readonly text?: 'prometheus';
  /** The door of another protocol: each of its methods asks for a role of its own, `access` is the least of them. */
  readonly methods?: true;
  /** A write that an observer takes too. */
  readonly evenHere?: boolean;
  /** A repeat under the same `Idempotency-Key` gets the first answer. */
  readonly repeatable?: boolean;
  /** What is refused is told as JSON-RPC has it. */
  readonly rpc?: boolean;
}

/** Whether an observer refuses it. */
export function isWrite({ method, evenHere = false }: Route): boolean {
  return method !== 'GET' && !evenHere;
}

/** Keeps the types of the parts. */
export function route<const R extends Route>(one: R): R {
  return one;
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<never, never>;
export type Params<R extends Route> = Parsed<R['params']>;
export type Query<R extends Route> = Parsed<R['query']>;
export type Body<R extends Route> = R['body'] extends z.ZodType ? z.output<R['body']> : undefined;
export type Answer<R extends Route> = z.input<R['answer']>;

/** Whether somebody of this role may call what asks for that one. */
export function mayCall(role: Role, access: Access): boolean {
  if (access === 'open' || access === 'any') return true;
  if (role === 'worker' || access === 'worker') return role === access;
  return ROLES.indexOf(role) <= ROLES.indexOf(access);
}
