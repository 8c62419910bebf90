/** Many workers of this engine in one process, each with a connection of its own and all that a worker does on it. */
import { task } from '../../src/index.ts';
import { sentAt } from '../contenders/contender.ts';
import { enrol, type NodeAddress } from '../contenders/hub/enrol.ts';
import { micros } from '../jobs/line.ts';
import { joinNode } from './join.ts';
import { answerAll } from './line.ts';

export interface CrowdArgs extends NodeAddress {
  readonly queue: string;
  /** Of their names. */
  readonly prefix: string;
  /** Of each worker. */
  readonly slots: number;
}

/** Who connects at the same time. */
const AT_ONCE = 32;

const args = JSON.parse(process.argv[2] ?? '{}') as CrowdArgs;
let samples: number[] = [];
let starts: number[] = [];
let release = Promise.withResolvers<void>();

/** Says how long its push took to come here (ms). */
const noop = task('noop', {
  queue: args.queue,
  run: (input) => void samples.push((micros() - sentAt(input)) / 1000),
});
/** Says when it began, and keeps its slot. */
const hold = task('hold', {
  queue: args.queue,
  run: async () => {
    starts.push(micros());
    await release.promise;
  },
});

const verbs = {
  /** Workers of these numbers; resolves when the node has let all of them in. */
  join: async ({ from, to }: { readonly from: number; readonly to: number }): Promise<void> => {
    let next = from;
    const one = async (): Promise<void> => {
      while (next < to) {
        const credentials = await enrol(args, `${args.prefix}-${next++}`);
        const { queue, slots } = args;
        const options = { tasks: [noop, hold], queues: [queue], slots, lookahead: 0 };
        await joinNode(args.address, credentials, options).start();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  },

  /** What was pushed and came here since the last call. */
  samples: (): readonly number[] => {
    const taken = samples;
    samples = [];
    return taken;
  },

  /** When each task began that holds its slot now (monotonic µs). */
  starts: (): readonly number[] => starts,

  release: (): void => {
    release.resolve();
    release = Promise.withResolvers<void>();
    starts = [];
  },
};

export type CrowdVerbs = typeof verbs;
answerAll(verbs);
