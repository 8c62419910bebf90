import { budgetChannel, budgetKey, type Unit } from '../../../src/core/limits/budget.ts';
import type { Lease } from '../../../src/core/task/lease.ts';
import type { NewSignal, Park, SignalAnswer, TurnOutcome, WaitRecord } from '../../../src/store/store.ts';
import type { Board, Known, Wait } from '../board.ts';
import { must } from '../trace.ts';
import type { GraphModel } from './graph-model.ts';

interface Kept {
  readonly channel: string;
  readonly body: string;
  readonly at: number;
  /** The pruner has come by since the last look, and might have taken it. */
  mayGo: boolean;
}

/** A park whose children are known by their numbers. */
interface ParkItem extends Lease, Omit<Park, 'children'> {
  readonly children?: readonly number[] | undefined;
}

interface Parked {
  readonly went: TurnOutcome;
  readonly body?: string | undefined;
}

/** Who waits for what, and which signals wait for somebody. */
export class WaitModel {
  readonly #board: Board;
  readonly #graph: GraphModel;
  /** Signals that nobody has taken, in the order in which they came. */
  kept: readonly Kept[] = [];
  readonly #ops = new Map<string, readonly number[]>();

  constructor(board: Board, graph: GraphModel) {
    this.#board = board;
    this.#graph = graph;
  }

