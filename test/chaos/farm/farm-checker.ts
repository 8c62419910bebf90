import { checkGraphs } from './farm-checker-graphs.ts';
import { checkLimits } from './farm-checker-limits.ts';
import { checkMemory } from './farm-checker-memory.ts';
import { checkSignals } from './farm-checker-signals.ts';
import { type Evidence, type Final, type Gates, keyOf } from './farm-evidence.ts';
import { GRACE_MS, KINDS, type Kind } from './farm-kinds.ts';
import type { Ask, End, Parted, Start, Struck, Told } from './farm-notes.ts';

export interface Verdict {
  readonly violations: readonly string[];
  readonly gates: Gates;
  readonly acknowledged: number;
  readonly starts: number;
  /** From the SIGKILL of a worker to the next start of what it had been running, ascending. */
  readonly againMs: readonly number[];
}

const KIND_OF: ReadonlyMap<string, Kind> = new Map(KINDS.map((kind) => [kind.name, kind]));
/** How long a worker of the farm waits for a handler that it has told to stop; a little less, for its own clock. */
const LADDER_MS = 2 * GRACE_MS - 10;
const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Holds what clients, handlers and workers wrote down against each other, and against what the reader was told. */
export function check(evidence: Evidence): Verdict {
  return new Checker(evidence).verdict();
}

interface Pushed {
  readonly key: string;
  readonly kind: string;
}

