import type { Lease } from '../../../src/core/task/lease.ts';
import { type Change, isFinal, type TaskState } from '../../../src/core/task/task.ts';
import type {
  CancelAnswer,
  ClaimAnswer,
  Grant,
  LogAnswer,
  LogAppend,
  NewClaim,
  RenewAnswer,
  RenewItem,
  ReturnItem,
  SettleAnswer,
  SettleItem,
} from '../../../src/store/store.ts';
import { Board, type Known } from '../board.ts';
import type { Gates } from '../gates.ts';
import type { Scheduler } from '../scheduler.ts';
import { must } from '../trace.ts';
import { BudgetModel } from './budget-model.ts';
import { DutyModel } from './duty-model.ts';
import { FleetModel } from './fleet-model.ts';
import { GraphModel } from './graph-model.ts';
import { JournalModel } from './journal-model.ts';
import { PushModel } from './push-model.ts';
import { TreeModel } from './tree-model.ts';
import { TurnModel } from './turn-model.ts';
import { WaitModel } from './wait-model.ts';

/** One event as the feed shows it. */
export interface Seen {
  readonly seq: number;
  readonly kind: Change;
  readonly state: TaskState;
  readonly task: number;
  readonly attempt: number;
}

/**
 * What the store should be, told again in plain words from the calls that reached it and the events that it wrote. It knows
 * nothing of tables: every answer and every event is judged against it at the moment of the commit. Here are leases and their
 * ends; what else there is has parts of its own.
 */
export class Model {
  readonly board: Board;
  readonly gates: Gates;
  readonly pushes: PushModel;
  readonly graph: GraphModel;
  readonly waits: WaitModel;
  readonly journal: JournalModel;
  readonly turns: TurnModel;
  readonly trees: TreeModel;
  readonly budgets: BudgetModel;
  readonly fleet: FleetModel;
  readonly duties: DutyModel;
  readonly #granted = new Set<string>();
  lastSeq = 0;

  constructor(scheduler: Scheduler, gates: Gates) {
    this.board = new Board(scheduler, gates);
    this.gates = gates;
    this.graph = new GraphModel(this.board);
    this.pushes = new PushModel(this.board, this.graph);
    this.waits = new WaitModel(this.board, this.graph);
    this.journal = new JournalModel(this.board);
    this.budgets = new BudgetModel(this.board);
    const { board, budgets, journal, pushes, waits } = this;
    this.turns = new TurnModel({ board, budgets, journal, pushes, waits, ends: this });
    this.trees = new TreeModel(this.board, this.graph);
    this.fleet = new FleetModel(this.board);
    this.duties = new DutyModel(this.board);
  }

  get tasks(): ReadonlyMap<number, Known> {
    return this.board.tasks;
  }

  // Answers, each judged at its commit

  claimed(request: NewClaim, answer: ClaimAnswer | undefined): void {
    const grants = answer?.grants ?? [];
    must(grants.length <= request.max, 'I1', () => `${grants.length} grants for a claim of ${request.max}`);
    for (const grant of grants) {
      const task = this.board.task(grant.task);
      const key = `${grant.task}#${grant.attempt}`;
      if (this.#granted.has(key)) {
        must(request.op !== undefined, 'I1', () => `${key} was granted twice`);
        must(
          task.state === 'running' && task.attempt === grant.attempt,
          'I1',
          () => `${key} was granted again when lost`,
        );
        this.gates.reach('claim repeated by operation id');
        continue;
      }
      this.#granted.add(key);
      this.#grant(request, grant, task, key);
    }
    this.fleet.passedOver(request, answer);
  }

  settled(item: SettleItem, answer: SettleAnswer): void {
    const task = this.board.held(item.task, item.attempt);
    const key = `${item.task}#${item.attempt} ${item.to}`;
    if (task === undefined) {
      must(answer !== 'done', 'I2', () => `stale ${key} was recorded`);
      const repeated = this.tasks.get(item.task)?.endedBy.get(item.attempt) === item.to;
      if (answer === 'repeated') {
        must(repeated, 'I2', () => `${key} was called a repeat and is none`);
        this.gates.reach('settle repeated after a lost answer');
      } else {
        this.gates.reach('stale settle refused');
      }
      return;
    }
    must(answer === 'done', 'I5', () => `${key} of the holder was answered ${answer}`);
    if (this.board.now > task.leaseUntil) this.gates.reach('late result accepted before the reap');
    if (task.cancelRequested && item.to === 'completed') this.gates.reach('cancel and completion raced');
    if (item.reason === 'exhausted') {
      must(task.tries >= task.maxTries, 'I4', () => `${key} exhausted after ${task.tries} of ${task.maxTries}`);
      this.gates.reach('exhausted by failures');
    }
    task.endedBy.set(item.attempt, item.to);
    if (item.to !== 'completed') this.budgets.cut(item, 'given up');
    this.board.end(item.task, item.to, item.result);
  }

