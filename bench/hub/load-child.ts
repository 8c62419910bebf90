/** Pushes on the store itself, so that its load is not the node's. */
import { open } from '../../src/index.ts';
import { answerAll } from './line.ts';

export interface LoadArgs {
  readonly store: string;
}

export interface Load {
  readonly queue: string;
  readonly handler: string;
  readonly count: number;
  /** Of each input, about. */
  readonly bytes: number;
}

const MOST_AT_ONCE = 500;
const MOST_BYTES = 4 * 1024 * 1024;

const { store } = JSON.parse(process.argv[2] ?? '{}') as LoadArgs;
const opened = open(store, { duties: false });

const verbs = {
  push: async ({ queue, handler, count, bytes }: Load): Promise<void> => {
    const { engine } = await opened;
    const input = { pad: 'x'.repeat(bytes) };
    const atOnce = Math.min(MOST_AT_ONCE, Math.ceil(MOST_BYTES / (bytes + 1)));
    for (let done = 0; done < count; done += atOnce) {
      const length = Math.min(atOnce, count - done);
      await engine.pushMany(Array.from({ length }, () => ({ queue, handler, input })));
    }
  },
};

export type LoadVerbs = typeof verbs;
answerAll(verbs);
