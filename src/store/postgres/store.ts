import type { QueueStats } from '../../core/event.ts';
import type { Lease } from '../../core/lease.ts';
import type * as port from '../store.ts';
import { pushInCallerTransaction } from './caller-transaction.ts';
import type { Session, Try } from './database.ts';
import { Flights } from './flights.ts';
import { LogOrder } from './log-order.ts';
import { deal, mergeClaims } from './merge.ts';
import type { PostgresParts } from './parts.ts';
import { prioOf } from './prio.ts';
import { recount, repair } from './verbs/audit.ts';
import { cancelTasks, reviveTask } from './verbs/cancel.ts';
import { claimTasks } from './verbs/claim.ts';
import { releaseDuty, renewDuty, requireDuty, requireRow, takeDuty } from './verbs/duty.ts';
import { numberEvents, readEvents } from './verbs/event.ts';
import { internLanes, internSpecs, scanLanes } from './verbs/intern.ts';
import { cancelledLeases, overdueLeases, reapLeases, renewLeases } from './verbs/lease.ts';
import { appendLogs, readLog } from './verbs/log.ts';
import { prune } from './verbs/prune.ts';
import { type Drawn, isReady, pushKeyed, pushTasks, waves } from './verbs/push.ts';
import { getTasks, listAttempts, listQueues, listTasks, queueStats } from './verbs/read.ts';
import { returnTasks, settleTasks } from './verbs/settle.ts';
import { expireTasks, stageTasks } from './verbs/stage.ts';
import { dueTriggers, listTriggers, putTrigger } from './verbs/trigger.ts';
import { beatAll, listWorkers, reapWorkers, registerWorker } from './verbs/worker.ts';
import type { PostgresWakeups } from './wakeups.ts';

const AUDIT_MS = 10 * 60_000;

/** The port on Postgres: each verb is a function in `verbs/`, on a connection of the pool. */
export class PostgresStore implements port.Store {
  readonly clusterKey: string;
  readonly capabilities: port.Capabilities = {
    name: 'postgres',
    shared: true,
    durable: true,
    callerTransactions: true,
    numbersEvents: false,
    commitsTurns: false,
  };
  readonly #parts: PostgresParts;
  readonly #wakeups: PostgresWakeups;
  readonly #logs = new LogOrder();
  readonly #flights: Flights;
  #claims = 0;

  constructor(parts: PostgresParts, wakeups: PostgresWakeups, clusterKey: string) {
    this.#parts = parts;
    this.#wakeups = wakeups;
    this.#flights = new Flights(parts.world, parts.database, parts.store);
    this.clusterKey = clusterKey;
  }

  laneIntern({ lanes }: { lanes: readonly port.LaneName[] }): Promise<readonly port.Lane[]> {
    return this.#run((session) => internLanes(session, this.#parts.lanes, lanes));
  }

  laneScan({ after, limit }: { after: number; limit: number }): Promise<readonly port.Lane[]> {
    return this.#run((session) => scanLanes(session, this.#parts.lanes, after, limit));
  }

  specIntern({ specs }: { specs: readonly string[] }): Promise<readonly number[]> {
    return this.#run((session) => internSpecs(session, specs));
  }

  specGet({ spec }: { spec: number }): Promise<string | undefined> {
    return this.#run(async (session) => (await session.all<{ body: string }>('specGet', [spec]))[0]?.body);
  }

