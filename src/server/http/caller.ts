import type { z } from 'zod';
import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import type { Principal } from '../auth/access.ts';
import { refuseLongLists } from './long-lists.ts';

/** The token of an `Authorization` header. `plain`: it may also be the token alone. */
export function bearerOf(header: string | undefined, plain = false): string | undefined {
  if (header === undefined) return undefined;
  if (plain && /^[\x21-\x7e]{1,512}$/.test(header)) return header;
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header);
  if (match === null) throw fault('UNAUTHENTICATED');
  return match[1];
}

/**
 * The name that histories record. The admin token stands for everybody who can read its file, so the header alone names the
 * actor. A token that was made for somebody has a name, which is added to what the header says.
 */
export function actorOf(principal: Principal | undefined, header: string | readonly string[] | undefined): string {
  if (principal === undefined) return '';
  if (typeof header !== 'string' || header === '') return principal.name;
  const actor = checkKey('x-leasehold-by', decoded(header));
  return principal.token === undefined ? actor : `${actor} (${principal.name})`;
}

/** Names may have letters that a header cannot carry. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fault('INVALID_INPUT', { field: 'x-leasehold-by', problem: 'it is not percent-encoded' });
  }
}

/** A part of a request, validated by the shape that its route declares. */
export function checked(where: 'path' | 'query' | 'body', shape: z.ZodType | undefined, value: unknown): unknown {
  if (shape === undefined) {
    if (where !== 'path') refuseExtra(where, value);
    return undefined;
  }
  refuseLongLists(where, shape, value);
  const { data, error } = shape.safeParse(value);
  if (error === undefined) return data;
  const issue = deepest(error.issues);
  const field = [where, ...issue.path.map(String)].join('.');
  throw fault('INVALID_INPUT', { field, problem: issue.message });
}

function refuseExtra(where: 'query' | 'body', value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fault('INVALID_INPUT', { field: where, problem: 'nothing is expected here' });
  }
  const [extra] = Object.keys(value);
  if (extra === undefined) return;
  const problem = where === 'query' ? 'there is no such parameter' : 'there is no such field';
  throw fault('INVALID_INPUT', { field: `${where}.${extra}`, problem });
}

/** For a union, reports the problem of the variant with the fewest issues. That says more than "none of them fits". */
function deepest(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const first = issues[0] as z.core.$ZodIssue;
  if (first.code !== 'invalid_union') return first;
  const nearest = first.errors.toSorted(
    (a, b) => a.length - b.length || (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0),
  )[0];
  if (nearest === undefined || nearest.length === 0) return first;
  const inner = deepest(nearest);
  return { ...inner, path: [...first.path, ...inner.path] };
}
