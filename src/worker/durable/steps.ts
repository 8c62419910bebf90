import { fault } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { checkOptions } from './check-options.ts';
import type { DurableList, StepInfo, StepOptions, StepPolicy, Stored } from './durable-context.ts';
import type { Journal } from './journal.ts';
import type { LargeValues } from './large-values.ts';

const OPTIONS: ReadonlySet<string> = new Set(['policy'] satisfies (keyof StepOptions)[]);
const POLICIES: readonly StepPolicy[] = ['repeat', 'exact', 'relaunch'];

/** Steps, which run once and are stored, and durable lists. */
export class Steps {
  readonly #journal: Journal;
  readonly #large: LargeValues;
  readonly #lists = new Map<string, JournalList<unknown>>();

  constructor(journal: Journal, large: LargeValues) {
    this.#journal = journal;
    this.#large = large;
  }

  readonly step = <R>(
    name: string,
    fn: (step: StepInfo) => R | Promise<R>,
    options: StepOptions = {},
  ): Promise<Stored<Awaited<R>>> =>
    this.#journal.at('step', name, async (place) => {
      const policy = checkPolicy(name, options);
      const known = await this.#journal.recall(place);
      const text = known ?? (await (this.#large.recall(place) ?? this.#run(name, place, policy, fn)));
      return JSON.parse(text) as Stored<Awaited<R>>;
    });

  async #run(name: string, place: string, policy: StepPolicy, fn: (step: StepInfo) => unknown): Promise<string> {
    const journal = this.#journal;
    journal.refuseStopped();
    const again = policy === 'repeat' ? false : await this.#mark(place, policy);
    const value = await journal.run(() => fn({ key: journal.keyOf(place), again }));
    return this.#large.record(place, value, `value of step ${name}`);
  }

  /** Stores that the step begins. True: an earlier attempt had begun it. */
  async #mark(place: string, policy: StepPolicy): Promise<boolean> {
    const journal = this.#journal;
    const mark = `${place}!`;
    const begun = (await journal.recall(mark)) !== undefined;
    if (begun && policy === 'exact') throw journal.uncertain(place);
    if (!begun) await journal.record(mark, 'mark', journal.attempt, 'mark');
    return begun;
  }

  readonly list = <T>(name: string): DurableList<T> => {
    let list = this.#lists.get(name);
    if (list === undefined) {
      list = new JournalList<unknown>(this.#journal, name);
      this.#lists.set(name, list);
    }
    return list as DurableList<unknown> as DurableList<T>;
  };
}

/** Each element is an entry of its own, so that adding one costs the same however long the list is. */
class JournalList<T> implements DurableList<T> {
  readonly #journal: Journal;
  readonly #name: string;
  readonly #texts: string[] = [];
  /** Keeps elements that are added at the same time in the order of the calls. */
  #last: Promise<void> = Promise.resolve();

  constructor(journal: Journal, name: string) {
    this.#journal = journal;
    this.#name = name;
  }

  get length(): number {
    return this.#texts.length;
  }

  push(value: T): Promise<Stored<T>> {
    const field = `element of list ${this.#name}`;
    try {
      // Checked before it takes a place: a refused element would leave a hole.
      encodePayload(value ?? null, { field });
    } catch (error) {
      return Promise.reject(error as Error);
    }
    const before = this.#last;
    const added = this.#journal.at('list', this.#name, async (place) => {
      const journal = this.#journal;
      const text = (await journal.recall(place)) ?? (await journal.record(place, 'element', value, field));
      await before;
      this.#texts.push(text);
      return JSON.parse(text) as Stored<T>;
    });
    this.#last = added.then(
      () => {},
      () => {},
    );
    return added;
  }

  values(): Stored<T>[] {
    return this.#texts.map((text) => JSON.parse(text) as Stored<T>);
  }
}

function checkPolicy(name: string, options: StepOptions): StepPolicy {
  checkOptions(`options of step ${name}`, options, OPTIONS);
  const { policy = 'repeat' } = options;
  if (POLICIES.includes(policy)) return policy;
  throw fault('INVALID_INPUT', { field: `policy of step ${name}`, problem: `it is one of ${POLICIES.join(', ')}` });
}