  async taskPush({ items }: { items: readonly port.NewTask[] }): Promise<readonly port.PushAnswer[]> {
    const answers: port.PushAnswer[] = [];
    const plain: number[] = [];
    const keyed: number[] = [];
    for (const [i, { op, unique }] of items.entries()) {
      (op === undefined && unique === undefined ? plain : keyed).push(i);
    }
    const put = (places: readonly number[], given: readonly port.PushAnswer[]): void => {
      for (const [at, i] of places.entries()) answers[i] = given[at] as port.PushAnswer;
    };
    // Those with keys first: when the others cannot be stored, all are sent again, and these are known by their keys.
    if (keyed.length > 0) put(keyed, await this.#pushKeyed(pick(items, keyed)));
    if (plain.length > 0) put(plain, await this.#pushPlain(keyed.length === 0 ? items : pick(items, plain)));
    this.#tellReady(items, answers);
    return answers;
  }

  #pushPlain(items: readonly port.NewTask[]): Promise<readonly port.PushAnswer[]> {
    const flight = this.#flights.next();
    return this.#run((session, tried) => pushTasks(session, this.#parts, flight, items, tried));
  }

  async #pushKeyed(items: readonly port.NewTask[]): Promise<readonly port.PushAnswer[]> {
    const answers: port.PushAnswer[] = [];
    const { lanes } = this.#parts;
    await this.#run((session) =>
      lanes.need(
        session,
        items.map(({ lane }) => lane),
      ),
    );
    for (const wave of waves(items, ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
      const flight = this.#flights.next();
      const some = pick(items, wave);
      const sendings: Drawn = [];
      const given = await this.#transaction((session, tried) =>
        pushKeyed(session, this.#parts, flight, some, tried, sendings),
      );
      for (const [at, i] of wave.entries()) answers[i] = given[at] as port.PushAnswer;
    }
    return answers;
  }

