import type { Lease } from '../../src/core/lease.ts';
import { type Change, isFinal, isLegal, type TaskState } from '../../src/core/task.ts';
import type {
  ClaimRequest,
  DutyTerm,
  Grant,
  LogAnswer,
  LogAppend,
  NewTask,
  PushAnswer,
  RenewAnswer,
  RenewItem,
  ReturnItem,
  SettleAnswer,
  SettleItem,
  Tenure,
  TriggerFiring,
} from '../../src/store/store.ts';
import type { Gates } from './gates.ts';
import type { Scheduler } from './scheduler.ts';
import { must } from './trace.ts';

interface Known {
  state: TaskState;
  attempt: number;
  tries: number;
  maxTries: number;
  /** Monotonic time at which the running attempt's lease passes. */
  leaseUntil: number;
  /** Wall time before which it may not be claimed. */
  dueAt: number;
  cancelRequested: boolean;
  /** The worker incarnation of the newest attempt. */
  holder: number;
  /** A lease ran out and no handler has come to its end since. */
  suspect: boolean;
  /** Wall time at which it will have waited too long for its first start. */
  expiresAt: number;
  /** The attempts that ended the task by a settle of their own (more than one, if it was revived), and how. */
  readonly endedBy: Map<number, TaskState>;
  endedAt: number;
  readonly payload: string;
}

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
 * nothing of tables: every answer and every event is judged against it at the moment of the commit.
 */
export class Model {
  readonly tasks = new Map<number, Known>();
  readonly #scheduler: Scheduler;
  readonly gates: Gates;
  readonly #granted = new Set<string>();
  readonly #ops = new Map<string, number | 'conflict'>();
  readonly #keys = new Map<string, { task: number; hash: number; until: number }>();
  readonly #duties = new Map<string, { epoch: number; until: number }>();
  readonly #slots = new Map<string, number>();
  readonly #pruned = new Set<number>();
  lastSeq = 0;

  constructor(scheduler: Scheduler, gates: Gates) {
    this.#scheduler = scheduler;
    this.gates = gates;
  }

  // Answers, each judged at its commit

  pushed(items: readonly NewTask[], answers: readonly PushAnswer[]): void {
    for (const [i, item] of items.entries()) {
      const answer = answers[i] as PushAnswer;
      const expected = this.#expectPush(item);
      if (expected === 'conflict') {
        must(!answer.ok, 'I12', () => `key ${item.unique?.key} with another input was accepted`);
        this.#answered(item, 'conflict');
        this.gates.reach('unique key refused another input');
        continue;
      }
      must(answer.ok, 'I12', () => `a push was refused without reason: ${JSON.stringify(item)}`);
      if (expected !== undefined) {
        must(answer.task === expected, 'I12', () => `a repeated push gave task ${answer.task} instead of ${expected}`);
        must(!answer.fresh, 'I12', () => `a repeated push called task ${answer.task} new`);
        this.gates.reach(
          item.op && this.#ops.has(item.op) ? 'push repeated by operation id' : 'unique key led to the same task',
        );
        this.#answered(item, answer.task);
        continue;
      }
      must(answer.fresh && !this.tasks.has(answer.task), 'I6', () => `push answered with old task ${answer.task}`);
      this.#remember(item, answer.task);
    }
  }

