/** Bulk jobs: one action on many tasks, one by one and at a rate, until done or stopped. A job ends with the page. */

import { errorText } from '../api.ts';
import { Signal } from './signal.ts';

export interface Job {
  readonly id: number;
  readonly title: string;
  readonly total: number;
  readonly done: number;
  readonly refused: number;
  readonly problem: string;
  readonly state: 'running' | 'completed' | 'cancelled';
  readonly stop: () => void;
}

export const jobs = new Signal<readonly Job[]>([]);
let next = 1;

export interface JobPlan {
  readonly title: string;
  readonly ids: readonly string[];
  readonly act: (id: string) => Promise<unknown>;
  /** The most calls in a second; by default as fast as eight at once can go. */
  readonly perSecond?: number;
}

export function startJob({ title, ids, act, perSecond }: JobPlan): number {
  const id = next++;
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  const change = (part: (job: Job) => Partial<Job>): void =>
    jobs.update((all) => all.map((job) => (job.id === id ? { ...job, ...part(job) } : job)));
  jobs.update((all) => [
    ...all,
    { id, title, total: ids.length, done: 0, refused: 0, problem: '', state: 'running', stop },
  ]);
  let at = 0;
  const began = performance.now();
  const one = async (): Promise<void> => {
    while (!stopped && at < ids.length) {
      const mine = at++;
      if (perSecond !== undefined) {
        // Paced by the clock, not by pauses, so that slow answers do not lower the rate.
        const wait = began + (mine / perSecond) * 1000 - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        if (stopped) return;
      }
      await act(ids[mine] as string).then(
        () => change((job) => ({ done: job.done + 1 })),
        (error: unknown) => change((job) => ({ refused: job.refused + 1, problem: errorText(error) })),
      );
    }
  };
  void Promise.all(
    Array.from({ length: perSecond === undefined ? 8 : Math.min(8, Math.max(1, Math.ceil(perSecond / 4))) }, one),
  ).then(() => {
    change((job) => ({ state: job.done + job.refused < job.total ? 'cancelled' : 'completed' }));
  });
  return id;
}

export function dismissJob(id: number): void {
  jobs.update((all) => all.filter((job) => job.id !== id));
}

addEventListener('beforeunload', (event) => {
  if (jobs.value.some(({ state }) => state === 'running')) event.preventDefault();
});
