import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { fault, isEngineError } from '../../core/errors.ts';
import { checkKey, checkName } from '../../core/names.ts';
import { type PlacementConstraints, placementFromConstraints } from '../../core/placement/placement-constraints.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { type DocumentBody, handlerOf } from '../../engine/trees/document-body.ts';
import type { DocumentDraft } from '../../engine/trees/documents.ts';
import { TaskEdit, TaskInput } from '../../protocol/rpc/task-input.ts';
import { checked } from '../http/caller.ts';
import { RpcProblem } from './problems.ts';

/** Makes documents from the input of callers, and finds everything that is wrong with one document by itself. */

const DEFAULT_PRIORITY = 2;
const MAX_BYTES = 1_048_576;

/** Drafts of tasks that refer to each other by id, or by name where a task has no id. */
export function draftsOf(given: readonly unknown[]): readonly DocumentDraft[] {
  const inputs = given.map((one, i) => wellFormed(`tasks.${i}`, () => shaped(TaskInput, one)));
  const ids = inputs.map(({ id }) => id ?? randomUUID());
  const known = new Set(ids);
  const names = new Map<string, string | undefined>();
  for (const [i, { id, name }] of inputs.entries()) {
    // A name that two tasks share refers to neither.
    if (id === undefined || id === null) names.set(name, names.has(name) ? undefined : ids[i]);
  }
  const resolve = (reference: string): string =>
    known.has(reference) ? reference : (names.get(reference) ?? reference);
  return inputs.map(({ parent_id: parent, user_id: user, ...input }, i) => ({
    id: ids[i] as string,
    parent: parent === undefined || parent === null ? undefined : resolve(parent),
    user: user ?? undefined,
    body: wellFormed(`tasks.${i}`, () => {
      const needs = (input.dependencies ?? []).map(({ id, required }) => ({ id: resolve(id), required }));
      return checkBody({ ...bodyOf(input), name: input.name, dependencies: needs }, user);
    }),
  }));
}

/** The changed parts of a document; the rest stays. */
export function editOf(
  before: DocumentBody,
  given: unknown,
): { readonly parent: string | undefined; readonly user: string | undefined; readonly body: DocumentBody } {
  return wellFormed('task', () => {
    const { parent_id: parent, user_id: user, ...edit } = shaped(TaskEdit, given);
    const changes = Object.fromEntries(
      Object.entries({ ...bodyOf(edit), name: edit.name }).filter(([key]) => isGiven(edit, key)),
    );
    const body = checkBody({ ...before, ...changes } as DocumentBody, user);
    return { parent: parent ?? undefined, user: user ?? undefined, body };
  });
}

/** The input fields behind each part of a body. */
const SOURCES: Readonly<Record<string, readonly (keyof TaskEdit)[]>> = {
  constraints: ['placement_constraints'],
  maxAttempts: ['max_attempts'],
  retry: ['backoff_strategy', 'backoff_base_seconds'],
  idempotencyKey: ['idempotency_key'],
};

function isGiven(edit: object, part: string): boolean {
  return (SOURCES[part] ?? [part]).some((field) => (edit as Readonly<Record<string, unknown>>)[field] !== undefined);
}

function bodyOf(input: Omit<TaskEdit, 'parent_id' | 'user_id'>): Omit<DocumentBody, 'name'> {
  const { schemas, params, placement_constraints: constraints, queue } = input;
  return {
    priority: input.priority ?? DEFAULT_PRIORITY,
    dependencies: input.dependencies ?? [],
    inputs: input.inputs ?? null,
    params: params ?? undefined,
    schemas: schemas ? (withoutNulls(schemas) as DocumentBody['schemas']) : undefined,
    constraints: (constraints as PlacementConstraints | null | undefined) ?? undefined,
    queue: queue ?? undefined,
    maxAttempts: input.max_attempts ?? undefined,
    retry: retryOf(input),
    idempotencyKey: input.idempotency_key ?? undefined,
  };
}

function retryOf({ backoff_strategy: strategy, backoff_base_seconds: seconds }: TaskEdit): DocumentBody['retry'] {
  if ((strategy ?? seconds ?? undefined) === undefined) return undefined;
  return {
    ...(seconds ? { baseMs: Math.round(seconds * 1000) } : {}),
    ...(strategy === 'fixed' ? { factor: 1 } : {}),
  };
}

/** Refuses now what an execution would refuse. */
function checkBody(body: DocumentBody, user: string | null | undefined): DocumentBody {
  const handler = handlerOf(body);
  try {
    checkName('handler', handler);
  } catch {
    const problem = `${JSON.stringify(handler.slice(0, 80))} is not the name of a handler; name one as schemas.method`;
    throw fault('INVALID_INPUT', { field: 'schemas.method', problem });
  }
  checkKey('name', body.name);
  if (user !== undefined && user !== null) checkKey('user_id', user);
  if (body.queue !== undefined) checkName('queue', body.queue);
  if (body.idempotencyKey !== undefined) checkKey('idempotency_key', body.idempotencyKey);
  if (body.constraints !== undefined) placementFromConstraints(body.constraints);
  encodePayload(body, { field: 'task', maxBytes: MAX_BYTES });
  return body;
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}

function shaped<T extends z.ZodType>(shape: T, value: unknown): z.output<T> {
  return checked('body', shape, value) as z.output<T>;
}

/** Problems of a task itself have a code of their own. */
function wellFormed<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const { field = '', problem = error.message } = (error.details ?? {}) as { field?: string; problem?: string };
    const place = field.replace(/^body\.?/, '');
    const at = place === '' || place === 'task' ? where : `${where}.${place}`;
    throw new RpcProblem('schema', `${at}: ${problem}`, { code: error.code });
  }
}
