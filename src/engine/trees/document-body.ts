import type { Need } from '../../core/graph/document.ts';
import type { PropertySchema } from '../../core/graph/gather.ts';
import { type PlacementConstraints, placementFromConstraints } from '../../core/placement/placement-constraints.ts';
import type { RetryInput } from '../../core/task/retry.ts';
import type { PushRequest } from '../push/push.ts';
import { idempotencyKey } from '../settle/idempotency.ts';

/** The content of a document, beyond its place in the tree. */
export interface DocumentBody {
  readonly name: string;
  /** 0 is urgent, 3 is low. */
  readonly priority: number;
  readonly dependencies: readonly Need[];
  readonly inputs: Fields | null;
  /** The configuration of the handler. The handler gets both, and inputs win. */
  readonly params?: Fields | undefined;
  readonly schemas?: DocumentSchemas | undefined;
  readonly constraints?: PlacementConstraints | undefined;
  readonly queue?: string | undefined;
  readonly maxAttempts?: number | undefined;
  readonly retry?: RetryInput | undefined;
  /** Documents with the same key share a result. */
  readonly idempotencyKey?: string | undefined;
  /** How it was made, where it is a copy, a link or an archive. */
  readonly origin?: { readonly type: 'copy' | 'link' | 'archive'; readonly id: string } | undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface DocumentSchemas {
  readonly type?: string | undefined;
  /** The handler. */
  readonly method?: string | undefined;
  readonly input_schema?: PropertySchema | undefined;
  readonly output_schema?: PropertySchema | undefined;
}

/** The queue of documents that name none. */
const QUEUE = 'tasks';
const DEFAULT_PRIORITY = 2;
/** Priorities are this far apart, so that others fit in between. */
const STEP = 10;

export function queueOf({ queue = QUEUE }: Pick<DocumentBody, 'queue'>): string {
  return queue;
}

export function handlerOf({ name, schemas }: DocumentBody): string {
  return schemas?.method ?? name;
}

/** What the handler is given, before results of dependencies are added: always an object. */
function inputOf({ inputs, params }: DocumentBody): Fields {
  return { ...params, ...inputs };
}

/** The push request of an execution; `run` is its number, counted from 1. */
export function requestOf(body: DocumentBody, of: { id: string; createdAt: number; run: number }): PushRequest {
  const { constraints, maxAttempts, retry, idempotencyKey: key, dependencies } = body;
  return {
    queue: queueOf(body),
    handler: handlerOf(body),
    input: inputOf(body),
    priority: (DEFAULT_PRIORITY - body.priority) * STEP,
    // With the time: a document that was pruned may be written again under the same id.
    op: `document:${of.createdAt}:${of.run}:${of.id}`,
    ...(constraints === undefined ? {} : { placement: placementFromConstraints(constraints) }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(retry === undefined ? {} : { retry }),
    ...(key === undefined ? {} : { reuse: { key } }),
    ...(dependencies.length === 0 ? {} : { gathers: true as const }),
  };
}

/** The idempotency key of an execution: from the content of a document, or from the payload (JSON text) of any other task. */
export function keyOfWork(of: { body: DocumentBody | undefined; id: string; run: number }, payload: string): string {
  const { body, id, run } = of;
  const inputs = body === undefined ? payload : JSON.stringify(body.inputs);
  return body?.idempotencyKey ?? idempotencyKey({ task: id, run, inputs });
}
