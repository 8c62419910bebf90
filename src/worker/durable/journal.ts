import { AsyncLocalStorage } from 'node:async_hooks';
import { type EngineError, fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import { encodePayload, entryBounds } from '../../core/task/payload.ts';
import type { ChildRequest, Turned, ValueEntry, WaitFor } from '../../protocol/link.ts';
import type { AttemptSession, RunRequest } from '../runner/runner.ts';
import { TurnBatcher } from './turn-batcher.ts';

/** The kinds of durable calls. The calls of each kind are counted separately. */
export type PlaceKind = 'step' | 'list' | 'wait' | 'spawn';

export interface JournalParts {
  readonly session: AttemptSession;
  readonly request: Pick<RunRequest, 'id' | 'attempt'>;
  readonly signal: () => AbortSignal;
}

/** Leaves room in a key for the rest of it: the id of the task, the kind and the count. */
const LONGEST_NAME = 150;
const RESERVED = /^(?:wait|spawn):/;

/** Thrown by a wait that parks, to end the handler. The attempt is over even if the handler catches it. */
export class ParkedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ParkedError';
  }
}

/** The step that the current code runs in. */
const within = new AsyncLocalStorage<{ readonly journal: Journal; over: boolean }>();

/**
 * The journal of one attempt: which places of its handler it has reached, what earlier attempts have stored there, and whether it
 * has parked.
 *
 *   a step, a push, a spawn ──> waits while a wait parks ──> is under way ──> done
 *   a wait ──> waits for the other waits, and for all that is under way ──> parks ──> woken at once, or the attempt ends
 */
export class Journal {
  readonly id: string;
  readonly attempt: number;
  readonly session: AttemptSession;
  readonly #signal: () => AbortSignal;
  readonly #counts = new Map<string, number>();
  /** Names of calls that are under way. */
  readonly #taken = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #uncertain = new WeakSet<object>();
  readonly #batcher: TurnBatcher;
  #known: Promise<Map<string, string>> | undefined;
  /** The same, once it is there. */
  #read: ReadonlyMap<string, string> | undefined;
  /** The wait that is under way. */
  #turn: Promise<unknown> | undefined;
  #parkedError: ParkedError | undefined;

  constructor({ session, request, signal }: JournalParts) {
    this.session = session;
    this.id = request.id;
    this.attempt = request.attempt;
    this.#signal = signal;
    this.#batcher = new TurnBatcher(session);
  }

  /** The attempt has parked, or was ended when it asked to. Waits that the handler did not await end first. */
  async hasParked(): Promise<boolean> {
    while (this.#turn !== undefined) await this.#turn;
    return this.#parkedError !== undefined;
  }

  /** Runs `act` in the next place of this name. A failed call gives its place back, so that it can be tried again. */
  at<T>(kind: PlaceKind, name: string, act: (place: string) => Promise<T>): Promise<T> {
    const promise = this.#at(kind, name, act);
    // A promise that the handler does not await must not end the process.
    promise.catch(() => {});
    return promise;
  }

  async #at<T>(kind: PlaceKind, name: string, act: (place: string) => Promise<T>): Promise<T> {
    const { place, done, undo } = this.#enter(kind, name);
    try {
      return kind === 'wait' ? await this.#exclusively(() => act(place)) : await this.#alongside(() => act(place));
    } catch (error) {
      undo();
      throw error;
    } finally {
      done();
    }
  }

