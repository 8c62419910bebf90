/** What a workflow waits for without a slot. */
import { isFinal } from '../../core/task/task.ts';
import type { World } from '../../core/world.ts';
import { BrokenJournal, entryKey, sayPlace, taskIn } from '../../flow/workflow/workflow-journal.ts';
import type { OtherWait, TaskRef, TaskResult, Turned, TurnThen, Waited, WaitFor } from '../../protocol/link.ts';
import type { DrivenAttempt } from '../define/definition.ts';
import type { NewEntry } from './turn-writer.ts';

/** A wait of the workflow. */
export interface Wait {
  /** That of its place. */
  readonly key: string;
  /** Ends it at this calendar time, whatever happens. */
  readonly due?: number | undefined;
  readonly channel?: string;
  readonly form?: unknown;
  /** The child of that place. */
  readonly child?: true;
  /** How many of the children of a map must end before it can go on. */
  readonly need?: (open: number) => number;
  /** Undefined: the time is over. */
  readonly end: (came: { readonly body: string | undefined } | TaskResult | undefined) => void;
}

/** The run that waits. */
interface WaitingRun {
  readonly attempt: DrivenAttempt;
  readonly world: World;
  hasOutcome(key: string): boolean;
  note(entry: NewEntry): number;
  /** Work that holds the slot. */
  run(work: () => Promise<void>): void;
  leaveWith(then: () => TurnThen): Promise<Turned>;
}

export interface ParkingDeps {
  readonly run: WaitingRun;
  readonly born: Map<string, number>;
  readonly notes: ReadonlyMap<string, string>;
  /** An earlier attempt may have left a wait. */
  readonly mayHaveWaited: boolean;
}

const KEPT = 'kept:';
const READ_AT_ONCE = 500;
/** Children that end while steps hold the slot are looked for so often. */
const LOOK_MS = 1000;
/** So many of its channels the store waits for at once. */
const MOST_CHANNELS = 100;
/** A node or a sender of before knows only the first of several channels: after so long it is another one's turn. */
const NET_MS = 3_600_000;
/** Timers are set again when they are longer. */
const LONGEST_TIMER_MS = 3_600_000;

export class Parking {
  readonly #deps: ParkingDeps;
  readonly #waits = new Map<string, Wait>();
  /** The keys of entries that bear children with the next turn. */
  readonly #bearing = new Map<string, string>();
  readonly #results = new Map<string, TaskResult>();
  /** Signals that came for a call that the code did not make then. */
  readonly #kept = new Map<string, string>();
  readonly #cancels = new Map<string, () => void>();
  #waited: Waited | undefined;
  #asked: boolean;
  #readsChildren: boolean;
  #busy = false;
  #closed = false;
  #cancelLook: (() => void) | undefined;

  constructor(deps: ParkingDeps) {
    this.#deps = deps;
    this.#asked = !deps.mayHaveWaited;
    this.#readsChildren = deps.mayHaveWaited;
    for (const [note, text] of deps.notes) if (note.startsWith(KEPT)) this.#kept.set(note.slice(KEPT.length), text);
  }

