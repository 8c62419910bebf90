import type { Lease } from '../../../src/core/task/lease.ts';
import { isFinal } from '../../../src/core/task/task.ts';
import { isStepKey, type StepEntry, stepKey, stepOfKey } from '../../../src/flow/machine/history/run-history.ts';
import type { NewChild, Turn, TurnAnswer } from '../../../src/store/store.ts';
import { OFFICE, PANEL } from '../machines/drawn-machine.ts';
import { must } from '../trace.ts';
import type { Model } from './model.ts';

/** One attempt at a run, in its process. */
export interface Acting extends Lease {
  /** Why its driver has been told that it is over. */
  over: string | undefined;
}

interface Effect {
  readonly step: number;
  readonly what: string;
  readonly attempt: number;
  stored: boolean;
}

/** What the driver says of one run, by its commits. */
interface Known {
  /** Entries of states, and how many there are; receipts of draws. */
  readonly keys: Set<string>;
  entries: number;
  readonly effects: Effect[];
  /** Machines that it has started, by the step and the input. */
  readonly born: Map<string, number>;
  /** Machines that it has launched, and does not wait for. */
  readonly launched: Set<number>;
}

type Done = TurnAnswer & { readonly kind: 'done' };

/**
 * What the driver of machines should do, told again in plain words: from its effects, from what it commits, and from where
 * its runs end. What becomes of a commit in the store is judged by the other models.
 */
export class RunModel {
  readonly #model: Model;
  readonly #runs = new Map<number, Known>();
  /** What calls of an attempt have used since its last commit. */
  readonly #unsettled = new Map<string, number>();
  /** Signal → the state of the run that has heard it. */
  readonly #heard = new Map<string, string>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** An effect begins. What was done before it is stored, and it is not done again once it is stored itself. */
  begins(acting: Acting, step: number, what: string): void {
    const { board, gates } = this.#model;
    const { task, attempt } = acting;
    const is = (): string => `${what} in step ${step} of ${task}#${attempt}`;
    must(acting.over === undefined, 'run', () => `${is()}, which was told that it is over: ${acting.over}`);
    const run = this.#of(task);
    if (board.held(task, attempt) !== undefined) {
      const same = run.effects.filter((one) => one.step === step && one.what === what);
      const again = run.keys.has(stepKey(step)) || same.some(({ stored }) => stored);
      must(!again, 'run', () => `${is()}, which is stored already`);
      const unstored = run.effects.find((one) => one.attempt === attempt && one.step < step && !one.stored);
      must(unstored === undefined, 'run', () => `${is()}, and what step ${unstored?.step} did is not stored`);
      if (same.some((one) => one.attempt < attempt)) gates.reach('effect done again after a crash');
    }
    run.effects.push({ step, what, attempt, stored: false });
  }

  /** Another attempt may have begun meanwhile, and do it again: nothing of this one counts then. */
  ends({ task, attempt }: Acting): void {
    const { board, gates } = this.#model;
    if (board.held(task, attempt) === undefined) gates.reach('effect of an attempt that had lost its lease');
  }

  /** A call of an agent has ended. */
  used({ task, attempt }: Lease, amount: number): void {
    const key = `${task}#${attempt}`;
    this.#unsettled.set(key, (this.#unsettled.get(key) ?? 0) + amount);
  }

  committed(turns: readonly Turn[], answers: readonly TurnAnswer[]): void {
    for (const [i, turn] of turns.entries()) {
      const answer = answers[i] as TurnAnswer;
      if (answer.kind === 'done') this.#committed(turn, answer);
    }
  }

