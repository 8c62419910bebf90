/** Children of the benchmark: started here, and none outlives it. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Contender } from './contenders/contender.ts';
import type { StoreName } from './contenders/index.ts';
import type { JobArgs, JobName, JobResult } from './jobs/index.ts';
import { micros, type Order, type Report } from './jobs/line.ts';

/** Which store the contenders of this run are for: the first argument of every child. */
let store: StoreName = 'sqlite';
export function useStore(name: StoreName): void {
  store = name;
}

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));
const TIME_LIMIT_MS = 60_000;
const BARRIER_MS = 20;

const alive = new Set<ChildProcess>();
process.on('exit', () => killChildren());

export function killChildren(): void {
  for (const child of alive) child.kill('SIGKILL');
}

/** It is killed when the bench ends. */
export function keep(child: ChildProcess): void {
  alive.add(child);
  child.on('exit', () => alive.delete(child));
}

export class Child<K extends JobName> {
  readonly ready: Promise<void>;
  readonly result: Promise<JobResult<K>>;
  #count = 0;
  readonly #process: ChildProcess;

  /** `tasks`: how many it has before it; a millisecond each is the most that is waited for. */
  constructor(contender: Contender, job: K, place: string, args: JobArgs<K>, tasks = 0) {
    const child = fork(CHILD, [store, contender.name, job, place, JSON.stringify(args)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: ['--disable-warning=DeprecationWarning'], // of peers, in every process
    });
    keep(child);
    this.#process = child;
    const ready = Promise.withResolvers<void>();
    const result = Promise.withResolvers<JobResult<K>>();
    this.ready = ready.promise;
    this.result = result.promise;
    const fail = (message: string): void => {
      const error = new Error(`${contender.name}, ${job}: ${message}`);
      ready.reject(error);
      result.reject(error);
    };
    this.ready.catch(() => {}); // whoever waits hears of it; nobody has to
    this.result.catch(() => {});
    let value: { readonly result: JobResult<K> } | undefined;
    const limit = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT_MS + tasks);
    child.on('message', (report: Report) => {
      if (report.kind === 'ready') ready.resolve();
      else if (report.kind === 'progress') this.#count = report.count;
      else if (report.kind === 'error') fail(report.message);
      else value = { result: report.value as JobResult<K> };
    });
    child.on('error', (error) => fail(error.message));
    child.on('exit', (code, signal) => {
      clearTimeout(limit);
      if (value)
        result.resolve(value.result); // only now: the store is closed and the cores are free
      else fail(`ended early (${signal ?? code})`);
    });
  }

  /** What it told last. */
  get count(): number {
    return this.#count;
  }

  order(order: Order): void {
    this.#process.send(order);
  }
}

/** Runs a job in a process of its own. */
export function run<K extends JobName>(
  contender: Contender,
  job: K,
  place: string,
  args: JobArgs<K>,
  tasks = 0,
): Promise<JobResult<K>> {
  return new Child(contender, job, place, args, tasks).result;
}

/** Starts all of them at the same instant, which it returns (monotonic µs). */
export async function go(children: readonly Child<JobName>[]): Promise<number> {
  await Promise.all(children.map((child) => child.ready));
  const at = micros() + BARRIER_MS * 1000;
  for (const child of children) child.order({ kind: 'go', at });
  return at;
}

/** Waits until the children told `total` together, then stops them and gives their results. */
export async function finish<K extends JobName>(children: readonly Child<K>[], total: number): Promise<JobResult<K>[]> {
  const results = Promise.all(children.map((child) => child.result));
  const reached = Promise.withResolvers<void>();
  const look = setInterval(() => {
    if (children.reduce((sum, child) => sum + child.count, 0) >= total) reached.resolve();
  }, 5);
  try {
    await Promise.race([reached.promise, results]);
  } finally {
    clearInterval(look);
  }
  for (const child of children) child.order({ kind: 'stop' });
  return await results;
}
