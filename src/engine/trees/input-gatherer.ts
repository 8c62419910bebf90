import { isEngineError } from '../../core/errors.ts';
import { type GatheredResult, gatherInputs } from '../../core/graph/gather.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { DocumentRecord, Grant, Store } from '../../store/store.ts';
import type { Interner } from '../push/interner.ts';
import { type Gathers, readSpec } from '../push/spec.ts';
import { type DocumentBody, type Fields, handlerOf } from './document-body.ts';
import { completeReport } from './end-report.ts';

/** Each input and each result has a bound. This is the bound of all of them together. */
const MAX_BYTES = 4 * 1_048_576;

/** These get each result whole, under the id of its document: ours, and that of apflow, which its own nodes run. */
const AGGREGATES: ReadonlySet<string> = new Set(['aggregate', 'aggregate_results_executor']);

export interface InputGathererDeps {
  readonly store: Pick<Store, 'depList' | 'documentOf' | 'documentGet' | 'taskGet'>;
  readonly interner: Interner;
  /** The task cannot run with the input that was gathered. */
  readonly refuse: (grant: Grant, error: unknown) => Promise<void>;
}

/** Adds results of dependencies to the input of a document when it is claimed: before that, they are not there. */
export class InputGatherer {
  readonly #deps: InputGathererDeps;
  /** By spec: there are few. */
  readonly #gathers = new Map<number, Gathers | false>();

  constructor(deps: InputGathererDeps) {
    this.#deps = deps;
  }

  /** Undefined: all of these run with the input that was pushed. Most claims know that at once. */
  complete(grants: readonly Grant[]): Promise<readonly Grant[]> | undefined {
    return grants.every(({ spec }) => this.#gathers.get(spec) === false) ? undefined : this.#complete(grants);
  }

  async #complete(grants: readonly Grant[]): Promise<readonly Grant[]> {
    const completed: Grant[] = [];
    for (const grant of grants) {
      const gathers = await this.#gathersOf(grant.spec);
      const whole = gathers === false ? grant : await this.#whole(grant, gathers);
      if (whole !== undefined) completed.push(whole);
    }
    return completed;
  }

  async #gathersOf(spec: number): Promise<Gathers | false> {
    const known = this.#gathers.get(spec);
    if (known !== undefined) return known;
    const gathers = readSpec(await this.#deps.interner.specBody(spec)).gathers ?? false;
    this.#gathers.set(spec, gathers);
    return gathers;
  }

  /** Undefined: the task was refused. */
  async #whole(grant: Grant, gathers: Gathers): Promise<Grant | undefined> {
    const input =
      gathers === true ? await this.#gather(grant) : () => completeReport(this.#deps.store, grant.task, grant.payload);
    if (input === undefined) return grant;
    try {
      return { ...grant, payload: encodePayload(await input(), { maxBytes: MAX_BYTES }) };
    } catch (error) {
      if (!isEngineError(error) || error.retryable) throw error;
      await this.#deps.refuse(grant, error);
      return undefined;
    }
  }

  /** Undefined: it runs with the input that was pushed. */
  async #gather(grant: Grant): Promise<(() => unknown) | undefined> {
    const [record] = await this.#deps.store.documentOf({ tasks: [grant.task] });
    // The document was executed again since, or is gone. The input that was pushed is all that is known.
    if (record === undefined) return undefined;
    const body = JSON.parse(record.body) as DocumentBody;
    const inputs = JSON.parse(grant.payload) as Fields;
    const schema = AGGREGATES.has(handlerOf(body)) ? undefined : body.schemas?.input_schema;
    const gathered = gatherInputs(inputs, schema, await this.#results(body));
    return () => gathered;
  }

  /** Results of the dependencies that have completed. */
  async #results({ dependencies }: DocumentBody): Promise<readonly GatheredResult[]> {
    const { store } = this.#deps;
    const found = await store.documentGet({ ids: dependencies.map(({ id }) => id) });
    const ups = found.filter((up): up is DocumentRecord => up?.state === 'completed');
    const records = await store.taskGet({ tasks: ups.map(({ task }) => task as number) });
    return ups.map(({ id, body }, i) => {
      const { schemas } = JSON.parse(body) as DocumentBody;
      return { id, result: JSON.parse(records[i]?.result ?? 'null') as unknown, schema: schemas?.output_schema };
    });
  }
}
