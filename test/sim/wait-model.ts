import type { NewSignal, ParkAnswer, ParkItem, SignalAnswer, WaitRecord } from '../../src/store/store.ts';
import type { Board, Known, Wait } from './board.ts';
import type { GraphModel } from './graph-model.ts';
import { must } from './trace.ts';

interface Kept {
  readonly channel: string;
  readonly body: string;
  readonly at: number;
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

  parked(item: ParkItem, answer: ParkAnswer): void {
    const { task, attempt } = item;
    const known = this.#board.held(task, attempt);
    const is = (): string => `the park ${item.key} of ${task}#${attempt} was answered ${JSON.stringify(answer)}`;
    if (known === undefined) {
      must(answer.kind === this.#afterwards(task, attempt), 'I2', is);
      this.#board.gates.reach(answer.kind === 'lost' ? 'stale park refused' : 'park repeated after a lost answer');
      return;
    }
    if (known.cancelRequested) {
      must(answer.kind === 'cancelled', 'I14', is);
      known.endedBy.set(attempt, 'cancelled');
      this.#board.end(task, 'cancelled');
      this.#board.gates.reach('cancelled instead of parked');
      return;
    }
    if (known.wait?.gen === attempt && known.wait.turn > (item.turn ?? 0)) {
      must(answer.kind === 'lost', 'wait', () => `${is()} after a later one`);
      this.#board.gates.reach('late park refused');
      return;
    }
    if (this.#taken(item, known, answer, is)) return;
    const all = new Set(item.children ?? []);
    const open = [...all].filter((child) => this.#board.isOpen(child));
    if (item.children !== undefined && (open.length === 0 || (item.any === true && open.length < all.size))) {
      must(answer.kind === 'woken' && answer.body === undefined, 'wait', is);
      this.#board.gates.reach('children had ended before the park');
      return;
    }
    must(answer.kind === 'parked', 'wait', is);
    this.#park(item, known, open);
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
    const due = broadcast ? waiting : waiting.slice(0, 1);
    must(`${answer.woken}` === `${due}`, 'signal', () => `${is()} when ${waiting} waited`);
    for (const task of due) this.#hear(this.#board.task(task), body);
    if (broadcast) {
      if (due.length > 1) this.#board.gates.reach('broadcast woke several');
    } else if (due.length > 0) this.#board.gates.reach('signal woke a task');
    else this.kept = [...this.kept, { channel, body, at: this.#board.wall }];
  }

  /** The stager woke it, unless something else had. */
  woken(task: number, known: Known): void {
    const { wait } = known;
    if (known.state !== 'waiting') {
      must(known.wokenUntold, 'wait', () => `${task} was told to be woken while ${known.state}`);
      known.wokenUntold = false;
      return;
    }
    must(
      wait?.outcome === 'open' && wait.deadline !== undefined && this.#board.wall >= wait.deadline,
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
    must(JSON.stringify(record && recordOf(task, record)) === JSON.stringify(due), 'wait', is);
  }

  /** What people are asked to decide. */
  listed(records: readonly WaitRecord[], limit: number): void {
    const due = this.#open(({ form }) => form !== undefined).slice(0, limit);
    const have = records.map(({ task }) => task);
    must(`${have}` === `${due}`, 'wait', () => `approvals of ${have} were listed, those of ${due} are open`);
    for (const record of records) this.seen(record.task, record);
  }

  /** Signals that nobody wanted for so long go the way of finished tasks. */
  pruned(retentionMs: number): void {
    const left = this.kept.filter(({ at }) => at >= this.#board.wall - retentionMs);
    this.#board.gates.reach('kept signal pruned', this.kept.length - left.length);
    this.kept = left;
  }

  /** Channels on which somebody waits without a deadline. */
  awaited(): readonly string[] {
    const endless = this.#open(({ channel, deadline }) => channel !== undefined && deadline === undefined);
    return endless.map((task) => this.#board.task(task).wait?.channel as string);
  }

  /** What a park of an attempt that runs no more is told. */
  #afterwards(task: number, attempt: number): ParkAnswer['kind'] {
    const known = this.#board.tasks.get(task);
    if (known === undefined || this.#board.isPruned(task)) return 'lost';
    if (known.parkedBy.has(attempt)) return 'parked';
    return known.endedBy.get(attempt) === 'cancelled' ? 'cancelled' : 'lost';
  }

  /** A signal was there before; one that this very wait had taken stays its own. */
  #taken(item: ParkItem, known: Known, answer: ParkAnswer, is: () => string): boolean {
    const { attempt, key, channel } = item;
    if (channel === undefined) return false;
    const id = `${attempt}/${key}`;
    const took = known.taken.get(id);
    if (took !== undefined) {
      must(
        answer.kind === 'woken' && answer.body === took,
        'signal',
        () => `${is()}, and had taken ${took} when it was asked before`,
      );
      this.#board.gates.reach('park repeated after it took a signal');
      return true;
    }
    const first = this.kept.find((one) => one.channel === channel);
    if (first === undefined) return false;
    must(
      answer.kind === 'woken' && answer.body === first.body,
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
    known.any = item.any === true;
    known.parkedBy.add(item.attempt);
    known.wait = this.#waitOf(item);
    known.mute = undefined;
    for (const child of children) known.openUps.add(child);
    this.#graph.parked(item.task, children);
    this.#board.gates.reach('task parked');
  }

  #waitOf({ attempt: gen, turn = 0, key, channel, form, timeoutMs }: ParkItem): Wait {
    const since = this.#board.wall;
    const deadline = timeoutMs === undefined ? undefined : since + timeoutMs;
    return { gen, turn, key, channel, form, since, deadline, outcome: 'open', body: undefined };
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

/** In one order, so that two of them can be compared as texts. */
function recordOf(task: number, wait: Omit<WaitRecord, 'task'> | undefined): WaitRecord | undefined {
  if (wait === undefined) return undefined;
  const { key, channel, form, since, deadline, outcome, body } = wait;
  return { task, key, channel, form, since, deadline, outcome, body };
}