  returned(item: ReturnItem, answer: SettleAnswer): void {
    const task = this.board.held(item.task, item.attempt);
    const key = `${item.task}#${item.attempt} ${item.change}`;
    if (task === undefined) {
      // A repeat of what ended as cancelled is told so again.
      const again = answer === 'cancelled' && this.tasks.get(item.task)?.endedBy.get(item.attempt) === 'cancelled';
      must(answer === 'lost' || answer === 'repeated' || again, 'I2', () => `stale ${key} was recorded`);
      this.gates.reach(answer === 'lost' ? 'stale return refused' : 'settle repeated after a lost answer');
      return;
    }
    this.budgets.cut(item, 'given up');
    if (task.cancelRequested) {
      must(answer === 'cancelled', 'I14', () => `${key} after a cancel request was answered ${answer}`);
      task.endedBy.set(item.attempt, 'cancelled');
      this.board.end(item.task, 'cancelled', item.error);
      return;
    }
    must(answer === 'done', 'I5', () => `${key} of the holder was answered ${answer}`);
    task.wentBack.set(item.attempt, item.change);
    if (item.refund) {
      task.tries--;
      this.gates.reach(item.change === 'released' ? 'released with its try' : 'come back later with its try');
    }
    if (item.change === 'retried') task.suspect = false;
    task.state = item.delayMs > 0 ? 'scheduled' : 'ready';
    task.dueAt = item.delayMs > 0 ? this.board.wall + item.delayMs : 0;
    task.dueBack = this.board.setBack;
  }

  renewed(item: RenewItem, answer: RenewAnswer): void {
    const task = this.board.held(item.task, item.attempt);
    const key = `${item.task}#${item.attempt}`;
    if (task === undefined) {
      must(!answer.held, 'I2', () => `stale ${key} was renewed`);
      this.gates.reach('renewal refused after the reap');
      return;
    }
    must(answer.held, 'I5', () => `${key} of the holder was not renewed`);
    must(
      answer.cancelRequested === task.cancelRequested,
      'I14',
      () => `${key} was told cancel ${answer.cancelRequested}`,
    );
    task.leaseUntil = this.board.now + item.ttlMs;
  }

  logged(item: LogAppend, answer: LogAnswer): void {
    const holds = this.board.held(item.task, item.attempt) !== undefined;
    must(answer === (holds ? 'done' : 'lost'), 'I2', () => `a line of ${item.task}#${item.attempt}: ${answer}`);
    if (holds) this.journal.wrote(item, item.entries);
    else this.gates.reach('stale log line refused');
  }

  askedToStop(holder: number, leases: readonly Lease[]): void {
    const due = [...this.tasks]
      .filter(([, task]) => task.state === 'running' && task.holder === holder && task.cancelRequested)
      .map(([id, { attempt }]) => `${id}#${attempt}`);
    const have = leases.map(({ task, attempt }) => `${task}#${attempt}`);
    must(have.join() === due.join(), 'I14', () => `worker ${holder} should stop ${due}, and was told ${have}`);
    if (have.length > 0) this.gates.reach('worker looked up its cancel requests');
  }

  /** Those who depend on several of them hear of their ends when all have ended. */
  cancelled(tasks: readonly number[], answers: readonly CancelAnswer[]): void {
    const ended = tasks.filter((task, i) => this.#cancelled(task, answers[i] as CancelAnswer));
    for (const task of ended) this.board.onEnd(task, 'cancelled');
  }

  #cancelled(id: number, answer: CancelAnswer): boolean {
    const task = this.tasks.get(id);
    const due =
      task === undefined || this.board.isPruned(id)
        ? 'unknown'
        : isFinal(task.state)
          ? 'finished'
          : task.state === 'running'
            ? 'requested'
            : 'cancelled';
    must(answer === due, 'I14', () => `the cancelling of ${id}, which is ${task?.state}, was answered ${answer}`);
    if (task === undefined || due !== 'cancelled') return false;
    if (task.state === 'waiting') {
      task.wait = undefined;
      this.gates.reach('waiting task cancelled');
    }
    this.board.endUntold(id, 'cancelled');
    return true;
  }

  // Events: what the verbs did without being asked for one task by number

  /** Workers have events of their own among those of tasks. */
  sawWorker(seq: number): void {
    must(seq === this.lastSeq + 1, 'I18', () => `event ${seq} follows event ${this.lastSeq}`);
    this.lastSeq = seq;
  }

