import fc from 'fast-check';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import type { StoreKind } from './rig.ts';

/** One step of a run: an operation by name and its numbers. */
export interface Step {
  readonly do: string;
  readonly n: Readonly<Record<string, number>>;
}

interface Choice {
  readonly name: string;
  readonly operation: Operation;
  readonly upTo: number;
}

/**
 * Lists of exactly `length` steps. Numbers stand for choices among what is there when the step runs, so every part of a
 * list is a list that can run: shrinking takes steps out, many at first, and then moves their numbers towards 0.
 */
export class Steps extends fc.Arbitrary<readonly Step[]> {
  readonly #length: number;
  readonly #choices: readonly Choice[];
  readonly #total: number;

  constructor(kind: StoreKind, length: number) {
    super();
    this.#length = length;
    let upTo = 0;
    this.#choices = Object.entries(OPERATIONS)
      .filter(([, { only }]) => only?.includes(kind) ?? true)
      .map(([name, operation]) => {
        upTo += Math.round(operation.weight * 10);
        return { name, operation, upTo };
      });
    this.#total = upTo;
  }

  override generate(random: fc.Random): fc.Value<readonly Step[]> {
    const steps = Array.from({ length: this.#length }, () => this.#step(random));
    return new fc.Value(steps, undefined);
  }

  override canShrinkWithoutContext(value: unknown): value is readonly Step[] {
    return Array.isArray(value);
  }

  override shrink(steps: readonly Step[]): fc.Stream<fc.Value<readonly Step[]>> {
    return fc.stream(smaller(steps)).map((fewer) => new fc.Value(fewer, undefined));
  }

  #step(random: fc.Random): Step {
    const at = random.nextInt(1, this.#total);
    const choice = this.#choices.find(({ upTo }) => at <= upTo) as Choice;
    const n: Record<string, number> = {};
    for (const [name, bound] of Object.entries(choice.operation.bounds)) n[name] = random.nextInt(0, bound - 1);
    return { do: choice.name, n };
  }
}

function* smaller(steps: readonly Step[]): Generator<readonly Step[]> {
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // From the end: what comes after the fault is not needed for it.
    for (let end = steps.length; end > 0; end -= size) yield steps.toSpliced(Math.max(0, end - size), size);
  }
  for (const [i, step] of steps.entries()) {
    for (const [name, value] of Object.entries(step.n)) {
      for (const less of value > 1 ? [0, Math.floor(value / 2)] : value === 1 ? [0] : []) {
        yield steps.with(i, { ...step, n: { ...step.n, [name]: less } });
      }
    }
  }
}

/** One step a line. */
export function tellSteps(steps: readonly Step[]): string {
  return steps.map((step) => `  ${step.do} ${JSON.stringify(step.n)}`).join('\n');
}