  /** A running attempt parks, or goes on with what it would have waited for. */
  parked(item: ParkItem, known: Known, answer: Parked, is: () => string): void {
    if (this.#taken(item, known, answer, is)) return;
    const { children, need } = item;
    const all = new Set(children);
    const open = [...all].filter((child) => this.#board.isOpen(child));
    const due = Math.min(need ?? all.size, all.size) - (all.size - open.length);
    if (children !== undefined && due <= 0) {
      must(answer.went === 'woken' && answer.body === undefined, 'wait', is);
      this.#board.gates.reach('children had ended before the park');
      return;
    }
    must(answer.went === 'parked', 'wait', is);
    this.#park(item, known, open);
    known.due = due;
  }

  signalled(item: NewSignal, answer: SignalAnswer): void {
    const { channel, body, op, broadcast } = item;
    const is = (): string => `signal ${body} to ${channel} woke ${answer.woken}`;
    const before = op === undefined ? undefined : this.#ops.get(op);
    if (before !== undefined) {
      must(`${before}` === `${answer.woken}`, 'signal', () => `${is()} when repeated, and ${before} at first`);
      this.#board.gates.reach('signal repeated by operation id');
      return;
    }
    if (op !== undefined) this.#ops.set(op, answer.woken);
    const waiting = this.#waitingOn(channel);
    const due = this.delivered({ channel, body, broadcast });
    must(`${answer.woken}` === `${due}`, 'signal', () => `${is()} when ${waiting} waited`);
  }

  /** A running attempt waits for a budget that is short. */
  parkedForBudget(lease: Lease, known: Known, root: number, unit: Unit): void {
    this.#park({ ...lease, key: budgetKey(unit), channel: budgetChannel(root) }, known, []);
    known.due = 0;
  }

  /** Says whom it woke. */
  delivered({ channel, body, broadcast }: Omit<NewSignal, 'op'>): readonly number[] {
    const waiting = this.#waitingOn(channel);
    const due = broadcast ? waiting : waiting.slice(0, 1);
    for (const task of due) this.#hear(this.#board.task(task), body);
    if (broadcast) {
      if (due.length > 1) this.#board.gates.reach('broadcast woke several');
    } else if (due.length > 0) this.#board.gates.reach('signal woke a task');
    else this.kept = [...this.kept, { channel, body, at: this.#board.wall, mayGo: false }];
    return due;
  }

  /** The stager woke it, or a budget, unless something else had. */
  woken(task: number, known: Known): void {
    const { wait } = known;
    if (known.state !== 'waiting') {
      must(known.wokenUntold, 'wait', () => `${task} was told to be woken while ${known.state}`);
      known.wokenUntold = false;
      return;
    }
    if (wait?.outcome === 'open' && forBudget(wait)) {
      // Something was given back. It asks again, and may wait again.
      this.#hear(known, 'null');
      this.#board.gates.reach('given back budget woke a run');
      known.wokenUntold = false;
      return;
    }
    must(
      wait?.outcome === 'open' && wait.deadline !== undefined && this.#board.hasCome(wait.deadline, wait.setBack),
      'I17',
      () => `${task} was woken, and nothing that it waited for had come: ${JSON.stringify(wait)}`,
    );
    wait.outcome = 'timed_out';
    this.#board.wake(known);
    known.wokenUntold = false;
    this.#board.gates.reach(
      wait.form !== undefined
        ? 'approval ran into its deadline'
        : wait.channel !== undefined || known.openUps.size > 0
          ? 'deadline woke a task'
          : 'time woke a task',
    );
  }

  /** What a wait has come to was delivered, and is there for the next attempt; the end of children is theirs to tell. */
  revived(known: Known): void {
    const { wait } = known;
    if (wait === undefined) return;
    if (wait.outcome === 'timed_out' || wait.body !== undefined) {
      if (wait.body !== undefined) this.#board.gates.reach('revived task kept its signal');
      return;
    }
    known.mute = wait;
    known.wait = undefined;
  }

  /** What a handler is told of its wait, or anybody else. */
  seen(task: number, record: WaitRecord | undefined): void {
    const known = this.#board.tasks.get(task);
    const due = known === undefined || this.#board.isPruned(task) ? undefined : recordOf(task, known.wait);
    if (due === undefined && record?.key === known?.mute?.key && record?.body === undefined) return;
    const is = (): string => `wait ${JSON.stringify(record)} was shown, it is ${JSON.stringify(due)}`;
    // The store moves deadlines when the clock is set back.
    const moved = (due?.deadline ?? 0) - (record?.deadline ?? 0);
    must(moved >= 0 && moved <= this.#board.setBack - (known?.wait?.setBack ?? 0), 'wait', is);
    const shown = record && { ...recordOf(task, record), deadline: due?.deadline };
    must(JSON.stringify(shown) === JSON.stringify(due), 'wait', is);
  }

  /** What people are asked to decide. */
  listed(records: readonly WaitRecord[], limit: number): void {
    const due = this.#open(({ form }) => form !== undefined).slice(0, limit);
    const have = records.map(({ task }) => task);
    must(`${have}` === `${due}`, 'wait', () => `approvals of ${have} were listed, those of ${due} are open`);
    for (const record of records) this.seen(record.task, record);
  }

  /** Signals that nobody wanted for so long go the way of finished tasks; not those that an unfinished task was there for. */
  pruned(retentionMs: number): void {
    // The one that was made first: the wall clock jumps.
    const oldest = [...this.#board.tasks].sort(([a], [b]) => a - b).find(([task]) => this.#board.isOpen(task));
    const seenFrom = oldest === undefined ? Number.POSITIVE_INFINITY : oldest[1].createdAt - retentionMs;
    for (const signal of this.kept) {
      if (signal.at < this.#board.wall - retentionMs && signal.at < seenFrom) signal.mayGo = true;
      else if (signal.at < this.#board.wall - retentionMs) this.#board.gates.reach('old signal kept for an old task');
    }
  }

  /** What the table has of them: all, but for those that the pruner has taken. */
  look(there: readonly Pick<Kept, 'channel' | 'body'>[]): void {
    const left: Kept[] = [];
    for (const signal of this.kept) {
      const { channel, body } = there[left.length] ?? {};
      if (channel === signal.channel && body === signal.body) left.push(signal);
      else must(signal.mayGo, 'signal', () => `the signal ${signal.body} on ${signal.channel} is not kept`);
      signal.mayGo = false;
    }
    must(left.length === there.length, 'signal', () => `${JSON.stringify(there)} are kept, it should be ${said(left)}`);
    this.#board.gates.reach('kept signal pruned', this.kept.length - left.length);
    this.kept = left;
  }

  /** Channels on which somebody waits without a deadline. */
  awaited(): readonly string[] {
    const endless = this.#open((wait) => wait.channel !== undefined && wait.deadline === undefined && !forBudget(wait));
    return endless.map((task) => this.#board.task(task).wait?.channel as string);
  }

  /** A signal was there before; one that this very wait had taken stays its own. */
  #taken(item: ParkItem, known: Known, answer: Parked, is: () => string): boolean {
    const { attempt, key, channel } = item;
    if (channel === undefined) return false;
    const id = `${attempt}/${key}`;
    const took = known.taken.get(id);
    if (took !== undefined) {
      must(
        answer.went === 'woken' && answer.body === took,
        'signal',
        () => `${is()}, and had taken ${took} when it was asked before`,
      );
      this.#board.gates.reach('park repeated after it took a signal');
      return true;
    }
    const first = this.kept.find((one) => one.channel === channel);
    if (first === undefined) return false;
    must(
      answer.went === 'woken' && answer.body === first.body,
      'signal',
      () => `${is()} when ${first.body} had come before`,
    );
    this.kept = this.kept.filter((one) => one !== first);
    known.taken.set(id, first.body);
    known.wait = { ...this.#waitOf(item), deadline: undefined, outcome: 'woken', body: first.body };
    this.#board.gates.reach('signal came first');
    return true;
  }

  #park(item: ParkItem, known: Known, children: readonly number[]): void {
    known.state = 'waiting';
    known.tries--;
    known.suspect = false;
    known.parkedBy.add(item.attempt);
    known.wait = this.#waitOf(item);
    known.mute = undefined;
    for (const child of children) known.openUps.add(child);
    this.#graph.parked(item.task, children);
    this.#board.gates.reach('task parked');
  }

  #waitOf({ attempt: gen, nth: turn = 0, key, channel, form, timeoutMs }: ParkItem): Wait {
    const since = this.#board.wall;
    const deadline = timeoutMs === undefined ? undefined : since + timeoutMs;
    return {
      gen,
      turn,
      key,
      channel,
      form,
      since,
      deadline,
      outcome: 'open',
      body: undefined,
      setBack: this.#board.setBack,
    };
  }

  #hear(known: Known, body: string): void {
    const wait = known.wait as Wait;
    wait.outcome = 'woken';
    wait.body = body;
    if (wait.form !== undefined) this.#board.gates.reach('approval was decided');
    this.#board.wake(known);
  }

  #waitingOn(channel: string): readonly number[] {
    return this.#open((wait) => wait.channel === channel);
  }

  /** Tasks that are parked for this, those that have waited longest first. */
  #open(which: (wait: Wait) => boolean): readonly number[] {
    const since = (task: number): number => this.#board.task(task).wait?.since as number;
    return [...this.#board.tasks]
      .filter(([, { state, wait }]) => state === 'waiting' && wait?.outcome === 'open' && which(wait))
      .map(([task]) => task)
      .sort((a, b) => since(a) - since(b) || a - b);
  }
}

const forBudget = ({ key, channel }: Pick<Wait, 'key' | 'channel'>): boolean =>
  channel?.startsWith('budget:') === true && key.startsWith('budget:');

const said = (signals: readonly Kept[]): string => signals.map(({ channel, body }) => `${channel} ${body}`).join();

/** In one order, so that two of them can be compared as texts. */
function recordOf(task: number, wait: Omit<WaitRecord, 'task'> | undefined): WaitRecord | undefined {
  if (wait === undefined) return undefined;
  const { key, channel, form, since, deadline, outcome, body } = wait;
  return { task, key, channel, form, since, deadline, outcome, body };
}