  /** Takes the place synchronously, so that the order of the calls counts. */
  #enter(
    kind: PlaceKind,
    name: string,
  ): { readonly place: string; readonly done: () => void; readonly undo: () => void } {
    checkName(kind, name);
    const inside = within.getStore();
    if (inside?.journal === this && !inside.over) {
      throw misuse(kind, name, 'it is inside of a step, which would hide it from the next attempt');
    }
    const full = `${kind} ${name}`;
    // Two steps or waits at once end in a random order. Children and list elements are numbered by the order of the calls alone.
    const alone = kind === 'step' || kind === 'wait';
    if (alone && this.#taken.has(full)) {
      throw misuse(
        kind,
        name,
        'it is under way already, and the next attempt could not tell which of the two is which',
      );
    }
    const count = this.#counts.get(full) ?? 0;
    this.#counts.set(full, count + 1);
    if (alone) this.#taken.add(full);
    return {
      place: kind === 'list' ? `${name}[${count}]` : `${name}#${count}`,
      done: () => void this.#taken.delete(full),
      undo: () => {
        if (this.#counts.get(full) === count + 1) this.#counts.set(full, count);
      },
    };
  }

  async #alongside<T>(act: () => Promise<T>): Promise<T> {
    while (this.#turn !== undefined) await this.#turn;
    this.#refuseParked();
    const work = act();
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async #exclusively<T>(act: () => Promise<T>): Promise<T> {
    while (this.#turn !== undefined) await this.#turn;
    this.#refuseParked();
    const work = (async () => {
      // Their results could not be stored any more once the lease is gone.
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
      return act();
    })();
    const over = work.then(
      () => this.#turnOver(),
      () => this.#turnOver(),
    );
    this.#turn = over;
    return work;
  }

  #turnOver(): void {
    this.#turn = undefined;
  }

  #refuseParked(): void {
    if (this.#parkedError !== undefined) throw this.#parkedError;
  }

  /** Calls the code of a step. A task that was told to stop begins no step. */
  async run<T>(fn: () => T | Promise<T>): Promise<T> {
    this.refuseStopped();
    const inside = { journal: this, over: false };
    try {
      return await within.run(inside, fn);
    } finally {
      inside.over = true;
    }
  }

  refuseStopped(): void {
    this.#signal().throwIfAborted();
  }

  /** Ends the attempt. Returns the error to throw into the handler. */
  endAttempt(message: string): ParkedError {
    this.#parkedError = new ParkedError(message);
    return this.#parkedError;
  }

  /** An error that fails the task for good, unless the handler catches it. */
  uncertain(step: string): Error {
    const error = fault('STEP_UNCERTAIN', { step, key: this.keyOf(step) });
    this.#uncertain.add(error);
    return error;
  }

  isUncertain(error: unknown): error is EngineError {
    return typeof error === 'object' && error !== null && this.#uncertain.has(error);
  }

  keyOf(place: string): string {
    return `${this.id}/${place}`;
  }

  /** The stored JSON text of a key. */
  async recall(key: string): Promise<string | undefined> {
    return (await this.#load()).get(key);
  }

  /** As `recall`, of what was read already. Without a moment in between: entries that are added at the same time share a turn. */
  recalled(key: string): string | undefined {
    return this.#read?.get(key);
  }

  /** Stores a value. Resolves to the stored JSON text, which an earlier attempt may have written. */
  async record(key: string, kind: ValueEntry['kind'], value: unknown, field: string): Promise<string> {
    // Refused here, with a name that the author of the handler knows.
    encodePayload(value ?? null, { field, ...entryBounds(kind) });
    const known = await this.#load();
    const text = await this.#counted(this.#batcher.add({ key, kind, value: value ?? null }));
    known.set(key, text);
    return text;
  }

  /** Like `record`, for a value that can be read again from the store: it goes with the next turn of this attempt. */
  async recordLater(key: string, kind: ValueEntry['kind'], value: unknown, field: string): Promise<string> {
    const text = encodePayload(value ?? null, { field, ...entryBounds(kind) });
    const known = await this.#load();
    this.#batcher.addLater({ key, kind, value: value ?? null });
    known.set(key, text);
    return text;
  }

  /** Starts a child. Resolves to the JSON text of its id and number. */
  async spawnChild(key: string, child: ChildRequest): Promise<string> {
    encodePayload(child.input);
    const known = await this.#load();
    const text = await this.#counted(this.#batcher.add({ key, kind: 'child', child }));
    known.set(key, text);
    return text;
  }

  /** Deferred entries go with it. Nothing else is under way when a wait begins. */
  park(wait: WaitFor): Promise<Turned> {
    return this.#batcher.park(wait);
  }

  async #counted(text: Promise<string | null>): Promise<string> {
    const counted = await text;
    if (counted === null) throw this.endAttempt('the task was cancelled: this attempt is over');
    return counted;
  }

  #load(): Promise<Map<string, string>> {
    if (this.#known === undefined) {
      const known = this.#stored();
      this.#known = known;
      known.catch(() => {
        this.#known = undefined;
      });
    }
    return this.#known;
  }

  async #stored(): Promise<Map<string, string>> {
    // The first attempt finds an empty journal.
    const stored = this.attempt === 1 ? [] : await this.session.journal();
    const known = new Map(stored.map(({ key, value }) => [key, value]));
    this.#read = known;
    return known;
  }
}

function checkName(kind: PlaceKind, name: unknown): void {
  const text = checkKey(`name of a ${kind}`, name);
  if (text.length > LONGEST_NAME) throw misuse(kind, text, `its name is longer than ${LONGEST_NAME} characters`);
  if (RESERVED.test(text)) throw misuse(kind, text, 'names that begin with "wait:" or "spawn:" are reserved');
}

export function misuse(kind: string, name: string, problem: string): Error {
  return fault(
    'INVALID_INPUT',
    { field: `${kind} ${name}`, problem },
    { hint: `Give each ${kind} a name of its own, and await it before the next of that name.` },
  );
}
