/** A worker that was given the addresses of all nodes, as by several `--join`; its handler runs inline and notes what it began. */
import { setTimeout as delay } from 'node:timers/promises';
import { task } from '../../src/index.ts';
import type { AttemptOutcome } from '../../src/worker/attempt.ts';
import type { Worker } from '../../src/worker/worker.ts';
import { type Enrolled, enrol } from '../contenders/hub/enrol.ts';
import { joinNode } from '../hub/join.ts';
import { answerAll } from '../hub/line.ts';
import { micros } from '../jobs/line.ts';
import { ADMIN, HANDLER, type Noted, QUEUE, type Start } from './words.ts';

export interface WorkerArgs {
  readonly name: string;
  /** The one that it goes to first, and where it goes when that one is away. */
  readonly urls: readonly [string, ...string[]];
  readonly slots: number;
}

/** Since the worker was started last. */
export interface Done {
  readonly completed: number;
  /** Attempts that did not end their task: given back, or lost. */
  readonly released: number;
  readonly lost: number;
  /** Monotonic µs: when it was there, or began its first task; and when its last completion was committed. */
  readonly firstAt: number;
  readonly lastAt: number;
}

const { name, urls, slots } = JSON.parse(process.argv[2] ?? '{}') as WorkerArgs;
let credentials: Enrolled | undefined;
let worker: Worker | undefined;
let starts: Start[] = [];
let partings = new Map<AttemptOutcome, number>();
let firstAt: number | undefined;
let lastAt = 0;

const noop = task(HANDLER, {
  queue: QUEUE,
  async run(input: Noted) {
    const at = micros();
    firstAt ??= at;
    starts.push({ n: input.n, sent: input.sent, at });
    if (input.holdMs > 0) await delay(input.holdMs);
  },
});

const verbs = {
  start: async (): Promise<void> => {
    const [address, ...others] = urls;
    credentials ??= await enrol({ address, admin: ADMIN }, name);
    starts = [];
    partings = new Map();
    firstAt = undefined;
    worker = joinNode(
      address,
      credentials,
      {
        tasks: [noop],
        queues: [QUEUE],
        slots,
        onSettled: (_, outcome) => {
          partings.set(outcome, (partings.get(outcome) ?? 0) + 1);
          if (outcome === 'completed') lastAt = micros();
        },
      },
      others,
    );
    await worker.start();
    firstAt ??= micros();
  },

  stop: async (): Promise<void> => worker?.stop(),

  done: (): Done => ({
    completed: partings.get('completed') ?? 0,
    released: partings.get('released') ?? 0,
    lost: partings.get('lost') ?? 0,
    firstAt: firstAt ?? micros(),
    lastAt,
  }),

  /** What it has begun since the last call. */
  starts: (): readonly Start[] => {
    const taken = starts;
    starts = [];
    return taken;
  },
};

export type WorkerVerbs = typeof verbs;
answerAll(verbs);