  #committed(turn: Turn, answer: Done): void {
    const run = this.#of(turn.task);
    let fresh = turn.entries.length === 0;
    for (const [i, entry] of turn.entries.entries()) {
      const said = answer.entries[i];
      if (entry.kind === 'child' && said?.kind === 'child') this.#bore(turn, run, entry, said.task);
      if (entry.kind === 'element') this.#answered(turn, run, entry.key);
      // The receipt of a draw, which tells what calls before it have used.
      if (entry.kind === 'mark' && !run.keys.has(entry.key)) fresh = true;
      if (entry.kind === 'mark') run.keys.add(entry.key);
      if (entry.kind !== 'value' || !isStepKey(entry.key)) continue;
      must(said?.kind === 'stored', 'run', () => `${entry.key} of ${turn.task} is written a second time, otherwise`);
      if (run.keys.has(entry.key)) continue;
      fresh = true;
      this.#wrote(turn, run, entry.key, JSON.parse(entry.value) as StepEntry);
    }
    if (fresh) this.#settled(turn);
    if (turn.then.go === 'end' && answer.went === 'ended') this.#ended(turn.task);
  }

  /** An agent has answered for one item of a list. */
  #answered(turn: Turn, run: Known, key: string): void {
    const [, step, item] = /^(s:\d+)\/i:(\d+)\/end$/.exec(key) ?? [];
    for (const effect of run.effects) {
      if (stepKey(effect.step) === step && effect.what.endsWith(`, item ${item}`)) effect.stored = true;
    }
    if (turn.attempt > 1) this.#model.gates.reach('list of an agent gone on with');
  }

  /** Entries follow one another, and each stands under the name of its step. */
  #wrote(turn: Turn, run: Known, key: string, entry: StepEntry): void {
    const { gates } = this.#model;
    const is = (): string => `${key} of ${turn.task}#${turn.attempt} is entry ${entry.n} of step ${entry.step}`;
    const own = stepKey(entry.step);
    must(key === own || key.startsWith(`${own}/mid:`), 'run', is);
    must(entry.n === ++run.entries, 'run', () => `${is()}, it should be entry ${run.entries}`);
    run.keys.add(key);
    for (const effect of run.effects) {
      if (effect.attempt === turn.attempt && effect.step === entry.step) effect.stored = true;
    }
    if (key !== own) gates.reach('entry in the middle of a state');
    if (entry.n > 1 && turn.attempt > 1) gates.reach('run went on where another attempt had left it');
    if (JSON.stringify(entry.patch).includes('"in":"s:')) gates.reach('run told by parts of children');
    if (turn.entries.some((one) => one.key === `b:${entry.n}`)) gates.reach('run told from its base');
    const op = (entry.out as { readonly op?: unknown } | null | undefined)?.op;
    if (typeof op !== 'string') return;
    const before = this.#heard.get(op) ?? `${turn.task} ${own}`;
    must(before === `${turn.task} ${own}`, 'signal', () => `${op} was heard by ${before} and by ${turn.task} ${own}`);
    this.#heard.set(op, before);
  }

  /**
   * What a turn says was used is what calls of its attempt have used since the turn before. Of several calls at once, one may have ended
   * without its driver having heard of it; who leaves has heard of all.
   */
  #settled({ task, attempt, then, spend = [] }: Turn): void {
    const key = `${task}#${attempt}`;
    const due = this.#unsettled.get(key) ?? 0;
    const said = spend.find(({ unit }) => unit === 'tokens')?.amount ?? 0;
    const isOne = then.go !== 'on' || !this.#callsSeveral(task);
    must(
      isOne ? said === due : said <= due,
      'budget',
      () => `${key} says that it has used ${said}, it has used ${due}`,
    );
    this.#unsettled.set(key, due - said);
  }

  /** Its machines run within its attempt, or it asks an agent for each item of a list. */
  #callsSeveral(task: number): boolean {
    const { payload } = this.#model.board.task(task);
    return [OFFICE, PANEL].some((name) => payload.includes(`"peers":["${name}"]`));
  }

  /** In one step each machine is started once with an input: those of one list differ. */
  #bore({ task }: Turn, run: Known, { key, task: { payload } }: NewChild, child: number): void {
    const asked = `${stepOfKey(key)} ${payload}`;
    const before = run.born.get(asked) ?? child;
    must(before === child, 'run', () => `${key} of ${task} is ${child}, and is what ${before} was started for`);
    run.born.set(asked, child);
    if (/\/l\d+$/.test(key)) run.launched.add(child);
  }

  /** Nothing that it has started and not launched goes on, but for what was asked to stop. */
  #ended(task: number): void {
    const { board, gates } = this.#model;
    const family = new Set([task]);
    // A child has a larger number than its parent.
    for (const [one, { parent, state, cancelRequested }] of board.tasks) {
      if (parent === undefined || !family.has(parent) || this.#runs.get(parent)?.launched.has(one)) continue;
      family.add(one);
      must(isFinal(state) || cancelRequested, 'run', () => `${task} has ended, and ${one} is ${state}`);
      if (cancelRequested || state === 'cancelled') gates.reach('loser was asked to stop');
    }
  }

  #of(task: number): Known {
    const run = this.#runs.get(task) ?? {
      keys: new Set(),
      entries: 0,
      effects: [],
      born: new Map(),
      launched: new Set(),
    };
    this.#runs.set(task, run);
    return run;
  }
}