  taskPushIn(params: port.PushInParams): Promise<readonly port.PushAnswer[]> {
    return pushInCallerTransaction(params, this.#parts, () => this.#flights.next());
  }

  /** One after another: two at once would only step over each other's rows. */
  async taskClaim({
    claims,
  }: {
    claims: readonly port.ClaimRequest[];
  }): Promise<readonly (readonly port.Grant[] | undefined)[]> {
    const answers: (readonly port.Grant[] | undefined)[] = claims.map(() => undefined);
    for (const merged of mergeClaims(claims)) {
      const { request } = merged;
      const note = `${this.#parts.store}/${++this.#claims}`;
      const body = (session: Session, tried: Try): ReturnType<typeof claimTasks> =>
        claimTasks(session, this.#parts, request, note, tried);
      try {
        // With an operation id the grants and the memory of them are one thing.
        deal(merged, claims, await (request.op === undefined ? this.#run(body) : this.#transaction(body)), answers);
      } catch (error) {
        // What an earlier one was granted is granted: a fault now must not hide it from its caller.
        if (answers.every((grants) => grants === undefined || grants.length === 0)) throw error;
        break;
      }
    }
    return answers;
  }

  async taskSettle({ items }: { items: readonly port.SettleItem[] }): Promise<readonly port.SettleAnswer[]> {
    await this.#logs.behind(items);
    const answers = await this.#run((session) => settleTasks(session, items));
    this.#wakeups.tell([]);
    return answers;
  }

  async taskReturn({ items }: { items: readonly port.ReturnItem[] }): Promise<readonly port.SettleAnswer[]> {
    await this.#logs.behind(items);
    const { answers, lanes } = await this.#run((session) => returnTasks(session, items));
    this.#ready(lanes);
    return answers;
  }

  leaseRenew({ items }: { items: readonly port.RenewItem[] }): Promise<readonly port.RenewAnswer[]> {
    return this.#urgently((session) => renewLeases(session, items));
  }

  leaseCancels({ holder }: { holder: number }): Promise<readonly Lease[]> {
    return this.#run((session) => cancelledLeases(session, holder));
  }

  logAppend({ items }: { items: readonly port.LogAppend[] }): Promise<readonly port.LogAnswer[]> {
    const answers = this.#run((session) => appendLogs(session, items));
    this.#logs.add(new Set(items.map(({ task }) => task)), answers);
    return answers;
  }

  logRead(query: port.LogQuery): Promise<readonly port.LogLine[]> {
    return this.#run((session) => readLog(session, query));
  }

  leaseOverdue({ limit }: { limit: number }): Promise<port.Overdue> {
    return this.#run((session) => overdueLeases(session, limit));
  }

  async leaseReap({ duty, items }: { duty: port.DutyTerm; items: readonly port.ReapItem[] }): Promise<port.ReapAnswer> {
    const answer = await this.#run((session) => reapLeases(session, duty, items));
    this.#ready(answer.lanes);
    return answer;
  }

  async taskStage({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.StageAnswer> {
    const answer = await this.#run((session) => stageTasks(session, duty, limit));
    this.#ready(answer.lanes);
    return answer;
  }

  taskExpire({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.ExpireAnswer> {
    return this.#run((session) => expireTasks(session, duty, limit));
  }

  taskCancel({ tasks }: { tasks: readonly number[] }): Promise<readonly port.CancelAnswer[]> {
    return this.#run((session, tried) => cancelTasks(session, tasks, tried));
  }

  async taskRevive({ tasks }: { tasks: readonly number[] }): Promise<readonly port.ReviveAnswer[]> {
    const answers: port.ReviveAnswer[] = [];
    for (const task of tasks) answers.push(await this.#run((session, tried) => reviveTask(session, task, tried)));
    this.#ready(answers.flatMap((answer) => (answer.ok ? [answer.lane] : [])));
    return answers;
  }

  taskGet({ tasks }: { tasks: readonly number[] }): Promise<readonly (port.TaskRecord | undefined)[]> {
    return this.#run((session) => getTasks(session, tasks));
  }

  taskList(query: port.TaskQuery): Promise<readonly port.TaskRecord[]> {
    return this.#run((session) => listTasks(session, this.#parts.schema, query));
  }

  taskByKey({ queue, key }: { queue: string; key: string }): Promise<number | undefined> {
    return this.#run(async (session) => (await session.all<{ task: number }>('uniqGet', [queue, key]))[0]?.task);
  }

  /** The server's clock is both. */
  async clock(): Promise<port.StoreTime> {
    const [row] = await this.#run((session) => session.all<{ now: number }>('now', []));
    const { now } = row as { now: number };
    return { calendar: now, lease: now };
  }

  attemptList({ task }: { task: number }): Promise<readonly port.AttemptRecord[]> {
    return this.#run((session) => listAttempts(session, task));
  }

  async queuePause({ queue, paused }: { queue: string; paused: boolean }): Promise<void> {
    await this.#run((session) => session.rows('queuePause', [queue, paused]));
  }

  queueStats({ queue }: { queue: string }): Promise<QueueStats | undefined> {
    return this.#run((session) => queueStats(session, queue));
  }

  queueList(): Promise<readonly port.QueueRecord[]> {
    return this.#run(listQueues);
  }

  workerRegister(worker: port.NewWorker): Promise<number> {
    return this.#run((session) => registerWorker(session, worker));
  }

  workerBeat({ beats }: { beats: readonly port.WorkerBeat[] }): Promise<readonly boolean[]> {
    return this.#urgently((session) => beatAll(session, beats));
  }

  async workerEnable({ worker, enabled }: { worker: number; enabled: boolean }): Promise<void> {
    await this.#run((session) => session.rows('workerEnable', [worker, enabled]));
  }

  workerList(): Promise<readonly port.WorkerRecord[]> {
    return this.#run(listWorkers);
  }

  workerReap({ duty, staleMs }: { duty: port.DutyTerm; staleMs: number }): Promise<readonly number[]> {
    return this.#run((session) => reapWorkers(session, duty, staleMs));
  }

  dutyTake({ name, holder, ttlMs }: { name: string; holder: string; ttlMs: number }): Promise<port.Tenure | undefined> {
    return this.#run((session, tried) => takeDuty(session, name, holder, ttlMs, tried));
  }

  dutyRenew({ duty, ttlMs }: { duty: port.DutyTerm; ttlMs: number }): Promise<boolean> {
    return this.#urgently((session) => renewDuty(session, duty, ttlMs));
  }

  dutyRelease({ duty }: { duty: port.DutyTerm }): Promise<void> {
    return this.#run((session) => releaseDuty(session, duty));
  }

  eventRead({ after, limit }: { after: number; limit: number }): Promise<port.EventPage> {
    return this.#run((session) => readEvents(session, after, limit));
  }

  async eventNumber({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.NumberAnswer> {
    const answer = await this.#run((session) => numberEvents(session, duty, limit));
    if (answer.events > 0) this.#wakeups.tell([]);
    return answer;
  }

  taskPrune(query: port.PruneQuery): Promise<port.PruneAnswer> {
    return prune(this.#parts, query);
  }

  async statsAudit({ duty }: { duty: port.DutyTerm }): Promise<readonly port.Drift[]> {
    const long = { deadlineMs: AUDIT_MS };
    const patient = "SET LOCAL statement_timeout = '10min'";
    // Without a lock: on a large store it takes a while, and the duty must be renewed meanwhile. Mostly nothing is found.
    const found = await this.#parts.database.transaction(async (session) => {
      await session.raw(patient);
      const drifts = await recount(session);
      await requireDuty(session, duty);
      return drifts;
    }, long);
    if (found.length === 0) return [];
    // Once more, and alone: two that find the same difference must not both add it.
    return this.#parts.database.transaction(async (session) => {
      await session.raw(patient);
      const [held] = await session.all('dutyAlone', [duty.name, duty.epoch]);
      requireRow(duty, held);
      return repair(session, await recount(session));
    }, long);
  }

  triggerPut({ trigger }: { trigger: port.NewTrigger }): Promise<number> {
    return this.#run((session) => putTrigger(session, trigger));
  }

  triggerRemove({ name }: { name: string }): Promise<boolean> {
    return this.#run(async (session) => (await session.rows('triggerRemove', [name])).length > 0);
  }

  triggerList(): Promise<readonly port.TriggerRecord[]> {
    return this.#run(listTriggers);
  }

  triggerDue({ limit }: { limit: number }): Promise<port.DueTriggers> {
    return this.#run((session) => dueTriggers(session, limit));
  }

  /** The slot moves by compare-and-set and its tasks carry the slot as their unique key: twice over, a slot fires once. */
  async triggerFire(firing: port.TriggerFiring): Promise<port.TriggerAnswer> {
    const { lanes } = this.#parts;
    const answer = await this.#transaction(async (session): Promise<port.TriggerAnswer> => {
      await requireDuty(session, firing.duty);
      const moved = await session.rows('triggerMove', [firing.nextAt, firing.name, firing.from]);
      if (moved.length === 0) return { moved: false, pushed: [] };
      await lanes.need(
        session,
        firing.items.map(({ lane }) => lane),
      );
      const pushed: port.PushAnswer[] = [];
      for (const wave of waves(firing.items, ({ lane }) => lanes.known(lane)?.queueId ?? 0)) {
        const given = await pushKeyed(session, this.#parts, this.#flights.next(), pick(firing.items, wave));
        for (const [at, i] of wave.entries()) pushed[i] = given[at] as port.PushAnswer;
      }
      return { moved: true, pushed };
    });
    this.#tellReady(firing.items, answer.pushed);
    return answer;
  }

  watch({ wanted, onChange }: port.WatchParams): () => void {
    const hear = (lanes: readonly number[] | undefined): void => {
      this.#parts.marks.drop(lanes);
      if (wanted()) onChange(lanes);
    };
    return this.#wakeups.listen({ wanted, hear });
  }

  async close(): Promise<void> {
    await this.#wakeups.close();
    await Promise.all([this.#parts.database.close(), this.#parts.reserved.close()]);
  }

  #run<T>(body: (session: Session, tried: Try) => Promise<T>): Promise<T> {
    this.#wakeups.look();
    return this.#parts.database.run(body);
  }

  /** On a connection of its own: what keeps a lease must not wait for what uses it. */
  #urgently<T>(body: (session: Session, tried: Try) => Promise<T>): Promise<T> {
    return this.#parts.reserved.run(body);
  }

  #transaction<T>(body: (session: Session, tried: Try) => Promise<T>): Promise<T> {
    return this.#parts.database.transaction(body);
  }

  #tellReady(items: readonly port.NewTask[], answers: readonly port.PushAnswer[]): void {
    const lanes = new Set<number>();
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok || !isReady(answer)) continue;
      const { lane, priority } = items[i] as port.NewTask;
      lanes.add(lane);
      this.#parts.marks.lower(lane, { prio: prioOf(priority), id: answer.task });
    }
    if (lanes.size > 0) this.#wakeups.tell(lanes);
  }

  /** Tasks of unknown place became ready there. */
  #ready(lanes: Iterable<number>): void {
    const all = [...lanes];
    if (all.length === 0) return;
    this.#parts.marks.drop(all);
    this.#wakeups.tell(all);
  }
}

function pick<T>(items: readonly T[], places: readonly number[]): readonly T[] {
  return places.map((i) => items[i] as T);
}
