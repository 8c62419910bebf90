import { type HandlerSchema, MAX_SCHEMAS_BYTES } from '../../core/placement/worker.ts';
import { utf8Length } from '../../core/task/payload.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { Runner } from '../runner/runner.ts';

/** The runners of a worker, and which of them runs a task. */
export class HandlerRunners {
  readonly #runners: readonly Runner[];
  readonly #shield: Runner | undefined;
  /** Known once the runners have started: a handlers file shows its tasks only when it is loaded. */
  #byHandler: ReadonlyMap<string, Runner> = new Map();

  constructor(runners: readonly Runner[], shield: Runner | undefined) {
    this.#runners = runners;
    this.#shield = shield;
  }

  /** Handlers that it can run, by name; known once the runners have started. */
  get handlers(): readonly string[] {
    return [...this.#byHandler.keys()].sort();
  }

  async start(): Promise<void> {
    const starts = await Promise.allSettled(this.#all.map((runner) => runner.start()));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    const pairs = this.#runners.toReversed().flatMap((r) => r.handlers.map((handler) => [handler, r] as const));
    this.#byHandler = new Map(pairs);
  }

  /** Closes all of them, also when one fails. */
  async close(onTrouble: (error: unknown) => void): Promise<void> {
    await Promise.all(this.#all.map((runner) => runner.close().catch(onTrouble)));
  }

  /** The input schemas of its handlers, as far as they are known and as much as one worker may announce. */
  schemas(): readonly HandlerSchema[] {
    let left = MAX_SCHEMAS_BYTES;
    return [...this.#byHandler].flatMap(([handler, runner]) => {
      const schema = runner.schemaOf?.(handler);
      left -= schema === undefined ? 0 : utf8Length(schema);
      return schema === undefined || left < 0 ? [] : [{ handler, schema }];
    });
  }

  of({ handler, suspect }: Assignment): Runner | undefined {
    const shield = this.#shield;
    return suspect && shield?.handlers.includes(handler) ? shield : this.#byHandler.get(handler);
  }

  /** A suspect that runs inside this process, and can take every other task here with it. */
  isDangerous(assignment: Assignment): boolean {
    return assignment.suspect && !(this.of(assignment)?.isolates ?? false);
  }

  get #all(): readonly Runner[] {
    return this.#shield === undefined ? this.#runners : [...this.#runners, this.#shield];
  }
}
