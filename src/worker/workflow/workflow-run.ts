/**
 * One attempt at a run of a code workflow, over the turns of its task. The function runs from its beginning; what earlier attempts have recorded is
 * given to it again, and it goes on from there. When it can do nothing but wait, the attempt parks and gives its slot back.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CATALOGUE, fault, isEngineError } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { World } from '../../core/world.ts';
import { recordedIn } from '../../flow/workflow/forked.ts';
import {
  BrokenJournal,
  checkPlaceName,
  type History,
  type Place,
  type PlaceKind,
  placeOf,
  type Recorded,
  readHistory,
  type StoredError,
  sayPlace,
} from '../../flow/workflow/workflow-journal.ts';
import type { Turned, TurnThen } from '../../protocol/link.ts';
import type { DrivenAttempt } from '../define/definition.ts';
import { outcomeOf } from '../define/outcome.ts';
import type { RunOutcome } from '../runner/runner.ts';
import { type Asked, Deliveries } from './deliveries.ts';
import { Parking } from './parking.ts';
import { StepError, storedError } from './step-error.ts';
import { type NewEntry, TurnWriter } from './turn-writer.ts';

/** For tests: what a step does instead, by its name. */
export type ReplacedSteps = (name: string) => ((step: unknown) => unknown) | undefined;

export type WorkflowBody = (run: WorkflowRun) => Promise<unknown>;

interface Call<T> {
  /** Of a recorded result that is no error. */
  readonly read: (value: string | undefined) => T;
  /** Nothing is recorded: does what it takes, and settles the call. */
  readonly begin: (settle: Settle) => void;
}

export interface Settle {
  /** Writes the entries, and gives the value to the workflow. */
  done(entry: NewEntry, value: unknown): void;
  failed(error: StoredError): void;
}

const within = new AsyncLocalStorage<WorkflowRun>();
const EMPTY: History = { outcomes: [], born: new Map(), notes: new Map(), next: 1 };
const DEEPEST_CAUSE = 10;
const LONGEST_STACK = 8000;
const MOST_BESIDE = 2000;

export class WorkflowRun {
  readonly attempt: DrivenAttempt;
  readonly world: World;
  readonly replaced: ReplacedSteps | undefined;
  readonly #over = Promise.withResolvers<RunOutcome>();
  readonly #counts = new Map<string, number>();
  /** Calls without a result. */
  readonly #open = new Set<string>();
  /** Effects that are under way. */
  readonly #running = new Set<Promise<unknown>>();
  /** Where each error came from that the workflow has been given. */
  readonly #causes = new WeakMap<object, { readonly again: number; readonly beside: readonly string[] }>();
  readonly #stop = new AbortController();
  #history: History = EMPTY;
  #writer: TurnWriter;
  #deliveries: Deliveries;
  #parking: Parking;
  #ended = false;
  #left = false;

  constructor(attempt: DrivenAttempt, world: World, replaced?: ReplacedSteps) {
    this.attempt = attempt;
    this.world = world;
    this.replaced = replaced;
    this.#writer = new TurnWriter(attempt.session, EMPTY.next);
    this.#deliveries = this.#deliveriesOf(EMPTY);
    this.#parking = this.#parkingOf(EMPTY);
  }

