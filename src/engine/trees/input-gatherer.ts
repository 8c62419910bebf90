import { type GatheredResult, gatherInputs } from '../../core/graph/gather.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { DocumentRecord, Grant, Store } from '../../store/store.ts';
import type { Interner } from '../push/interner.ts';
import { readSpec } from '../push/spec.ts';
import type { DocumentBody, Fields } from './document-body.ts';

/** Inputs and results are bounded each; all of them together are, too. */
const MAX_BYTES = 4 * 1_048_576;

export interface InputGathererDeps {
  readonly store: Pick<Store, 'documentOf' | 'documentGet' | 'taskGet'>;
  readonly interner: Interner;
  /** It cannot be run with what it gathered. */
  readonly refuse: (grant: Grant, error: unknown) => Promise<void>;
}

/** Completes the inputs of documents from what they depend on, when they are claimed: it is not there before. */
export class InputGatherer {
  readonly #deps: InputGathererDeps;
  /** By spec, of which there are few. */
  readonly #gathers = new Map<number, boolean>();

  constructor(deps: InputGathererDeps) {
    this.#deps = deps;
  }

  /** Undefined: all of these run with what was pushed, which for most claims is known at once. */
  complete(grants: readonly Grant[]): Promise<readonly Grant[]> | undefined {
    return grants.every(({ spec }) => this.#gathers.get(spec) === false) ? undefined : this.#complete(grants);
  }

  async #complete(grants: readonly Grant[]): Promise<readonly Grant[]> {
    const completed: Grant[] = [];
    for (const grant of grants) {
      const whole = (await this.#knows(grant.spec)) ? await this.#gather(grant) : grant;
      if (whole !== undefined) completed.push(whole);
    }
    return completed;
  }

  async #knows(spec: number): Promise<boolean> {
    const known = this.#gathers.get(spec);
    if (known !== undefined) return known;
    const gathers = readSpec(await this.#deps.interner.specBody(spec)).gathers === true;
    this.#gathers.set(spec, gathers);
    return gathers;
  }

  async #gather(grant: Grant): Promise<Grant | undefined> {
    const [record] = await this.#deps.store.documentOf({ tasks: [grant.task] });
    // It was executed again since, or is gone: what was pushed is all that is known.
    if (record === undefined) return grant;
    const body = JSON.parse(record.body) as DocumentBody;
    const inputs = JSON.parse(grant.payload) as Fields;
    const gathered = gatherInputs(inputs, body.schemas?.input_schema, await this.#results(body));
    try {
      return { ...grant, payload: encodePayload(gathered, { maxBytes: MAX_BYTES }) };
    } catch (error) {
      await this.#deps.refuse(grant, error);
      return undefined;
    }
  }

  /** Of those that have completed. */
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
