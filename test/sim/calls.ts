import { EngineError } from '../../src/core/errors.ts';
import type { Status } from './history.ts';
import type { Run } from './run.ts';
import type { Owner } from './scheduler.ts';

/** How long somebody waits for an answer. */
const PATIENCE_MS = 2000;
const TIMES = 4;

export interface Answered<T> {
  readonly status: Status;
  readonly value?: T;
}

/** A call that nobody answers in time has an unknown outcome, and so has one that ends in a fault of the world. */
export async function outcome<T>(run: Run, owner: Owner, call: Promise<T>): Promise<Answered<T>> {
  const late = new Promise<{ status: Status }>((resolve) => {
    run.scheduler.in(PATIENCE_MS, owner, () => resolve({ status: 'unknown' }));
  });
  const answer = call.then(
    (value) => ({ status: 'ok' as const, value }),
    (error: unknown) => {
      if (!(error instanceof EngineError)) throw error;
      return { status: error.retryable ? ('unknown' as const) : ('refused' as const) };
    },
  );
  return Promise.race([answer, late]);
}

/** Asks again while no answer comes: for calls that may be repeated. */
export async function patiently<T>(run: Run, owner: Owner, call: () => Promise<T>): Promise<Answered<T>> {
  for (let i = 1; ; i++) {
    const answered = await outcome(run, owner, call());
    if (answered.status !== 'unknown' || i === TIMES) return answered;
  }
}

export function sleep(run: Run, owner: Owner, ms: number): Promise<void> {
  return new Promise((resolve) => void run.scheduler.in(ms, owner, resolve));
}
