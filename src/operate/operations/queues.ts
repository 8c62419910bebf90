import { fault } from '../../core/errors.ts';
import type { QueueStats } from '../../core/task/event.ts';
import type { FinalState, TaskState } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TaskRecord } from '../../engine/records.ts';
import { PER_SWEEP } from '../../protocol/defaults.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { PurgedView, QueueView, RetriedView } from '../views.ts';
import type { Operations } from './operation.ts';

/** A change to many tasks of a queue, and the number that the caller expects. */
interface Sweep {
  readonly dryRun: boolean;
  /** The most that there may be; more are refused. */
  readonly expected?: number | undefined;
  readonly limit: number;
  /** Goes on below this task, where the call before has ended. */
  readonly before?: number | undefined;
}

export const queueOperations = {
  async listQueues({ engine }) {
    return { queues: await queuesOf(engine) };
  },

  getQueue: ({ engine }, { params }) => queueOf(engine, params.queue),

  async scaleQueue({ engine }, { params }) {
    const { runnable, running, blockedByLimit, oldestAgeMs, desired } = await engine.scale(params.queue);
    const oldest = Math.round(oldestAgeMs) / 1000;
    return { runnable, running, blocked_by_limit: blockedByLimit, oldest_age_s: oldest, desired };
  },

  async pauseQueue({ engine }, { params }) {
    await engine.pause(params.queue);
    return queueOf(engine, params.queue);
  },

  async resumeQueue({ engine }, { params }) {
    await queueOf(engine, params.queue);
    await engine.resume(params.queue);
    return queueOf(engine, params.queue);
  },

  async purgeQueue(snapshot, { params, body }) {
    const { engine } = snapshot;
    return new Sweeps(engine).purge(await queueOf(engine, params.queue), sweepOf(snapshot, body));
  },

  async retryQueue(snapshot, { params, body }) {
    const { engine } = snapshot;
    return new Sweeps(engine).retry(await queueOf(engine, params.queue), body.states, sweepOf(snapshot, body));
  },
} satisfies Operations;

async function queuesOf(engine: Engine): Promise<readonly QueueView[]> {
  return (await engine.queues()).map(({ name, paused, stats }) => ({ name, paused, ...stats }));
}

/** Refuses a queue that nobody ever pushed to: a typing error must not look like an empty queue. */
async function queueOf(engine: Engine, name: string): Promise<QueueView> {
  const found = (await queuesOf(engine)).find((queue) => queue.name === name);
  if (found !== undefined) return found;
  const hint = '"leasehold queues list" shows the queues; the first push or pause makes one.';
  throw fault('NOT_FOUND', { kind: 'queue', id: name }, { hint });
}

function sweepOf(snapshot: EngineSnapshot, body: RequestOf<'purgeQueue'>): Sweep {
  const { dryRun = false, expected, limit = PER_SWEEP, cursor } = body;
  return { dryRun, expected, limit, before: cursor === undefined ? undefined : snapshot.numberOf(cursor) };
}

/** Tasks in one write: more would hold up other writers of the store. */
const BATCH = 250;

/** Changes many tasks of a queue, in batches from the newest down. Tasks that are pushed meanwhile are newer, and stay. */
class Sweeps {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Cancels waiting tasks. */
  async purge(queue: QueueView, sweep: Sweep): Promise<PurgedView> {
    const begun = this.#begin(queue, ['ready', 'scheduled'], sweep);
    let [cancelled, asked] = [0, 0];
    if (sweep.dryRun) return { ...begun, cancelled, asked };
    const cursor = await this.#each(queue.name, ['ready', 'scheduled'], sweep, async (tasks) => {
      const answers = await this.#engine.cancelMany(tasks);
      cancelled += answers.filter((answer) => answer === 'cancelled').length;
      asked += answers.filter((answer) => answer === 'requested').length;
    });
    return { ...begun, cancelled, asked, ...cursor };
  }

  /** Retries tasks that have ended in one of these states. */
  async retry(queue: QueueView, states: readonly FinalState[], sweep: Sweep): Promise<RetriedView> {
    const begun = this.#begin(queue, states, sweep);
    let retried = 0;
    if (sweep.dryRun) return { ...begun, retried };
    const cursor = await this.#each(queue.name, states, sweep, async (tasks) => {
      retried += (await this.#engine.retryMany(tasks)).filter(({ ok }) => ok).length;
    });
    return { ...begun, retried, ...cursor };
  }

  #begin(
    queue: QueueView,
    states: readonly (keyof QueueStats)[],
    { dryRun, expected, before }: Sweep,
  ): Omit<PurgedView & RetriedView, 'cancelled' | 'asked' | 'retried'> {
    const found = [...new Set(states)].reduce((sum, state) => sum + queue[state], 0);
    if (!dryRun && before === undefined) requireExpected(found, expected);
    return { queue: queue.name, found, dryRun };
  }

  async #each(
    queue: string,
    states: readonly TaskState[],
    { limit, before: from }: Sweep,
    act: (tasks: readonly number[]) => Promise<void>,
  ): Promise<{ readonly cursor?: string }> {
    let before = from;
    for (let left = limit; ; ) {
      const count = Math.min(BATCH, left);
      const page = await this.#engine.list({
        queue,
        states,
        limit: count,
        ...(before === undefined ? {} : { before }),
      });
      if (page.length > 0) await act(page.map(({ task }) => task));
      if (page.length < count) return {};
      const last = page.at(-1) as TaskRecord;
      before = last.task;
      left -= count;
      if (left === 0) return { cursor: this.#engine.idOf(last) };
    }
  }
}

function requireExpected(found: number, expected: number | undefined): void {
  if (expected === undefined) {
    const hint = 'Make a dry run, and give its number as expected.';
    throw fault('INVALID_INPUT', { field: 'body.expected', problem: 'it must be the number of tasks' }, { hint });
  }
  if (found > expected) {
    throw fault('CONFLICT', {
      problem: `there are ${found} tasks now, and ${expected} were expected`,
      found,
      expected,
    });
  }
}