  claimed(request: ClaimRequest, grants: readonly Grant[]): void {
    must(grants.length <= request.max, 'I1', () => `${grants.length} grants for a claim of ${request.max}`);
    for (const grant of grants) {
      const task = this.#task(grant.task);
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
      must(task.state === 'ready', 'I3', () => `${key} was granted while ${task.state}`);
      must(grant.attempt === task.attempt + 1, 'I1', () => `${key} follows attempt ${task.attempt}`);
      must(this.#scheduler.wall >= task.dueAt, 'I17', () => `${key} was granted before it was due`);
      task.state = 'running';
      task.attempt = grant.attempt;
      task.tries++;
      task.leaseUntil = this.#scheduler.now + request.ttlMs;
      task.holder = request.holder;
      must(grant.suspect === task.suspect, 'suspect', () => `${key} was handed out as suspect: ${grant.suspect}`);
      if (grant.suspect) this.gates.reach('suspect handed out');
      if (request.task !== undefined) {
        must(grant.task === request.task, 'I1', () => `${key} was granted for ${request.task}`);
        this.gates.reach('task claimed by its number');
      }
      must(task.tries <= task.maxTries, 'I4', () => `${key} is try ${task.tries} of ${task.maxTries}`);
      must(grant.tries === task.tries, 'I4', () => `${key} says try ${grant.tries}, it is ${task.tries}`);
    }
  }

  settled(item: SettleItem, answer: SettleAnswer): void {
    const task = this.tasks.get(item.task);
    const key = `${item.task}#${item.attempt} ${item.to}`;
    if (task === undefined || !this.#holds(task, item.attempt)) {
      must(answer !== 'done', 'I2', () => `stale ${key} was recorded`);
      const repeated = task?.endedBy.get(item.attempt) === item.to;
      if (answer === 'repeated') {
        must(repeated, 'I2', () => `${key} was called a repeat and is none`);
        this.gates.reach('settle repeated after a lost answer');
      } else {
        this.gates.reach('stale settle refused');
      }
      return;
    }
    must(answer === 'done', 'I5', () => `${key} of the holder was answered ${answer}`);
    if (this.#scheduler.now > task.leaseUntil) this.gates.reach('late result accepted before the reap');
    if (task.cancelRequested && item.to === 'completed') this.gates.reach('cancel and completion raced');
    if (item.reason === 'exhausted') {
      must(task.tries >= task.maxTries, 'I4', () => `${key} exhausted after ${task.tries} of ${task.maxTries}`);
      this.gates.reach('exhausted by failures');
    }
    task.state = item.to;
    task.suspect = false;
    task.endedBy.set(item.attempt, item.to);
    task.endedAt = this.#scheduler.wall;
  }

  returned(item: ReturnItem, answer: SettleAnswer): void {
    const task = this.tasks.get(item.task);
    const key = `${item.task}#${item.attempt} ${item.change}`;
    if (task === undefined || !this.#holds(task, item.attempt)) {
      // A repeat of what ended as cancelled is told so again.
      const again = answer === 'cancelled' && task?.endedBy.get(item.attempt) === 'cancelled';
      must(answer === 'lost' || answer === 'repeated' || again, 'I2', () => `stale ${key} was recorded`);
      this.gates.reach(answer === 'lost' ? 'stale return refused' : 'settle repeated after a lost answer');
      return;
    }
    if (task.cancelRequested) {
      must(answer === 'cancelled', 'I14', () => `${key} after a cancel request was answered ${answer}`);
      task.state = 'cancelled';
      task.endedBy.set(item.attempt, 'cancelled');
      task.endedAt = this.#scheduler.wall;
      return;
    }
    must(answer === 'done', 'I5', () => `${key} of the holder was answered ${answer}`);
    if (item.refund) {
      task.tries--;
      this.gates.reach(item.change === 'released' ? 'released with its try' : 'come back later with its try');
    }
    if (item.change === 'retried') task.suspect = false;
    task.state = item.delayMs > 0 ? 'scheduled' : 'ready';
    task.dueAt = item.delayMs > 0 ? this.#scheduler.wall + item.delayMs : 0;
  }

  renewed(item: RenewItem, answer: RenewAnswer): void {
    const task = this.tasks.get(item.task);
    const key = `${item.task}#${item.attempt}`;
    if (task === undefined || !this.#holds(task, item.attempt)) {
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
    task.leaseUntil = this.#scheduler.now + item.ttlMs;
  }

  logged(item: LogAppend, answer: LogAnswer): void {
    const task = this.tasks.get(item.task);
    const holds = task !== undefined && this.#holds(task, item.attempt);
    must(answer === (holds ? 'done' : 'lost'), 'I2', () => `a line of ${item.task}#${item.attempt}: ${answer}`);
    if (!holds) this.gates.reach('stale log line refused');
  }

  askedToStop(holder: number, leases: readonly Lease[]): void {
    const due = [...this.tasks]
      .filter(([, task]) => task.state === 'running' && task.holder === holder && task.cancelRequested)
      .map(([id, { attempt }]) => `${id}#${attempt}`);
    const have = leases.map(({ task, attempt }) => `${task}#${attempt}`);
    must(have.join() === due.join(), 'I14', () => `worker ${holder} should stop ${due}, and was told ${have}`);
    if (have.length > 0) this.gates.reach('worker looked up its cancel requests');
  }

  dutyTaken(name: string, ttlMs: number, tenure: Tenure | undefined): void {
    const before = this.#duties.get(name) ?? { epoch: 0, until: 0 };
    if (tenure === undefined) {
      must(before.until >= this.#scheduler.now, 'I9', () => `free duty ${name} was refused`);
      return;
    }
    must(before.until < this.#scheduler.now, 'I9', () => `duty ${name} was given away while it was held`);
    must(
      tenure.epoch === before.epoch + 1,
      'I9',
      () => `duty ${name} went from epoch ${before.epoch} to ${tenure.epoch}`,
    );
    if (before.until > 0) this.gates.reach('duty taken over');
    this.#duties.set(name, { epoch: tenure.epoch, until: this.#scheduler.now + ttlMs });
  }

  dutyRenewed(duty: DutyTerm, ttlMs: number, held: boolean): void {
    const now = this.#duties.get(duty.name);
    const right = now !== undefined && now.epoch === duty.epoch && now.until >= this.#scheduler.now;
    must(held === right, 'I9', () => `renewal of ${duty.name}@${duty.epoch} was answered ${held}`);
    if (held) this.#duties.set(duty.name, { epoch: duty.epoch, until: this.#scheduler.now + ttlMs });
  }

  dutyReleased(duty: DutyTerm): void {
    if (this.#duties.get(duty.name)?.epoch === duty.epoch) this.#duties.set(duty.name, { epoch: duty.epoch, until: 0 });
  }

  /** A duty write either came from the newest holder or was refused. */
  dutyWrote(duty: DutyTerm, refused: boolean): void {
    const current = this.#duties.get(duty.name)?.epoch === duty.epoch;
    must(current || refused, 'I9', () => `a write of deposed ${duty.name}@${duty.epoch} landed`);
    must(!current || !refused, 'I9', () => `a write of ${duty.name}@${duty.epoch}, the holder, was refused`);
    if (refused) this.gates.reach('deposed holder refused');
  }

  fired(firing: TriggerFiring, moved: boolean, answers: readonly PushAnswer[]): void {
    if (!moved) {
      this.gates.reach('cron slot contested');
      return;
    }
    for (const [i, item] of firing.items.entries()) {
      const slot = item.unique?.key as string;
      const answer = answers[i] as PushAnswer;
      const before = this.#slots.get(slot);
      // A trigger that was removed and put again may come back to a slot; its task is then the same one.
      must(
        before === undefined || this.#pruned.has(before) || (answer.ok && answer.task === before),
        'I11',
        () => `slot ${slot} fired twice`,
      );
      if (answer.ok) this.#slots.set(slot, answer.task);
      this.gates.reach('cron slot fired');
      this.pushed([item], [answer]);
    }
  }

  // Events: what the verbs did without being asked for one task by number

  saw(event: Seen): void {
    must(event.seq === this.lastSeq + 1, 'I18', () => `event ${event.seq} follows event ${this.lastSeq}`);
    this.lastSeq = event.seq;
    const task = this.#task(event.task);
    const key = `${event.task}#${event.attempt}`;
    must(
      event.attempt === task.attempt,
      'I18',
      () => `event ${event.kind} of ${key} when the attempt is ${task.attempt}`,
    );
    switch (event.kind) {
      case 'expired': {
        must(task.state === 'running', 'I3', () => `${key} expired while ${task.state}`);
        must(this.#scheduler.now > task.leaseUntil, 'I1', () => `${key} was reaped before its lease had passed`);
        this.#expire(task, event);
        break;
      }
      case 'cancelled':
        if (task.state !== 'cancelled') {
          must(
            isLegal('cancelled', task.state, 'cancelled') && task.state !== 'running',
            'I14',
            () => `${key} cancelled`,
          );
          task.state = 'cancelled';
          task.endedAt = this.#scheduler.wall;
        }
        break;
      case 'cancel_requested':
        task.cancelRequested = true;
        this.gates.reach('cancel asked of a running task');
        break;
      case 'revived':
        must(isFinal(task.state), 'I3', () => `${key} revived while ${task.state}`);
        task.state = 'ready';
        task.tries = 0;
        task.dueAt = 0;
        task.cancelRequested = false;
        task.suspect = false;
        task.expiresAt = Number.POSITIVE_INFINITY;
        this.gates.reach('finished task revived');
        break;
      case 'staged':
        must(task.state === 'scheduled', 'I3', () => `${key} staged while ${task.state}`);
        must(this.#scheduler.wall >= task.dueAt, 'I17', () => `${key} was staged before it was due`);
        task.state = 'ready';
        task.dueAt = 0; // due once is due for good, wherever the wall clock jumps
        this.gates.reach('scheduled task staged');
        break;
      case 'timed_out':
        must(
          task.attempt === 0 && isLegal('timed_out', task.state, 'failed'),
          'I3',
          () => `${key} timed out while ${task.state}`,
        );
        must(this.#scheduler.wall >= task.expiresAt, 'I17', () => `${key} timed out before its time`);
        task.state = 'failed';
        task.endedAt = this.#scheduler.wall;
        this.gates.reach('task waited too long');
        break;
      // These were asked for one task by number, and judged with their answers.
      case 'created':
      case 'claimed':
      case 'completed':
      case 'failed':
      case 'retried':
      case 'released':
      case 'parked':
      case 'woken':
        break;
    }
    must(
      event.state === task.state,
      'I18',
      () => `event ${event.kind} of ${key} says ${event.state}, it is ${task.state}`,
    );
  }

  /** The pruner may take what ended longer ago than the retention, and nothing else. */
  prunable(task: number, retentionMs: number): boolean {
    const known = this.tasks.get(task);
    return known !== undefined && isFinal(known.state) && known.endedAt < this.#scheduler.wall - retentionMs + 1;
  }

  prune(task: number): void {
    this.#pruned.add(task);
  }

  isPruned(task: number): boolean {
    return this.#pruned.has(task);
  }

  unfinished(): readonly number[] {
    return [...this.tasks].filter(([, { state }]) => !isFinal(state)).map(([task]) => task);
  }

  #expire(task: Known, event: Seen): void {
    this.gates.reach('lease reaped');
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
    task.state = event.state;
    task.suspect = !isFinal(event.state);
    task.dueAt = 0;
    if (isFinal(event.state)) task.endedAt = this.#scheduler.wall;
  }

  #expectPush(item: NewTask): number | 'conflict' | undefined {
    const byOp = item.op === undefined ? undefined : this.#ops.get(item.op);
    if (byOp !== undefined) return byOp;
    const held = item.unique && this.#keys.get(`${item.lane}/${item.unique.key}`);
    if (held === undefined || item.unique === undefined || this.#pruned.has(held.task)) return undefined;
    const finished = isFinal(this.#task(held.task).state);
    if (held.until <= this.#scheduler.wall && finished) return undefined;
    return held.hash === item.unique.hash ? held.task : 'conflict';
  }

  #remember(item: NewTask, task: number): void {
    const dueAt = item.runAt ?? (item.delayMs === undefined ? 0 : this.#scheduler.wall + item.delayMs);
    this.tasks.set(task, {
      state: dueAt > this.#scheduler.wall ? 'scheduled' : 'ready',
      attempt: 0,
      tries: 0,
      maxTries: item.maxTries,
      leaseUntil: 0,
      dueAt,
      cancelRequested: false,
      holder: 0,
      suspect: false,
      expiresAt:
        item.waitTimeoutMs === undefined
          ? Number.POSITIVE_INFINITY
          : Math.max(dueAt, this.#scheduler.wall) + item.waitTimeoutMs,
      endedBy: new Map(),
      endedAt: 0,
      payload: item.payload,
    });
    this.#answered(item, task);
    if (item.unique !== undefined) {
      const { key, hash, windowMs } = item.unique;
      this.#keys.set(`${item.lane}/${key}`, { task, hash, until: this.#scheduler.wall + windowMs });
    }
  }

  /** The first answer is the answer, whatever it was. */
  #answered(item: NewTask, answer: number | 'conflict'): void {
    if (item.op !== undefined && !this.#ops.has(item.op)) this.#ops.set(item.op, answer);
  }

  #holds(task: Known, attempt: number): boolean {
    return task.state === 'running' && task.attempt === attempt;
  }

  #task(task: number): Known {
    const known = this.tasks.get(task);
    must(known !== undefined, 'I6', () => `task ${task} was never pushed`);
    return known;
  }
}
