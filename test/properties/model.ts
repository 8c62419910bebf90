import type { Change, FinalState, Reason, TaskState } from '../../src/core/task/task.ts';
import {
  type Again,
  ANY_TEXT,
  again,
  backoff,
  type Call,
  contentOf,
  DAY_MS,
  DUTY_MS,
  type Due,
  type DutyName,
  emptyStats,
  type Fate,
  type HeldKey,
  type Intent,
  isFinal,
  isLegalMove,
  LEASE_MS,
  leaseName,
  MAX_BOUNCES,
  type ModelDuty,
  type ModelGrant,
  type ModelLease,
  type ModelOp,
  type ModelProcess,
  type ModelPush,
  type ModelQueue,
  type ModelTask,
  type ModelTrigger,
  must,
  NOTABLE_MS,
  NOTE_MS,
  type Note,
  OP_MS,
  type Outcome,
  printOf,
  RETENTION_MS,
  STEP_MS,
  slotAfter,
  slotKey,
} from './model-parts.ts';

/**
 * The queue in plain data structures, as the design describes it: what each call must answer, and what must be there
 * afterwards. It is slow, holds everything in memory and shares no code with the engine.
 *
 * What the design leaves to the engine (the number of a new task, the jitter of a backoff, which of several claimable lanes
 * a claim serves first) is told to the model after the call; it then judges whether that was allowed.
 */
export class Model {
  /** Calendar time of the store, which may be set where it is the host's. */
  wall: number;
  /** How far the calendar of the host is ahead of the store's, where the two are not the same. */
  ahead = 0;
  /** Monotonic time of the host. */
  monotonic: number;
  /** Lease time: it goes on at the pace of the monotonic clock, whatever happens to the calendar. */
  lease: number;
  readonly tasks = new Map<number, ModelTask>();
  readonly keys = new Map<string, HeldKey>();
  readonly pushOps = new Map<string, ModelOp>();
  readonly claimOps = new Map<string, { readonly leases: readonly ModelLease[]; readonly until: number }>();
  readonly queues = new Map<string, ModelQueue>();
  readonly workers = new Map<number, { enabled: boolean }>();
  readonly duties = new Map<DutyName, ModelDuty>();
  readonly triggers = new Map<string, ModelTrigger>();
  /** Every lease that was ever granted, by task and attempt. */
  readonly grants = new Map<string, ModelGrant>();
  readonly processes: [ModelProcess, ModelProcess];
  /** What the running operation should have put into the feed. */
  notes: Note[] = [];
  lastTask = 0;
  #notedLease = 0;
  /** How far the calendar was ahead of lease time when that was written down. */
  #notedAhead = 0;

  constructor(start: { readonly wall: number; readonly monotonic: number; readonly workers: readonly number[] }) {
    this.wall = start.wall;
    this.monotonic = start.monotonic;
    this.lease = start.wall;
    for (const worker of start.workers) this.workers.set(worker, { enabled: true });
    this.processes = [this.newProcess(), this.newProcess()];
  }

  // Time

  advance(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
    this.lease += ms;
  }

  /** Everybody who writes has noticed it: what is due after a while still is, also when the clock went back. */
  setWall(by: number): void {
    this.wall += by;
    this.#followCalendar(this.#notedAhead - (this.wall - this.lease));
  }