class Checker {
  readonly #evidence: Evidence;
  readonly #violations: string[] = [];
  readonly #finals: ReadonlyMap<string, Final>;
  readonly #asks = new Map<string, Ask>();
  readonly #told: Told[] = [];
  readonly #acknowledged = new Map<string, Pushed>();
  readonly #starts = new Map<string, Start>();
  readonly #ends = new Map<string, End>();
  readonly #parted: Parted[] = [];
  readonly #stopped = new Map<string, number>();
  readonly #struck: Struck[] = [];
  readonly #byWorker: ReadonlyMap<number | undefined, readonly Start[]>;
  readonly #gates: Gates = {
    busyKilled: 0,
    lateRefused: 0,
    drainReleased: 0,
    reaped: 0,
    suspectAlone: 0,
    suspectShielded: 0,
    childTimedOut: 0,
    childDied: 0,
    workersKilledByTasks: 0,
    cancelledWhileRunning: 0,
    limitedReaped: 0,
    wokenReaped: 0,
    stepsRecalled: 0,
    stepsRepeated: 0,
    signalsTaken: 0,
    signalsKept: 0,
    waitsTimedOut: 0,
    startsTimedOut: 0,
    doomed: 0,
  };

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    this.#finals = new Map(evidence.finals.map((final) => [final.id, final]));
    const idOf = new Map(evidence.finals.map(({ task, id }) => [String(task), id]));
    for (const note of evidence.notes) {
      if (note.note === 'ask') this.#asks.set(note.call, note);
      else if (note.note === 'told') this.#told.push(note);
      else if (note.note === 'start') this.#start(note, idOf);
      else if (note.note === 'end') this.#ends.set(`${note.id}/${note.attempt}`, note);
      else if (note.note === 'parted') this.#parted.push(note);
      else if (note.note === 'stopped') this.#stopped.set(`${note.id}/${note.attempt}`, note.at);
      else if (note.note === 'struck') this.#struck.push(note);
    }
    const starts = [...this.#starts.values()].toSorted((a, b) => a.at - b.at);
    this.#byWorker = Map.groupBy(starts, ({ worker }) => worker);
  }

  verdict(): Verdict {
    this.#pushes();
    this.#cancels();
    for (const final of this.#evidence.finals) this.#task(final);
    this.#settled();
    this.#counters();
    this.#deaths();
    this.#suspects();
    this.#drains();
    this.#scheduled();
    return {
      violations: this.#violations,
      gates: this.#gates,
      acknowledged: this.#acknowledged.size,
      starts: this.#starts.size,
      againMs: this.#againMs(),
    };
  }

  #scheduled(): void {
    const it = {
      evidence: this.#evidence,
      finals: this.#finals,
      idOfKey: new Map(this.#evidence.finals.map(({ id, payload }) => [keyOf(payload), id])),
      starts: this.#starts,
      ends: this.#ends,
      gates: this.#gates,
      wrong: (problem: string) => this.#wrong(problem),
    };
    checkLimits(it);
    checkMemory(it);
    checkSignals(it);
    checkGraphs(it);
  }

  #wrong(problem: string): void {
    this.#violations.push(problem);
  }

  #start(note: Start, idOf: ReadonlyMap<string, string>): void {
    const [task = '', number] = note.lease?.split('/') ?? [];
    const start = note.lease === undefined ? note : { ...note, id: idOf.get(task) ?? task, attempt: Number(number) };
    const key = `${start.id}/${start.attempt}`;
    if (this.#starts.has(key)) this.#wrong(`${key} was started twice`);
    this.#starts.set(key, start);
    const final = this.#finals.get(start.id as string);
    if (final === undefined) this.#wrong(`${key} was started, and nobody knows the task`);
    else if ((start.attempt as number) > final.attempt) this.#wrong(`${key} is newer than its task`);
    if ((start.tries ?? 0) > (start.max ?? 1)) this.#wrong(`${key} was try ${start.tries} of ${start.max}`);
  }

  /** What was acknowledged is there and ended; what is there was asked for, and once. */
  #pushes(): void {
    const asked = new Map<string, string>();
    const idOfKey = new Map<string, string>();
    for (const ask of this.#asks.values()) {
      if (ask.verb === 'push') for (const key of ask.keys) asked.set(key, ask.kind);
    }
    for (const note of this.#evidence.notes) {
      if (note.note === 'spawns') for (const key of note.keys) asked.set(key, 'offspring');
    }
    for (const { call, pushed = [] } of this.#told) {
      const { keys, kind } = this.#asks.get(call) as Ask;
      for (const [i, { id }] of pushed.entries()) {
        const key = keys[i] as string;
        if ((idOfKey.get(key) ?? id) !== id) this.#wrong(`${key} was acknowledged as ${idOfKey.get(key)} and as ${id}`);
        idOfKey.set(key, id);
        this.#acknowledged.set(id, { key, kind });
        if (!this.#finals.has(id)) this.#wrong(`lost: ${key} was acknowledged as ${id}, which is not there`);
      }
    }
    const seen = new Set<string>();
    for (const { id, payload } of this.#evidence.finals) {
      const key = keyOf(payload);
      if (!asked.has(key)) this.#wrong(`invented: nobody asked for ${id}, ${payload}`);
      if (seen.has(key)) this.#wrong(`invented: ${key} is there twice`);
      seen.add(key);
      if (idOfKey.has(key) && idOfKey.get(key) !== id) this.#wrong(`${key} is ${id}, told as ${idOfKey.get(key)}`);
    }
  }

  #cancels(): void {
    for (const { call, cancel } of this.#told) {
      const ask = this.#asks.get(call) as Ask;
      if (ask.verb !== 'cancel' || cancel === undefined) continue;
      const id = ask.keys[0] as string;
      const state = this.#finals.get(id)?.state;
      if (cancel === 'cancelled' && state !== 'cancelled') this.#wrong(`${id} was cancelled, and is ${state}`);
    }
    for (const note of this.#evidence.notes) {
      if (note.note !== 'saw') continue;
      const state = this.#finals.get(note.id)?.state;
      if (state !== note.state) this.#wrong(`${note.id} was seen ${note.state}, and is ${state}`);
      for (const start of this.#starts.values()) {
        if (start.id === note.id && start.at > note.at && !this.#startedLate(start)) {
          this.#wrong(
            `${note.id}/${start.attempt} was started after it was ${note.state}${this.#aboutStart(start, note.at)}`,
          );
        }
      }
    }
    for (const { why } of this.#ends.values()) if (why === 'cancelled') this.#gates.cancelledWhileRunning++;
  }

  /** One task: it has ended as its kind does, its attempts and tries add up, and its result is that of its attempt. */
  #task(final: Final): void {
    const { id, state, attempt, tries, maxTries, attempts } = final;
    if (!FINAL.has(state)) this.#wrong(`lost: ${id} (${final.handler}) is ${state}, attempt ${attempt}`);
    let charged = 0;
    const numbers = attempts.map((one) => one.attempt);
    const simple = attempt === 1 && state === 'completed';
    const gone = numbers.length === attempt; // the last one did not end it either: the reaper or a cancel did
    if (!simple && !numbers.every((number, i) => number === i + 1)) this.#wrong(`${id} has the attempts ${numbers}`);
    if (!simple && numbers.length < attempt - 1) this.#wrong(`${id} is at ${attempt} and has the attempts ${numbers}`);
    for (const { attempt: number, outcome } of attempts) {
      const given = outcome === 'released' || outcome === 'parked';
      const free = given || (outcome === 'retried' && this.#end(id, number)?.how === 'retryAfter');
      if (!free) charged++;
      if (outcome === 'expired') this.#gates.reaped++;
    }
    if (attempt > 0 && !gone) charged++;
    if (charged !== tries) this.#wrong(`${id} is said to have used ${tries} tries, and used ${charged}`);
    if (tries > maxTries || charged > maxTries) this.#wrong(`${id} used ${charged} of ${maxTries} tries`);
    this.#ending(final, gone);
  }

  #ending(final: Final, reaped: boolean): void {
    const { id, state, reason, tries, maxTries, attempt, result, handler } = final;
    const pushed = this.#acknowledged.get(id);
    const kind = (KIND_OF.get(pushed?.kind ?? '') ?? KIND_OF.get(handler)) as Kind;
    if (state === 'cancelled') {
      if (reason === 'dependency') return; // farm-checker-graphs.ts
      const wanted = this.#told.some(
        ({ call, cancel }) => cancel !== undefined && this.#asks.get(call)?.keys[0] === id,
      );
      if (!wanted) this.#wrong(`${id} (${kind.name}) is cancelled, and nobody asked for it`);
      return;
    }
    const ended = state === 'failed' ? reason : state;
    if (FINAL.has(state) && ended !== kind.ends && ended !== kind.orEnds)
      this.#wrong(`${id} (${kind.name}) ended ${state}/${reason}: ${result}`);
    if (ended === 'exhausted' && tries !== maxTries) this.#wrong(`${id} ended exhausted after ${tries} of ${maxTries}`);
    if (state === 'completed') this.#result(final, kind);
    else if (state === 'failed' && !reaped) {
      if (!kind.error?.test(result ?? '')) this.#wrong(`${id} (${kind.name}) failed with ${result}`);
      const said = /in attempt (\d+)/.exec(result ?? '')?.[1];
      if (said !== undefined && Number(said) !== attempt)
        this.#wrong(`stale: ${id} at ${attempt} failed with ${result}`);
    }
    const errors = [...final.attempts.map(({ error }) => error), result].filter((error) => error !== undefined);
    if (kind.where === 'inline') return;
    for (const error of state === 'failed' ? errors : []) {
      if (error.includes('RUN_TIMEOUT')) this.#gates.childTimedOut++;
      if (error.includes('CHILD_DIED')) this.#gates.childDied++;
    }
  }

  #result({ id, attempt, result = 'null', payload, log }: Final, { where, name }: Kind): void {
    const key = keyOf(payload);
    const value = JSON.parse(result) as { key?: string; attempt?: number; stdout?: string } | null;
    const [said, lease] = where === 'shell' ? (value?.stdout ?? '').split(' ') : [value?.key, `/${value?.attempt}`];
    if (said !== key || !lease?.endsWith(`/${attempt}`))
      this.#wrong(`stale: ${id}/${attempt} has the result ${result}`);
    if (!this.#starts.has(`${id}/${attempt}`)) this.#wrong(`${id}/${attempt} has a result, and was not started`);
    const lines = name === 'chatty' ? [1, 2].map((line) => `line ${line} of attempt ${attempt}`) : [];
    if (log.join() !== lines.join()) this.#wrong(`the log of ${id}/${attempt} is ${JSON.stringify(log)}`);
    if (where !== 'shell' && this.#end(id, attempt)?.how !== 'done')
      this.#wrong(`nobody gave ${id}/${attempt} its result`);
  }

  /** What workers were told at the end of an attempt is what is recorded of it. */
  #settled(): void {
    const ended = new Set<string>();
    for (const { id, attempt, outcome, worker, at } of this.#parted) {
      const final = this.#finals.get(id);
      if (final === undefined) continue;
      const key = `${id}/${attempt}`;
      const recorded = final.attempts.find((one) => one.attempt === attempt)?.outcome;
      const mine = final.attempt === attempt && recorded === undefined ? final.state : recorded;
      if (FINAL.has(outcome)) {
        if (ended.has(id)) this.#wrong(`${id} was ended twice`);
        ended.add(id);
      }
      const timed = KIND_OF.get(final.handler)?.error?.source.includes('RUN_TIMEOUT') ?? false;
      // The thread of a worker whose loop stood still past the run timeout ends the attempt in its name.
      if (outcome === 'lost' && timed) continue;
      // A lease that was given back by a park is not there to be renewed; that may be heard before the park is answered.
      if (outcome === 'lost' && mine === 'parked') continue;
      const expected = outcome === 'lost' ? 'expired' : outcome;
      if (mine !== expected) this.#wrong(`the worker of ${key} was told ${outcome}, recorded is ${mine}`);
      if (outcome === 'lost' && this.#end(id, attempt)?.how === 'done' && this.#wasFrozen(worker, at)) {
        this.#gates.lateRefused++;
      }
    }
  }

  /** A worker that wakes from a freeze may start what it held before it hears that the lease is gone; no result comes of it. */
  #startedLate({ id, attempt, worker = 0, at }: Start): boolean {
    const outcome = this.#finals.get(id as string)?.attempts.find((one) => one.attempt === attempt)?.outcome;
    return outcome === 'expired' && this.#wasFrozen(worker, at);
  }

  /** What is known of a start that should not have been, for whoever has to find out why. */
  #aboutStart({ id, attempt, worker = 0, at }: Start, endedAt: number): string {
    const recorded = this.#finals.get(id as string)?.attempts.find((one) => one.attempt === attempt)?.outcome;
    const struck = this.#struck.filter(({ pid, at: when }) => pid === worker && when < at).slice(-2);
    const strikes = struck.map(({ signal, at: when }) => `${signal} ${Math.round(at - when)} ms before`).join(', ');
    const lateMs = Math.round(at - endedAt);
    return ` (${lateMs} ms later; recorded is ${recorded}; its worker had ${strikes === '' ? 'no strikes' : strikes})`;
  }

  /** For longer than its lease, not long before. */
  #wasFrozen(worker: number, at: number): boolean {
    const mine = this.#struck.filter(({ pid, at: when }) => pid === worker && when < at);
    const resumed = mine.findLast(({ signal }) => signal === 'SIGCONT');
    const stopped = mine.findLast(({ signal }) => signal === 'SIGSTOP');
    return resumed !== undefined && stopped !== undefined && resumed.at - stopped.at > this.#evidence.leaseMs;
  }

  #counters(): void {
    for (const { name, stats } of this.#evidence.queues) {
      for (const [state, count] of Object.entries(stats)) {
        const rows = this.#evidence.finals.filter((final) => final.queue === name && final.state === state).length;
        if (rows !== count) this.#wrong(`queue ${name} counts ${count} ${state}, there are ${rows}`);
      }
    }
  }

  /** Workers die by our signals or by a task that is meant to kill; every other death is a fault of ours. */
  #deaths(): void {
    for (const note of this.#evidence.notes) {
      if (note.note !== 'died') continue;
      const signals = new Set(this.#struck.filter(({ pid }) => pid === note.pid).map(({ signal }) => signal));
      const killer = this.#byWorker.get(note.pid)?.findLast((start) => start.pid === note.pid && this.#isKiller(start));
      if (note.signal === 'SIGKILL' && signals.has('SIGKILL')) continue;
      if (note.signal === 'SIGKILL' && killer !== undefined) this.#gates.workersKilledByTasks++;
      else if (note.code !== 0 || !signals.has('SIGTERM')) {
        this.#wrong(`worker ${note.pid} ended with ${note.signal ?? note.code}, and nobody had told it to`);
      }
    }
    for (const start of this.#starts.values()) {
      if (this.#isKiller(start) && this.#end(start.id, start.attempt) !== undefined) {
        this.#wrong(`the killer ${start.id}/${start.attempt} survived itself`);
      }
    }
  }

  #isKiller({ id }: Start): boolean {
    return this.#finals.get(id as string)?.handler.endsWith('killer') ?? false;
  }

  /** A task whose last lease ran out runs alone in its worker, or in a process of its own. */
  #suspects(): void {
    for (const start of this.#starts.values()) {
      const final = this.#finals.get(start.id as string);
      const before = final?.attempts.find((one) => one.attempt === (start.attempt as number) - 1);
      if (final === undefined || before?.outcome !== 'expired') continue;
      const where = KIND_OF.get(final.handler)?.where;
      if (where === 'shielded') {
        if (start.pid === start.worker) this.#wrong(`the suspect ${start.id}/${start.attempt} ran without its shield`);
        else this.#gates.suspectShielded++;
      } else if (where === 'inline') {
        const company = this.#companyOf(start);
        if (company === undefined) this.#gates.suspectAlone++;
        else this.#wrong(`the suspect ${start.id}/${start.attempt} ran beside ${company.id}/${company.attempt}`);
      }
    }
  }

  #companyOf(start: Start): Start | undefined {
    const until = this.#end(start.id, start.attempt)?.at ?? Number.POSITIVE_INFINITY;
    return this.#byWorker.get(start.worker)?.find((other) => {
      if (other === start || other.at > until) return false;
      // Told to stop, it waited for an answer of the store until it was given up, and is nobody's any more.
      if ((this.#stopped.get(`${other.id}/${other.attempt}`) ?? Number.POSITIVE_INFINITY) < start.at - LADDER_MS) {
        return false;
      }
      const end = this.#end(other.id, other.attempt)?.at;
      // A child that was killed wrote no end; who runs in the worker itself ends only with it.
      if (end === undefined && other.pid !== other.worker) return false;
      return (end ?? Number.POSITIVE_INFINITY) > start.at;
    });
  }

  #drains(): void {
    const told = new Set(this.#struck.filter(({ signal }) => signal === 'SIGTERM').map(({ pid }) => pid));
    for (const note of this.#evidence.notes) {
      if (note.note === 'exit' && told.has(note.pid) && note.released > 0) this.#gates.drainReleased++;
    }
  }

  #againMs(): readonly number[] {
    const again: number[] = [];
    const byTask = Map.groupBy(this.#starts.values(), ({ id }) => id);
    for (const { signal, pid, at } of this.#struck) {
      if (signal !== 'SIGKILL') continue;
      const running = (this.#byWorker.get(pid) ?? []).filter((start) => {
        const end = this.#end(start.id, start.attempt)?.at ?? Number.POSITIVE_INFINITY;
        return start.at < at && end > at && start.pid === pid;
      });
      if (running.length > 0) this.#gates.busyKilled++;
      for (const { id } of running) {
        const next = byTask.get(id)?.find((start) => start.at > at);
        if (next !== undefined) again.push(next.at - at);
      }
    }
    return again.toSorted((a, b) => a - b);
  }

  #end(id: string | undefined, attempt: number | undefined): End | undefined {
    return this.#ends.get(`${id}/${attempt}`);
  }
}
