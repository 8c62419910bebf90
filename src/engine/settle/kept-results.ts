import { createHash } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { logicalText } from '../../core/task/reuse.ts';
import type { Grant, KeepAnswer, KeptResult, NewResult, ResultQuery, Store } from '../../store/store.ts';
import { checkLease } from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import type { Interner } from '../push/interner.ts';
import { readSpec, type SpecBody } from '../push/spec.ts';

/** A lease with the fields of its grant that tell which result is meant. */
export type ReusingLease = Lease & Pick<Grant, 'spec' | 'handler' | 'payload'>;

export interface KeptResultsDeps {
  readonly store: Pick<Store, 'resultKeys' | 'resultFind' | 'resultKeep'>;
  readonly coalescer: Coalescer;
  readonly interner: Interner;
}

const RESULT = { field: 'result' } as const;

/** The key by which every store finds a result. */
export function logicalKey(...of: Parameters<typeof logicalText>): string {
  return createHash('sha256')
    .update(logicalText(...of))
    .digest('hex');
}

/** Results that a task may take over from a similar one instead of running, if it was pushed with `reuse`. */
export class KeptResults {
  readonly #deps: KeptResultsDeps;
  readonly #find: Batcher<ResultQuery, KeptResult | undefined>;
  readonly #keep: Batcher<NewResult, KeepAnswer>;
  readonly #names: Batcher<number, string | undefined>;
  /** The same query is needed at the start of an attempt and at its end. */
  readonly #queries = new WeakMap<Lease, ResultQuery>();

  constructor(deps: KeptResultsDeps) {
    const { store, coalescer } = deps;
    this.#deps = deps;
    this.#names = coalescer.batcher({
      name: 'result key',
      maxItems: 500,
      maxInFlight: 2,
      send: (tasks) => store.resultKeys({ tasks }),
    });
    this.#find = coalescer.batcher({
      name: 'kept result',
      maxItems: 250,
      maxInFlight: 2,
      send: (items) => store.resultFind({ items }),
    });
    this.#keep = coalescer.batcher({
      name: 'result',
      maxItems: 250,
      maxBytes: 1_048_576,
      sizeOf: ({ value }) => value?.length ?? 0,
      maxInFlight: 2,
      send: (items) => store.resultKeep({ items }),
    });
  }

  async reuses(spec: number): Promise<boolean> {
    return (await this.#reuseOf(spec)) !== undefined;
  }

  async find(lease: ReusingLease): Promise<KeptResult | undefined> {
    const query = await this.#query(lease);
    return query === undefined ? undefined : this.#find.submit(query);
  }

  /** Under the fence. A result that is there already stays: both tasks ran, and each has its own result. */
  async keep(lease: ReusingLease, result: unknown): Promise<void> {
    checkLease(lease);
    const value = result === undefined ? undefined : encodePayload(result, RESULT);
    const query = await this.#query(lease);
    if (query === undefined) return;
    const { task, attempt } = lease;
    const answer = await this.#keep.submit({ ...query, task, attempt, value });
    if (answer === 'lost') throw fault('LEASE_LOST', { task, attempt });
  }

  async #query(lease: ReusingLease): Promise<ResultQuery | undefined> {
    const known = this.#queries.get(lease);
    if (known !== undefined) return known;
    const reuse = await this.#reuseOf(lease.spec);
    if (reuse === undefined) return undefined;
    const { handler, payload, task } = lease;
    const key = reuse.keyed === true ? await this.#names.submit(task) : logicalKey(handler, { payload });
    // Without the caller's key it is not known which tasks are similar. Then the task runs, which is always right.
    if (key === undefined) return undefined;
    const query = { key, maxAgeMs: reuse.maxAgeMs };
    this.#queries.set(lease, query);
    return query;
  }

  async #reuseOf(spec: number): Promise<SpecBody['reuse']> {
    return readSpec(await this.#deps.interner.specBody(spec)).reuse;
  }
}