  /** A clock that is set ahead moves nothing: the host may have slept. */
  #followCalendar(back: number): void {
    for (const task of this.tasks.values()) {
      if (back >= STEP_MS && task.state === 'scheduled' && !task.atTime) task.runAt = (task.runAt as number) - back;
    }
    const ahead = this.wall - this.lease;
    if (Math.abs(ahead - this.#notedAhead) >= NOTABLE_MS) this.#notedAhead = ahead;
  }

  /** Somebody sets the calendar of the host, and the store has its own. */
  setHost(by: number): void {
    this.ahead += by;
  }

  /**
   * Lease time goes on from what the reaper noted last, or from the calendar if that is later. The calendar has gone back
   * if it is behind what it was at that note.
   */
  reboot(monotonic: number, wallBy: number): void {
    this.monotonic = monotonic;
    this.wall += wallBy;
    this.lease = Math.max(this.#notedLease, this.wall);
    this.#followCalendar(this.#notedLease === 0 ? 0 : this.#notedLease + this.#notedAhead - this.wall);
    this.processes[0] = this.newProcess();
    this.processes[1] = this.newProcess();
  }

  newProcess(): ModelProcess {
    return { terms: new Map(), reaper: { offset: this.#offset, notBefore: 0, noteAt: 0 } };
  }

  get #offset(): number {
    return this.wall + this.ahead - this.monotonic;
  }

  // Pushing

  queue(name: string): ModelQueue {
    let queue = this.queues.get(name);
    if (queue === undefined) {
      queue = { paused: undefined, stats: emptyStats() };
      this.queues.set(name, queue);
    }
    return queue;
  }

  /** What a valid push must lead to. */
  judgePush(push: ModelPush): Due {
    const before = push.op === undefined ? undefined : this.pushOps.get(push.op);
    if (before !== undefined && before.until > this.wall) {
      if (before.content !== contentOf(push)) return { conflict: before.task, error: 'CONFLICT' };
      if (before.createdAt === undefined) return { conflict: before.task, error: 'UNIQUE_CONFLICT' };
      return { existing: this.tasks.get(before.task) ?? { id: before.task, createdAt: before.createdAt, gone: true } };
    }
    const held = push.unique === undefined ? undefined : this.holder(push.queue, push.unique.key);
    if (held === undefined) return 'create';
    if (held.print === printOf(push)) return { existing: held.task };
    return { conflict: held.task.id, error: 'UNIQUE_CONFLICT' };
  }

  /** The answer of a push: a repeat with the same operation id must get it again, also when it was a refusal. */
  remember(push: ModelPush, task: number, createdAt: number | undefined): void {
    const before = push.op === undefined ? undefined : this.pushOps.get(push.op);
    if (push.op === undefined || (before !== undefined && before.until > this.wall)) return;
    this.pushOps.set(push.op, { content: contentOf(push), task, createdAt, until: this.wall + OP_MS });
  }

  /** The task that holds a unique key: while it is unfinished, and for its window after the push. */
  holder(queue: string, key: string): { readonly task: ModelTask; readonly print: string } | undefined {
    const held = this.keys.get(`${queue} ${key}`);
    const task = held && this.tasks.get(held.task);
    if (held === undefined || task === undefined) return undefined;
    return isFinal(task.state) && held.until <= this.wall ? undefined : { task, print: held.print };
  }

  create(id: number, push: ModelPush): ModelTask {
    must(id > this.lastTask, `task ${id} is not newer than ${this.lastTask}: an id came back`);
    this.lastTask = id;
    const runAt = push.runAt ?? (push.delayMs === undefined ? undefined : this.wall + push.delayMs);
    const later = runAt !== undefined && runAt > this.wall;
    const task: ModelTask = {
      id,
      queue: push.queue,
      handler: push.handler,
      priority: push.priority,
      maxTries: push.maxTries,
      policy: push.policy,
      payload: push.payload,
      createdAt: this.wall,
      key: push.unique?.key,
      state: later ? 'scheduled' : 'ready',
      reason: 'none',
      attempt: 0,
      tries: 0,
      bounces: 0,
      suspect: false,
      worker: undefined,
      startedAt: undefined,
      finishedAt: undefined,
      runAt: later ? runAt : undefined,
      atTime: push.runAt !== undefined,
      leaseUntil: undefined,
      cancelRequestedAt: undefined,
      result: undefined,
      outcomes: new Map(),
      attempts: [],
    };
    this.tasks.set(id, task);
    if (push.unique !== undefined) {
      const until = this.wall + push.unique.windowMs;
      this.keys.set(`${push.queue} ${push.unique.key}`, { task: id, print: printOf(push), until });
    }
    this.remember(push, id, this.wall);
    this.queue(push.queue).stats[task.state]++;
    this.notes.push({ task: id, change: 'created', state: task.state, attempt: 0, at: this.wall });
    return task;
  }

  // Claiming

  /** Ready tasks of one lane in the order in which they must be handed out. */
  line(queue: string, handler: string): ModelTask[] {
    const ready: ModelTask[] = [];
    for (const task of this.tasks.values()) {
      if (task.state === 'ready' && task.queue === queue && task.handler === handler) ready.push(task);
    }
    return ready.sort((a, b) => b.priority - a.priority || a.id - b.id);
  }

  /** Whether a claim of this process may take from the queue: a pause holds at once there, elsewhere within a second. */
  open(queue: string, process: number): boolean {
    const paused = this.queues.get(queue)?.paused;
    return paused === undefined || (!paused.by.has(process) && this.monotonic - paused.at < 1000);
  }

  grant(id: number, worker: number, leaseMs: number): ModelGrant {
    const task = this.tasks.get(id);
    must(task !== undefined, `task ${id} was granted and does not exist`);
    must(task.state === 'ready', `task ${id} was granted while it was ${task.state}`);
    task.attempt++;
    task.tries++;
    must(task.tries <= task.maxTries, `task ${id} was granted for try ${task.tries} of ${task.maxTries}`);
    task.worker = worker;
    task.startedAt = this.wall;
    task.leaseUntil = this.lease + leaseMs;
    this.#move(task, 'claimed', 'running');
    const name = leaseName(task.id, task.attempt);
    must(!this.grants.has(name), `attempt ${name} was granted twice`);
    const grant = { task: id, attempt: task.attempt, tries: task.tries, bounces: task.bounces };
    this.grants.set(name, grant);
    return grant;
  }

  /** The grants of an earlier claim with this operation id, as far as they still hold. */
  grantedBefore(op: string): readonly ModelTask[] | undefined {
    const before = this.claimOps.get(op);
    if (before === undefined || before.until <= this.wall) return undefined;
    return before.leases.flatMap((lease) => this.held(lease) ?? []);
  }

  rememberClaim(op: string, leases: readonly ModelLease[]): void {
    // Nothing was granted: there is no answer that a repeat could lose.
    if (leases.length > 0) this.claimOps.set(op, { leases, until: this.wall + OP_MS });
  }

  // Speaking for an attempt

  /** The task, if this is the newest attempt of a running one: the fence. */
  held(lease: ModelLease): ModelTask | undefined {
    const task = this.tasks.get(lease.task);
    return task?.state === 'running' && task.attempt === lease.attempt ? task : undefined;
  }

  renew(lease: ModelLease, leaseMs: number): ModelTask | undefined {
    const task = this.held(lease);
    if (task !== undefined) task.leaseUntil = this.lease + leaseMs;
    return task;
  }

  /**
   * What a call of the attempt's worker is about to do; decided by the budget that its claim handed out. A worker that
   * kept nothing of it (`bare`) and repeats itself is taken to mean what its attempt came to.
   */
  intend(lease: ModelLease, call: Call, bare = false): Intent | undefined {
    const granted = this.grants.get(leaseName(lease.task, lease.attempt));
    const task = this.tasks.get(lease.task);
    if (granted === undefined || task === undefined) return undefined;
    const failed = task.outcomes.get(lease.attempt) === 'failed';
    const meant = { tries: failed ? task.maxTries : 0, bounces: failed ? MAX_BOUNCES : 0 };
    const grant = bare && this.held(lease) === undefined ? meant : granted;
    switch (call.verb) {
      case 'complete':
        return { to: 'completed', reason: 'none', result: call.result };
      case 'cancelled':
        return { to: 'cancelled', reason: 'requested', result: undefined };
      case 'give up':
        return { to: 'failed', reason: 'gave_up', result: call.error };
      case 'come back later':
        return { ...again('retried', call.delayMs), refund: true, error: call.error };
      case 'fail': {
        if (grant.tries >= task.maxTries) return { to: 'failed', reason: 'exhausted', result: call.error };
        const wait = backoff(task.policy, Math.max(1, grant.tries));
        return { ...again('retried', wait.most), least: wait.least, error: call.error };
      }
      case 'release':
        return { ...again('released', call.delayMs), refund: true };
      case 'bounce':
        if (grant.bounces + 1 >= MAX_BOUNCES) return { to: 'failed', reason: 'undeliverable', result: ANY_TEXT };
        return { ...again('released', 0), refund: true, bounced: true };
    }
  }

  /**
   * The fence, and what a repeat hears: an attempt that had ended the same way is told so again, because its answer was
   * lost; every other one has lost its lease, and changes nothing.
   */
  fate(lease: ModelLease, intent: Intent | undefined): Fate {
    if (intent === undefined) return 'lost';
    const task = this.held(lease);
    if (task !== undefined) return 'change' in intent && task.cancelRequestedAt !== undefined ? 'cancelled' : 'done';
    const ended = this.tasks.get(lease.task)?.outcomes.get(lease.attempt);
    if (ended === undefined) return 'lost';
    if ('to' in intent) return ended === intent.to ? 'repeated' : 'lost';
    if (ended === intent.change) return 'repeated';
    return ended === 'cancelled' ? 'cancelled' : 'lost';
  }

  /** Ends the task of a held lease. */
  end(task: ModelTask, to: FinalState, reason: Reason, result: string | undefined): void {
    task.outcomes.set(task.attempt, to);
    this.#finish(task, to, to, reason, result);
  }

  /** Gives the task of a held lease back. */
  giveBack(task: ModelTask, intent: Again, delayMs: number): void {
    must(
      delayMs >= intent.least && delayMs <= intent.most,
      `task ${task.id} waits ${delayMs} ms, not ${intent.least} to ${intent.most}`,
    );
    this.#endAttempt(task, intent.change, intent.error);
    if (intent.refund) task.tries--;
    // A handler that failed had started; a task that was only given back may not have.
    task.bounces = intent.change === 'retried' ? 0 : task.bounces + (intent.bounced ? 1 : 0);
    this.#again(task, intent.change, delayMs);
  }

  // Operating

  cancel(id: number): 'cancelled' | 'requested' | 'finished' | undefined {
    const task = this.tasks.get(id);
    if (task === undefined) return undefined;
    if (isFinal(task.state)) return 'finished';
    if (task.state === 'running') {
      if (task.cancelRequestedAt === undefined) this.#move(task, 'cancel_requested', 'running');
      task.cancelRequestedAt ??= this.wall;
      return 'requested';
    }
    task.cancelRequestedAt = this.wall;
    this.#finish(task, 'cancelled', 'cancelled', 'requested', undefined);
    return 'cancelled';
  }

  /** The only way out of a final state: tries start over, the attempt does not. */
  retry(id: number): 'done' | TaskState | undefined {
    const task = this.tasks.get(id);
    if (task === undefined || !isFinal(task.state)) return task?.state;
    if (task.attempt > 0 && task.attempts.at(-1)?.attempt !== task.attempt) {
      const { attempt, worker, startedAt, finishedAt, state, result } = task;
      const error = state === 'completed' ? undefined : result;
      task.attempts.push({ attempt, worker, startedAt, endedAt: finishedAt as number, outcome: state, error });
    }
    task.tries = 0;
    task.bounces = 0;
    task.reason = 'none';
    task.worker = undefined;
    task.finishedAt = undefined;
    task.cancelRequestedAt = undefined;
    task.result = undefined;
    this.#move(task, 'revived', 'ready');
    return 'done';
  }

  pause(queue: string, by: number): void {
    const here = this.queue(queue);
    here.paused ??= { by: new Set(), at: this.monotonic };
    here.paused.by.add(by);
  }

  resume(queue: string): void {
    const here = this.queues.get(queue);
    if (here !== undefined) here.paused = undefined;
  }

  // Duties

  /** Whether this process holds the duty for one pass: it renews when it is time, and takes what is free. */
  hold(process: number, name: DutyName): boolean {
    const { terms, reaper } = this.processes[process] as ModelProcess;
    const term = terms.get(name);
    const duty = this.duties.get(name);
    if (term !== undefined && this.monotonic >= term.renewAt) {
      if (duty?.epoch === term.epoch && duty.until >= this.lease) {
        duty.until = this.lease + DUTY_MS;
        term.renewAt = this.#renewal();
      } else terms.delete(name);
    }
    if (terms.has(name)) return true;
    if (duty !== undefined && duty.until >= this.lease) return false;
    const epoch = (duty?.epoch ?? 0) + 1;
    this.duties.set(name, { epoch, until: this.lease + DUTY_MS });
    terms.set(name, { epoch, renewAt: this.#renewal() });
    // The one before ended in order, so nothing was missed; else it vanished, and the workers may have been cut off too.
    const vacant = duty === undefined || duty.until === 0;
    if (name === 'reaper') {
      reaper.offset = this.#offset;
      reaper.notBefore = vacant ? 0 : this.monotonic + LEASE_MS;
    }
    return true;
  }

  /** All duties of a process renew at the same moments, a third of the term apart: one commit serves them all. */
  #renewal(): number {
    const third = DUTY_MS / 3;
    return (Math.floor(this.monotonic / third) + 1) * third;
  }

  /** Gives all duties of a process back in order. */
  stopDuties(process: number): void {
    const { terms } = this.processes[process] as ModelProcess;
    for (const [name, { epoch }] of terms) {
      const duty = this.duties.get(name);
      if (duty?.epoch === epoch) duty.until = 0;
    }
    terms.clear();
  }

  /** Leases that a pass of the reaper takes over; none while it waits after a takeover or a jump of the clock. */
  overdue(process: number): readonly ModelTask[] {
    const { reaper } = this.processes[process] as ModelProcess;
    const offset = this.#offset;
    if (Math.abs(offset - reaper.offset) > 2000) reaper.notBefore = this.monotonic + LEASE_MS;
    reaper.offset = offset;
    if (this.monotonic < reaper.notBefore) return [];
    const overdue = [...this.tasks.values()].filter(
      (task) => task.state === 'running' && (task.leaseUntil as number) < this.lease,
    );
    if (overdue.length > 0 || this.monotonic >= reaper.noteAt) {
      reaper.noteAt = this.monotonic + NOTE_MS;
      this.noteLease();
    }
    return overdue;
  }

  /** A pass of the reaper that wrote something: lease time goes on from here after a reboot. */
  noteLease(): void {
    this.#notedLease = this.lease;
  }

  /** What the reap of an overdue lease must lead to. The try stays counted. */
  judgeExpiry(task: ModelTask): 'cancelled' | 'exhausted' | { readonly least: number; readonly most: number } {
    if (task.cancelRequestedAt !== undefined) return 'cancelled';
    if (task.tries >= task.maxTries) return 'exhausted';
    return task.tries === 1 ? { least: 0, most: 0 } : backoff(task.policy, task.tries);
  }

  expire(task: ModelTask, delayMs: number): void {
    const verdict = this.judgeExpiry(task);
    if (typeof verdict === 'object') {
      must(
        delayMs >= verdict.least && delayMs <= verdict.most,
        `task ${task.id} waits ${delayMs} ms after its lease, not ${verdict.least} to ${verdict.most}`,
      );
    }
    this.takeOver(task, verdict === 'exhausted' ? 'failed' : 'again', delayMs);
  }

  /** The takeover itself: a cancel request that came before it wins, whatever the reaper had in mind. */
  takeOver(task: ModelTask, to: 'again' | 'failed', delayMs: number): void {
    this.#endAttempt(task, 'expired', undefined);
    if (task.cancelRequestedAt !== undefined) this.#finish(task, 'expired', 'cancelled', 'requested', undefined);
    else if (to === 'failed') this.#finish(task, 'expired', 'failed', 'exhausted', undefined);
    else this.#again(task, 'expired', delayMs);
  }

  /** Makes due tasks ready. */
  stage(): number {
    let staged = 0;
    for (const task of this.tasks.values()) {
      if (task.state !== 'scheduled' || (task.runAt as number) > this.wall) continue;
      task.runAt = undefined;
      this.#move(task, 'staged', 'ready');
      staged++;
    }
    return staged;
  }

  /**
   * Forgets finished tasks beyond the retention, with their keys, and operation ids beyond their day. The newest task stays:
   * its number keeps ids from coming back.
   */
  prune(): number {
    let pruned = 0;
    for (const task of this.tasks.values()) {
      if (task.id === this.lastTask || task.finishedAt === undefined || task.finishedAt >= this.wall - RETENTION_MS)
        continue;
      this.#forget(task);
      pruned++;
    }
    this.#forgetOps();
    return pruned;
  }

  /**
   * Where finished tasks go by whole days: those that are gone were due, and every one is that ended on a day which lies
   * beyond the retention as a whole. Returns how many went.
   */
  pruneDays(left: ReadonlySet<number>): number {
    const before = this.wall - RETENTION_MS;
    let pruned = 0;
    for (const task of this.tasks.values()) {
      const { id, finishedAt } = task;
      if (left.has(id)) {
        const due = finishedAt !== undefined && finishedAt < Math.floor(before / DAY_MS) * DAY_MS;
        must(!due, `task ${id} ended at ${finishedAt} and is still there`);
        continue;
      }
      must(finishedAt !== undefined && finishedAt < before, `task ${id} was pruned too early`);
      this.#forget(task);
      pruned++;
    }
    this.#forgetOps();
    return pruned;
  }

  #forget(task: ModelTask): void {
    this.tasks.delete(task.id);
    const key = `${task.queue} ${task.key}`;
    if (this.keys.get(key)?.task === task.id) this.keys.delete(key);
  }

  #forgetOps(): void {
    for (const ops of [this.pushOps, this.claimOps]) {
      for (const [op, { until }] of ops) if (until < this.wall) ops.delete(op);
    }
  }

  // Triggers

  /** A trigger whose schedule did not change keeps its place: nothing that fired fires again, nothing missed is lost. */
  putTrigger(trigger: Omit<ModelTrigger, 'nextAt'>): number {
    const before = this.triggers.get(trigger.name);
    const nextAt = before?.periodMs === trigger.periodMs ? before.nextAt : slotAfter(trigger, this.wall);
    this.triggers.set(trigger.name, { ...trigger, nextAt });
    return nextAt;
  }

  /** Slots that a pass of cron fires now, and where each trigger stands then. */
  dueSlots(): readonly {
    readonly trigger: ModelTrigger;
    readonly slots: readonly number[];
    readonly nextAt: number;
  }[] {
    return [...this.triggers.values()]
      .filter((trigger) => trigger.nextAt <= this.wall)
      .map((trigger) => {
        const missed: number[] = [];
        for (let slot = trigger.nextAt; slot <= this.wall; slot = slotAfter(trigger, slot)) missed.push(slot);
        const next = slotAfter(trigger, missed.at(-1) as number);
        if (trigger.missed === 'latest') return { trigger, slots: missed.slice(-1), nextAt: next };
        const wanted =
          trigger.missed === 'all' ? missed.slice(-100) : missed.filter((slot) => slot >= this.wall - 60_000);
        const slots = wanted.slice(0, 100);
        return { trigger, slots, nextAt: wanted[100] ?? next };
      });
  }

  /** A slot is a unique key: at most one task, whoever fires it. */
  slotPush(trigger: ModelTrigger, slot: number): ModelPush {
    return { ...trigger.push, unique: { key: slotKey(trigger.name, slot), windowMs: DAY_MS, print: 'slot' } };
  }

  // Moving

  #endAttempt(task: ModelTask, outcome: Outcome, error: string | undefined): void {
    const { attempt, worker, startedAt } = task;
    task.outcomes.set(attempt, outcome);
    task.attempts.push({ attempt, worker, startedAt, endedAt: this.wall, outcome, error });
  }

  #again(task: ModelTask, change: Change, delayMs: number): void {
    if (change !== 'released') task.suspect = change === 'expired';
    task.worker = undefined;
    task.leaseUntil = undefined;
    task.runAt = delayMs > 0 ? this.wall + delayMs : undefined;
    task.atTime = false;
    this.#move(task, change, delayMs > 0 ? 'scheduled' : 'ready');
  }

  #finish(task: ModelTask, change: Change, to: FinalState, reason: Reason, result: string | undefined): void {
    task.finishedAt = this.wall;
    task.suspect = false;
    task.leaseUntil = undefined;
    task.runAt = undefined;
    task.reason = reason;
    task.result = result;
    this.#move(task, change, to);
  }

  #move(task: ModelTask, change: Change, to: TaskState): void {
    must(isLegalMove(change, task.state, to), `${change} may not lead from ${task.state} to ${to}`);
    const { stats } = this.queue(task.queue);
    stats[task.state]--;
    stats[to]++;
    task.state = to;
    this.notes.push({ task: task.id, change, state: to, attempt: task.attempt, at: this.wall });
  }
}