  get busy(): boolean {
    return this.#busy;
  }

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }

  isBorn(key: string): boolean {
    return this.#deps.born.has(key);
  }

  /** The child of this place is born with the turn that has this entry. */
  bears(key: string, ordinal: number): void {
    this.#bearing.set(key, entryKey(ordinal, key));
  }

  born(key: string, text: string): void {
    this.#bearing.delete(key);
    this.#deps.born.set(key, taskIn(text));
  }

  /** A child that the node refused. */
  drop(key: string): void {
    this.#bearing.delete(key);
    this.#waits.delete(key);
  }

  resultOf(key: string): TaskResult {
    const result = this.#results.get(key);
    if (result === undefined) throw new BrokenJournal(`${sayPlace(key)} has not ended`);
    return result;
  }

  add(wait: Wait): void {
    const { key } = wait;
    this.#waits.set(key, wait);
    if (wait.channel !== undefined && this.#kept.has(key)) this.#end(wait, { body: this.#kept.get(key) });
    else this.#setTimer(wait);
  }

  /** The ends of the children of these places. */
  async readResults(keys: readonly string[]): Promise<void> {
    const { run } = this.#deps;
    for (let from = 0; from < keys.length; from += READ_AT_ONCE) {
      const page = keys.slice(from, from + READ_AT_ONCE);
      const read = await run.attempt.session.results(page.map((key) => this.#refOf(key)));
      for (const [i, key] of page.entries()) this.#results.set(key, read[i] as TaskResult);
    }
  }

  /** While steps hold the slot, children may end. */
  lookLater(): void {
    if (this.#cancelLook !== undefined || !this.#children.some(({ key }) => this.isBorn(key))) return;
    const { run } = this.#deps;
    this.#cancelLook = run.world.timers.after(LOOK_MS, () => {
      this.#cancelLook = undefined;
      if (this.#busy || this.#closed) return;
      run.run(async () => {
        await this.#endChildren();
      });
    });
  }

  /** Parks, or finds that something has come. */
  async park(): Promise<void> {
    this.#busy = true;
    try {
      if (await this.#findCame()) return;
      const { run } = this.#deps;
      const wait = this.#next();
      const turned = await run.leaveWith(() => this.#thenOf(wait));
      if (turned.went !== 'woken') return;
      const heard = turned.key === undefined ? wait : this.#waits.get(turned.key);
      if (turned.body !== undefined && heard?.channel !== undefined) this.#end(heard, { body: turned.body });
      else this.#readsChildren = true;
    } finally {
      this.#busy = false;
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook?.();
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }

  /** What came while nobody ran the workflow. */
  async #findCame(): Promise<boolean> {
    const { run } = this.#deps;
    if (!this.#asked) {
      this.#asked = true;
      this.#waited = await run.attempt.session.waited();
      if (this.#waited !== undefined && this.#heard(this.#waited)) return true;
    }
    const now = run.world.clock.wall();
    const due = [...this.#waits.values()].filter((wait) => wait.due !== undefined && wait.due <= now);
    for (const wait of due) this.#end(wait, undefined);
    if (due.length > 0) return true;
    return this.#readsChildren && (await this.#endChildren());
  }

  /** The outcome of the last wait. */
  #heard({ key, outcome, body }: Waited): boolean {
    const wait = this.#waits.get(key);
    if (outcome === 'woken' && body !== undefined) {
      if (wait?.channel !== undefined) this.#end(wait, { body });
      // The next wait replaces its record: what came for a call that the code does not make now is for the next one that it makes.
      else this.#keep(key, body);
      return wait?.channel !== undefined;
    }
    // Whether a time is over is for the clock to say: the record may be that of a wait before the last crash.
    return false;
  }

  #keep(key: string, body: string): void {
    const { run } = this.#deps;
    if (!/^(?:signal|approval):/.test(key) || run.hasOutcome(key) || this.#kept.has(key)) return;
    this.#kept.set(key, body);
    run.note({ what: `kept:${key}`, kind: 'wait', value: JSON.parse(body) as unknown });
  }

  async #endChildren(): Promise<boolean> {
    const waits = this.#children.filter(({ key }) => this.isBorn(key));
    await this.readResults(waits.map(({ key }) => key));
    const ended = waits.filter(({ key }) => {
      const state = this.#results.get(key)?.state;
      return state === 'gone' || (state !== undefined && isFinal(state));
    });
    for (const wait of ended) this.#end(wait, this.#results.get(wait.key));
    return ended.length > 0;
  }

  #end(wait: Wait, came: Parameters<Wait['end']>[0]): void {
    if (!this.#waits.delete(wait.key)) return;
    this.#cancels.get(wait.key)?.();
    this.#cancels.delete(wait.key);
    wait.end(came);
  }

  get #children(): readonly Wait[] {
    return [...this.#waits.values()].filter(({ child }) => child === true);
  }

  /** Approvals first: whoever decides should see them. */
  get #channels(): readonly Wait[] {
    const all = [...this.#waits.values()].filter(({ channel }) => channel !== undefined);
    return [...all.filter(({ form }) => form !== undefined), ...all.filter(({ form }) => form === undefined)];
  }

  /** Of approvals one is the first, so that all are shown. */
  #next(): Wait | undefined {
    const channels = this.#channels;
    const asked = channels.filter(({ form }) => form !== undefined);
    const firsts = asked.length > 0 ? asked : channels;
    const last = firsts.findIndex(({ key }) => key === this.#waited?.key);
    return firsts[(last + 1) % firsts.length];
  }

  #othersOf(first: Wait | undefined): readonly OtherWait[] {
    const others = this.#channels.filter((wait) => wait !== first).slice(0, MOST_CHANNELS);
    return others.map(({ key, channel = '', form }) => (form === undefined ? { key, channel } : { key, form }));
  }

  #thenOf(wait: Wait | undefined): TurnThen {
    const { run } = this.#deps;
    const all = [...this.#waits.values()];
    const dues = all.flatMap(({ due }) => due ?? []);
    const now = run.world.clock.wall();
    const left = dues.length === 0 ? undefined : Math.max(0, Math.ceil(Math.min(...dues) - now));
    const others = this.#othersOf(wait);
    const timeouts = [left, others.length === 0 ? undefined : NET_MS].filter((one) => one !== undefined);
    const children = this.#children;
    const first = wait ?? all[0];
    const then: Omit<WaitFor, 'key'> = {
      ...(wait?.channel === undefined ? {} : { channel: wait.channel }),
      ...(wait?.form === undefined ? {} : { form: wait.form }),
      ...(others.length === 0 ? {} : { others }),
      ...(children.length === 0
        ? {}
        : { children: children.map(({ key }) => this.#childOf(key)), need: needOf(children) }),
      ...(timeouts.length === 0 ? {} : { timeoutMs: Math.min(...timeouts) }),
    };
    return { go: 'park', key: (first as Wait).key, ...then };
  }

  #childOf(key: string): TaskRef | { readonly child: string } {
    const bearing = this.#bearing.get(key);
    return bearing === undefined ? this.#refOf(key) : { child: bearing };
  }

  #refOf(key: string): number {
    const task = this.#deps.born.get(key);
    if (task === undefined) throw new BrokenJournal(`${sayPlace(key)} was never born`);
    return task;
  }

  /** For a time that comes while steps hold the slot. */
  #setTimer(wait: Wait): void {
    const { run } = this.#deps;
    const { key, due } = wait;
    if (due === undefined || this.#closed) return;
    const left = due - run.world.clock.wall();
    const cancel = run.world.timers.after(Math.min(LONGEST_TIMER_MS, Math.max(0, left)), () => {
      this.#cancels.delete(key);
      if (this.#busy || this.#closed || this.#waits.get(key) !== wait) return;
      if (left > LONGEST_TIMER_MS) this.#setTimer(wait);
      else this.#end(wait, undefined);
    });
    this.#cancels.set(key, cancel);
  }
}

/** Children of one map are waited for in portions; of any others each end may be the one that counts. */
function needOf(children: readonly Wait[]): number {
  const [first] = children;
  const one = first?.need !== undefined && children.every(({ need }) => need === first.need);
  const need = one ? (first as { readonly need: (open: number) => number }).need(children.length) : 1;
  return Math.max(1, Math.min(children.length, need));
}
