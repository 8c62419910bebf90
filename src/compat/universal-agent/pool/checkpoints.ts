import type { TaskContext } from '../../../app/library/run-pools.ts';

const STEP = 'checkpoint';
const NONE = new Error('there are no more checkpoints');

/**
 * The checkpoints of a run, of which the newest counts. Each is a step of that name, in the order of their writing: an attempt passes those
 * that are stored before it adds its own.
 */
export class Checkpoints {
  readonly #step: TaskContext['step'];
  #writing: Promise<unknown> = Promise.resolve();

  constructor(context: Pick<TaskContext, 'step'>) {
    this.#step = context.step.bind(context);
  }

  /** Passes what is stored. Undefined: nothing was kept. */
  async newest(): Promise<unknown> {
    for (let found: unknown; ; ) {
      try {
        found = await this.#step(STEP, () => Promise.reject(NONE));
      } catch (error) {
        // The error of a step is not stored, and gives its place back.
        if (error === NONE) return found;
        throw error;
      }
    }
  }

  /** One after the other, in the order of the calls. */
  save(value: unknown): Promise<void> {
    const writing = this.#writing.then(() => this.#step(STEP, () => value ?? null)).then(() => {});
    this.#writing = writing.catch(() => {});
    return writing;
  }
}
