/** A pool on simulated time: tasks come, workers start, take one task after the other, and go. */
import type { Arrival } from './days.ts';
import type { Policy, Seen } from './policies.ts';

export interface Outcome {
  /** Seconds from the arrival of each task to its start. */
  readonly waits: readonly number[];
  /** From the order of a worker to its end, as a cloud bills it. */
  readonly workerHours: number;
  readonly most: number;
  /** How many workers were there, each time that it changed. */
  readonly sizes: readonly (readonly [at: number, workers: number])[];
}

interface Worker {
  readonly id: number;
  readonly orderedAt: number;
  busy: boolean;
  idleSince: number;
}

type Happening = { readonly at: number; readonly does: () => void };

/** A worker that was ordered can take a task so long afterwards, as one in a cloud. */
export const START = 20;

export function simulate(arrivals: readonly Arrival[], policy: Policy): Outcome {
  const decide = policy.make();
  const queue = new Agenda();
  const waiting: Arrival[] = [];
  let taken = 0;
  const workers = new Map<number, Worker>();
  const waits: number[] = [];
  const sizes: (readonly [number, number])[] = [];
  let [now, ids, starting, workerSeconds, most] = [0, 0, 0, 0, 0];
  let lookAt = Number.POSITIVE_INFINITY;

  const size = (): number => starting + workers.size;
  const changed = (): void => {
    most = Math.max(most, size());
    sizes.push([now, size()]);
  };
  const end = (worker: Worker): void => {
    workers.delete(worker.id);
    workerSeconds += now - worker.orderedAt;
    changed();
  };
  const take = (worker: Worker): void => {
    const task = waiting[taken];
    if (task === undefined) return;
    taken++;
    worker.busy = true;
    waits.push(now - task.at);
    queue.add(now + task.takes, () => {
      worker.busy = false;
      worker.idleSince = now;
      if (policy.once === true) end(worker);
      else take(worker);
    });
  };
  const come = (orderedAt: number): void => {
    ids += 1;
    const worker = { id: ids, orderedAt, busy: false, idleSince: now };
    workers.set(ids, worker);
    take(worker);
  };
  const order = (): void => {
    const orderedAt = now;
    starting++;
    changed();
    queue.add(now + START, () => {
      starting--;
      come(orderedAt);
    });
  };
  const look = (): void => {
    const seen: Seen = {
      now,
      waiting: waiting.length - taken,
      oldestAge: now - (waiting[taken]?.at ?? now),
      starting,
      workers: [...workers.values()].map(({ id, busy, idleSince }) => ({
        id,
        busy,
        idleFor: busy ? 0 : now - idleSince,
      })),
    };
    const { start, stop, again } = decide(seen);
    for (let i = 0; i < start; i++) order();
    for (const id of stop) {
      const worker = workers.get(id);
      if (worker === undefined || worker.busy) throw new Error(`the policy stops worker ${id}, which works`);
      end(worker);
    }
    // The end of a worker is looked at, like everything that happens.
    if (stop.length > 0) queue.add(now, () => {});
    if (again === undefined || now + again >= lookAt) return;
    lookAt = now + again;
    queue.add(lookAt, () => {
      if (lookAt === now) lookAt = Number.POSITIVE_INFINITY;
    });
  };

  for (let i = 0; i < policy.from; i++) come(0);
  changed();
  for (const arrival of arrivals) {
    queue.add(arrival.at, () => {
      waiting.push(arrival);
      const idle = [...workers.values()].find(({ busy }) => !busy);
      if (idle !== undefined) take(idle);
    });
  }
  const beat = policy.every;
  const over = (): boolean => taken === arrivals.length && [...workers.values()].every(({ busy }) => !busy);
  const beatOnce = (): void => {
    look();
    if (!over()) queue.add(now + (beat as number), beatOnce);
  };
  if (beat !== undefined) queue.add(beat, beatOnce);
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    now = next.at;
    next.does();
    if (beat === undefined) look();
    if (over() && policy.from > 0) break;
  }
  // Who is still there has been paid for until now.
  for (const worker of workers.values()) end(worker);
  return { waits, workerHours: workerSeconds / 3600, most, sizes };
}

/** A heap by time; of two at once the one that was added first goes first. */
class Agenda {
  readonly #heap: (Happening & { readonly number: number })[] = [];
  #added = 0;

  add(at: number, does: () => void): void {
    const heap = this.#heap;
    let i = heap.push({ at, does, number: this.#added++ }) - 1;
    for (let parent = (i - 1) >> 1; i > 0 && this.#before(i, parent); parent = (i - 1) >> 1) {
      this.#swap(i, parent);
      i = parent;
    }
  }

  take(): Happening | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    heap[0] = last;
    for (let i = 0; ; ) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      const least = right < heap.length && this.#before(right, left) ? right : left;
      if (least >= heap.length || !this.#before(least, i)) return first;
      this.#swap(i, least);
      i = least;
    }
  }

  #before(i: number, j: number): boolean {
    const [a, b] = [this.#heap[i], this.#heap[j]];
    if (a === undefined || b === undefined) return false;
    return a.at < b.at || (a.at === b.at && a.number < b.number);
  }

  #swap(i: number, j: number): void {
    const [a, b] = [this.#heap[i], this.#heap[j]];
    if (a === undefined || b === undefined) return;
    this.#heap[i] = b;
    this.#heap[j] = a;
  }
}
