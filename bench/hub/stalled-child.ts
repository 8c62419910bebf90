/** Workers that ask for tasks and beat, and read nothing of what they are told. */
import { RawWorker } from '../../test/support/raw-worker.ts';
import { enrol, type NodeAddress } from '../contenders/hub/enrol.ts';
import { answerAll } from './line.ts';
import { LARGE, STALLED_MAX } from './words.ts';

export interface StalledArgs extends NodeAddress {
  readonly queue: string;
}

const BEAT_MS = 1000;
const WAIT_MS = 30_000;

const args = JSON.parse(process.argv[2] ?? '{}') as StalledArgs;
const workers: RawWorker[] = [];

const verbs = {
  /** Connected, and reading. */
  join: async ({ count }: { readonly count: number }): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const { name, secret } = await enrol(args, `stalled-${i}`);
      const worker = await RawWorker.dial(args.address);
      await worker.enter({ name, secret, handlers: [LARGE], queues: [args.queue] });
      workers.push(worker);
    }
  },

  /** From now on nothing is read, and a beat and a claim more are sent each second. */
  stall: (): void => {
    for (const worker of workers) worker.socket.pause();
    const nag = (): void => {
      for (const worker of workers) {
        if (worker.socket.readyState !== worker.socket.OPEN) continue;
        worker.say({ type: 'task_claim', n: worker.number(), max: STALLED_MAX, waitMs: WAIT_MS });
        worker.say({ type: 'heartbeat', n: worker.number(), state: 'online' });
      }
    };
    nag();
    setInterval(nag, BEAT_MS);
  },
};

export type StalledVerbs = typeof verbs;
answerAll(verbs);