  /** Rejects for faults of the attempt itself: a lost lease, a stop. */
  async drive(body: WorkflowBody): Promise<RunOutcome> {
    const { request, signal } = this.attempt;
    const onAbort = (): void => this.#stopped(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      signal.throwIfAborted();
      const before = recordedIn(request.payload);
      if (request.attempt > 1 || before.length > 0) await this.#load(before);
      const running = (async () => body(this))();
      running.then(
        (value) => this.#finish(() => this.#complete(value)),
        (error: unknown) => this.#finish(() => this.#fail(error)),
      );
      this.#deliveries.stir();
      return await this.#over.promise;
    } catch (error) {
      // Another try would read the same, or be refused the same.
      if (error instanceof BrokenJournal || isRefused(error)) return { kind: 'giveUp', error };
      throw error;
    } finally {
      this.#leave();
      signal.removeEventListener('abort', onAbort);
    }
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#history.notes;
  }

  hasOutcome(key: string): boolean {
    return this.#history.outcomes.some(({ place }) => place === key);
  }

  get waits(): Parking {
    return this.#parking;
  }

  /** Aborts when the workflow has ended, or the attempt should. */
  get stopSteps(): AbortSignal {
    return this.#stop.signal;
  }

  /** Takes the place synchronously, so that the order of the calls counts. */
  enter(kind: PlaceKind, name: string): Place {
    if (this.#ended) throw fault('CONFLICT', { problem: `the workflow has ended, and ${kind} ${name} came after it` });
    if (within.getStore() === this) {
      const problem = 'it is inside of a step, which would hide it from the next attempt';
      throw fault('INVALID_INPUT', { field: `${kind} ${name}`, problem }, { hint: 'Call it in the workflow itself.' });
    }
    const counted = `${kind}:${checkPlaceName(kind, name)}`;
    const nth = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, nth + 1);
    return placeOf(kind, name, nth);
  }

  /** A call whose result is recorded in the order in which it came. */
  call<T>(place: Place, { read, begin }: Call<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // A promise that nobody awaits must not end the process.
    promise.catch(() => {});
    this.#open.add(place.key);
    const fail = (stored: StoredError, ordinal: number): void => {
      this.#open.delete(place.key);
      const error = new StepError(place.key, stored);
      this.#causes.set(error, { again: ordinal, beside: [...this.#open].slice(0, MOST_BESIDE) });
      reject(error);
    };
    const succeed = (value: T): void => {
      this.#open.delete(place.key);
      resolve(value);
    };
    const settle: Settle = {
      done: (entry, value) =>
        this.#give(() => {
          this.note(entry);
          succeed(value as T);
        }),
      failed: (error) =>
        this.#give(() => fail(error, this.note({ what: `error:${place.key}`, kind: 'mark', value: error }))),
    };
    const asked: Asked = {
      key: place.key,
      recorded: ({ value, error, ordinal }) => (error === undefined ? succeed(read(value)) : fail(error, ordinal)),
      begin: () => this.#guard(() => begin(settle)),
    };
    this.#deliveries.ask(asked);
    return promise;
  }

  note(entry: NewEntry): number {
    return this.#writer.note(entry);
  }

  /** Something has changed that may let the attempt go on, or park. */
  stir(): void {
    this.#deliveries.stir();
  }

  /** Work that holds the slot. */
  run(work: () => Promise<void>): void {
    const running = work().catch((error: unknown) => this.#broke(error));
    this.#running.add(running);
    void running.then(() => {
      this.#running.delete(running);
      this.stir();
    });
  }

  /** All that was noted is stored before an effect begins. False: the attempt is over. */
  async beforeEffect(): Promise<boolean> {
    while (!this.#writer.over) {
      const flushing = this.#writer.flush();
      if (flushing === undefined) break;
      await flushing;
    }
    if (this.#writer.over) this.#parked();
    else this.attempt.signal.throwIfAborted();
    return !this.#left && !this.#ended;
  }

  /** Calls the code of a step, which must not call the workflow. */
  inStep<T>(fn: () => T): T {
    return within.run(this, fn);
  }

  /** Commits what was noted, and leaves the lease or not. */
  async leaveWith(then: () => TurnThen): Promise<Turned> {
    const turned = await this.#writer.leave(then);
    if (this.#writer.over) this.#parked();
    return turned;
  }

  async #load(before: readonly Recorded[]): Promise<void> {
    const { request, session } = this.attempt;
    const own = request.attempt > 1 ? await session.journal() : [];
    this.#history = readHistory([...before, ...own]);
    this.#writer = new TurnWriter(this.attempt.session, Math.max(1, this.#history.next));
    this.#deliveries = this.#deliveriesOf(this.#history);
    this.#parking = this.#parkingOf(this.#history);
    const ended = this.#history.outcomes.filter(({ place, value, error }) => {
      return value === undefined && error === undefined && this.#history.born.has(place);
    });
    await this.#parking.readResults(ended.map(({ place }) => place));
  }

  #deliveriesOf({ outcomes }: History): Deliveries {
    return new Deliveries(outcomes, {
      timers: this.world.timers,
      onRest: () => this.#rest(),
      onDiverged: (expected, came) => this.#diverged(expected, came === undefined ? 'nothing' : sayPlace(came)),
    });
  }

  #parkingOf(history: History): Parking {
    const { born, notes } = history;
    return new Parking({ run: this, born: new Map(born), notes, mayHaveWaited: this.attempt.request.attempt > 1 });
  }

  /** Of a workflow that has ended the result is kept, and nobody hears of it. */
  #give(deliver: () => void): void {
    if (this.#left) return;
    if (this.#ended) this.#guard(deliver);
    else this.#deliveries.add(() => this.#guard(deliver));
  }

  /** The workflow waits for something. */
  #rest(): void {
    if (this.#left || this.#ended || this.#parking.busy) return;
    if (this.#running.size > 0 || this.#parking.isEmpty) {
      // Others are under way, or it awaits something of its own: what is there is stored meanwhile.
      if (this.#writer.waiting) {
        this.#writer.flush()?.then(
          () => (this.#writer.over ? this.#parked() : undefined),
          (error: unknown) => this.#broke(error),
        );
      }
      if (this.#running.size > 0) this.#parking.lookLater();
      return;
    }
    this.#parking.park().then(
      () => this.stir(),
      (error: unknown) => this.#broke(error),
    );
  }

  #diverged(expected: string, came: string): void {
    const error = fault('REPLAY_DIVERGED', { expected: sayPlace(expected), came });
    this.#over.resolve({ kind: 'giveUp', error });
    this.#leave();
  }

  #finish(act: () => Promise<RunOutcome | undefined>): void {
    if (this.#left) return;
    this.#ended = true;
    (async () => {
      this.#deliveries.close();
      this.#stop.abort(new Error('the workflow has ended'));
      // What they give is worth keeping if the run is tried again, and their effects belong to this attempt.
      while (this.#running.size > 0) await Promise.allSettled(this.#running);
      const outcome = await act();
      this.#over.resolve(outcome ?? { kind: 'parked' });
    })().catch((error: unknown) => this.#broke(error));
  }

  async #complete(value: unknown): Promise<RunOutcome | undefined> {
    const unread = this.#deliveries.unread;
    if (unread !== undefined) {
      return { kind: 'giveUp', error: fault('REPLAY_DIVERGED', { expected: sayPlace(unread), came: 'the end' }) };
    }
    const outcome = outcomeOf(value);
    if (outcome.kind === 'giveUp') return this.#fail(outcome.error);
    if (outcome.kind === 'retryAfter') {
      await this.beforeEffect();
      return outcome;
    }
    const result = outcome.kind === 'done' ? outcome.result : undefined;
    try {
      encodePayload(result ?? null, { field: 'result' });
    } catch (error) {
      return this.#fail(error);
    }
    await this.#end({ go: 'complete', result });
    return undefined;
  }

  /** When it is tried again, the run goes back to what failed it. */
  async #fail(error: unknown): Promise<undefined> {
    const cause = this.#causeOf(error, 0);
    this.note({ what: 'failed', kind: 'mark', value: cause ?? {} });
    const stack = error instanceof Error ? error.stack?.slice(0, LONGEST_STACK).toWellFormed() : undefined;
    const told =
      error instanceof StepError
        ? error.toJSON()
        : { ...storedError(error), ...(stack === undefined ? {} : { stack: stack.replaceAll('\u0000', ' ') }) };
    await this.#end({ go: 'fail', error: told, giveUp: true });
  }

  async #end(then: TurnThen): Promise<void> {
    // A child that is refused with the end is refused alone, and the end is said again.
    while (!this.#writer.over) await this.#writer.leave(() => then);
  }

  #causeOf(error: unknown, depth: number): { readonly again: number; readonly beside: readonly string[] } | undefined {
    if (typeof error !== 'object' || error === null || depth > DEEPEST_CAUSE) return undefined;
    const own = this.#causes.get(error);
    if (own !== undefined) return own;
    const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
    const below = [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])];
    const found = below.flatMap((one) => this.#causeOf(one, depth + 1) ?? []);
    return found.toSorted((a, b) => a.again - b.again)[0];
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#broke(error);
    }
  }

  #broke(error: unknown): void {
    this.#over.reject(error as Error);
    this.#leave();
  }

  #parked(): void {
    this.#over.resolve({ kind: 'parked' });
    this.#leave();
  }

  #stopped(reason: unknown): void {
    // It asked for that itself.
    if ((reason as { readonly why?: unknown } | undefined)?.why === 'parked') return;
    this.#broke(reason);
  }

  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#deliveries.close();
    this.#parking.close();
    this.#stop.abort(new Error('the attempt is over'));
  }
}

/** The node takes what the workflow wrote from nobody. A conflict says that the attempt was told to stop. */
function isRefused(error: unknown): boolean {
  if (!isEngineError(error) || error.retryable || error.code === 'CONFLICT') return false;
  return CATALOGUE[error.code].family === 'request';
}