  saw(event: Seen): void {
    this.sawWorker(event.seq);
    const task = this.board.task(event.task);
    const key = `${event.task}#${event.attempt}`;
    must(
      event.attempt === task.attempt,
      'I18',
      () => `event ${event.kind} of ${key} when the attempt is ${task.attempt}`,
    );
    switch (event.kind) {
      case 'expired': {
        must(task.state === 'running', 'I3', () => `${key} expired while ${task.state}`);
        must(this.board.now > task.leaseUntil, 'I1', () => `${key} was reaped before its lease had passed`);
        this.#expire(task, event);
        break;
      }
      case 'cancel_requested':
        task.cancelRequested = true;
        this.gates.reach('cancel asked of a running task');
        break;
      case 'revived':
        must(isFinal(task.state), 'I3', () => `${key} revived while ${task.state}`);
        this.#revive(task, event);
        break;
      case 'staged':
        must(task.state === 'scheduled', 'I3', () => `${key} staged while ${task.state}`);
        must(this.board.hasCome(task.dueAt, task.dueBack), 'I17', () => `${key} was staged before it was due`);
        task.state = 'ready';
        task.dueAt = 0; // due once is due for good, wherever the wall clock jumps
        this.gates.reach('scheduled task staged');
        break;
      case 'timed_out':
        must(
          task.attempt === 0 && (task.state === 'ready' || task.state === 'scheduled'),
          'I3',
          () => `${key} timed out while ${task.state}`,
        );
        must(this.board.hasCome(task.expiresAt, task.bornBack), 'I17', () => `${key} timed out before its time`);
        this.board.end(event.task, 'failed');
        this.gates.reach('task waited too long');
        break;
      case 'woken':
        this.waits.woken(event.task, task);
        break;
      // More may have become of these in the same commit.
      case 'created':
        must(event.state === task.bornAs, 'I18', () => `${key} was born ${event.state}, not ${task.bornAs}`);
        return;
      case 'parked':
        must(event.state === 'waiting' && task.parkedBy.has(event.attempt), 'I18', () => `${key} did not park`);
        return;
      // These were asked for one task by number, or followed from another one's end, and were judged then.
      case 'claimed':
      case 'completed':
      case 'failed':
      case 'cancelled':
      case 'retried':
      case 'released':
      case 'budget_warned':
        break;
    }
    must(
      event.state === task.state,
      'I18',
      () => `event ${event.kind} of ${key} says ${event.state}, it is ${task.state}`,
    );
  }

  /** The pruner may take what ended longer ago than the retention, in whole trees, and nothing else. */
  pruned(task: number, retentionMs: number): void {
    this.trees.mayGo(task, this.board.wall - retentionMs + 1);
    this.board.prune(task);
  }

  unfinished(): readonly number[] {
    const open: number[] = [];
    for (const [task, { state }] of this.tasks) if (!isFinal(state)) open.push(task);
    return open;
  }

  #grant(request: NewClaim, grant: Grant, task: Known, key: string): void {
    must(task.state === 'ready', 'I3', () => `${key} was granted while ${task.state}`);
    must(grant.attempt === task.attempt + 1, 'I1', () => `${key} follows attempt ${task.attempt}`);
    must(this.board.hasCome(task.dueAt, task.dueBack), 'I17', () => `${key} was granted before it was due`);
    task.state = 'running';
    task.attempt = grant.attempt;
    task.tries++;
    task.leaseUntil = this.board.now + request.ttlMs;
    task.holder = request.holder;
    must(grant.suspect === task.suspect, 'suspect', () => `${key} was handed out as suspect: ${grant.suspect}`);
    if (grant.suspect) this.gates.reach('suspect handed out');
    if (request.task !== undefined) {
      must(grant.task === request.task, 'I1', () => `${key} was granted for ${request.task}`);
      this.gates.reach('task claimed by its number');
    }
    must(task.tries <= task.maxTries, 'I4', () => `${key} is try ${task.tries} of ${task.maxTries}`);
    must(grant.tries === task.tries, 'I4', () => `${key} says try ${grant.tries}, it is ${task.tries}`);
    this.graph.started(grant.task);
    this.fleet.granted(request, grant.task);
  }

  #revive(task: Known, event: Seen): void {
    must(!this.trees.isGoing(event.task), 'tree', () => `${event.task} came back while its tree was being removed`);
    task.revivedAt = this.board.now;
    task.tries = 0;
    task.dueAt = 0;
    task.cancelRequested = false;
    task.suspect = false;
    task.expiresAt = Number.POSITIVE_INFINITY;
    task.result = undefined;
    this.waits.revived(task);
    this.graph.revived(event.task, task);
    this.gates.reach('finished task revived');
  }

  #expire(task: Known, event: Seen): void {
    this.gates.reach('lease reaped');
    this.budgets.cut(event, 'lost');
    if (task.cancelRequested) {
      must(
        event.state === 'cancelled',
        'I14',
        () => `${event.task} was asked to cancel, expired and became ${event.state}`,
      );
    } else if (task.tries >= task.maxTries) {
      must(event.state === 'failed', 'I4', () => `${event.task} expired at its last try and became ${event.state}`);
      this.gates.reach('exhausted by lost leases');
    } else {
      must(
        event.state === 'ready' || event.state === 'scheduled',
        'I5',
        () => `${event.task} expired into ${event.state}`,
      );
    }
    if (isFinal(event.state)) {
      this.board.end(event.task, event.state);
      return;
    }
    task.state = event.state;
    task.suspect = true;
    task.dueAt = 0;
  }
}
