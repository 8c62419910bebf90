import { fault } from '../../core/errors.ts';
import type { Limit } from '../../core/limits/limit.ts';
import type { NodeOverride } from '../../core/node.ts';
import type { HandlerSchema, WorkerState } from '../../core/placement/worker.ts';
import type { QueueStats } from '../../core/task/event.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { TaskState } from '../../core/task/task.ts';
import type * as port from '../store.ts';
import { resultKeyOf } from './body.ts';
import { pushInCallerTransaction } from './caller-transaction.ts';
import { AnswerCache } from './file/answer-cache.ts';
import type { Connection, Prepared } from './file/connection.ts';
import type { Transaction } from './file/transaction.ts';
import { watchCommits } from './file/watch.ts';
import type { Rank, Writer } from './file/writer.ts';
import type { SqliteParts } from './parts.ts';
import { recount, recountApart, repair } from './verbs/admin/audit.ts';
import { type Renewal, releaseDuty, renewDuties, requireDuty, takeDuty } from './verbs/admin/duty.ts';
import { readEvents } from './verbs/admin/event.ts';
import {
  countTasks,
  dropView,
  handlerQueues,
  listFailures,
  listSchemas,
  listViews,
  putSchemas,
  putView,
} from './verbs/admin/insight.ts';
import {
  auditSlots,
  changeLimit,
  getSlot,
  limitChanges,
  listLimits,
  pauseSlot,
  putLimit,
  removeLimit,
  slotHolders,
  slotsOfLimit,
} from './verbs/admin/limit.ts';
import { askNode, beatNode, leaveNode, listDuties, listNodes } from './verbs/admin/node.ts';
import { prune } from './verbs/admin/prune.ts';
import { getTask, listAttempts, listQueues, listTasks, queueStats, readyTasks } from './verbs/admin/read.ts';
import {
  addToken,
  areTokensAlive,
  exchangeToken,
  findToken,
  listTokens,
  revokeToken,
  revokeTokensNamed,
  validTokens,
} from './verbs/admin/token.ts';
import { dueTriggers, fireTrigger, firstSlot, listTriggers, putTrigger } from './verbs/admin/trigger.ts';
import { cancelTasks, reviveTasks } from './verbs/queue/cancel.ts';
import { claimTasks } from './verbs/queue/claim.ts';
import { getLane, internLane, internQueue, internSpec, laneDepth, scanLanes } from './verbs/queue/intern.ts';
import {
  attemptWorker,
  cancelledLeases,
  firstExpiry,
  listLeases,
  overdueLeases,
  reapLeases,
  renewLease,
} from './verbs/queue/lease.ts';
import { appendLog, readLog } from './verbs/queue/log.ts';
import { pushTasks } from './verbs/queue/push.ts';
import { returnTask, settleTask } from './verbs/queue/settle.ts';
import { expireNext, expireTasks, msUntil, stageNext, stageTasks } from './verbs/queue/stage.ts';
import {
  beatAll,
  forgetWorker,
  listFleet,
  listWorkers,
  reapWorkers,
  registerWorker,
  someSilent,
} from './verbs/queue/worker.ts';
import { listSettings, setWorker } from './verbs/queue/worker-setting.ts';
import { carryOn, hasToCarry, wokenLanes } from './verbs/trees/countdown.ts';
import {
  countDocuments,
  documentOfTask,
  getDocument,
  listDocuments,
  listTree,
  writeDocuments,
} from './verbs/trees/document.ts';
import { listDependencies, listPlanned, pushGraph } from './verbs/trees/graph.ts';
import { listJournal } from './verbs/trees/journal.ts';
import { getWait, listWaits } from './verbs/trees/park.ts';
import { findResult, keepResult } from './verbs/trees/result.ts';
import { sendSignal } from './verbs/trees/signal.ts';
import { countTree, listMembers } from './verbs/trees/tree.ts';
import { isPlain, takeTurn } from './verbs/trees/turn.ts';

/** The books of fewer tasks than this are gone over in a few milliseconds. */
const MANY_TASKS = 20_000;

/** The port on SQLite: each verb is a function in `verbs/`, run by the one writer or read beside it. */
export class SqliteStore implements port.Store {
  readonly clusterKey: string;
  readonly capabilities: port.Capabilities;
  readonly #parts: SqliteParts;
  readonly #writer: Writer;
  readonly #cache: AnswerCache;
  /** Those that come before the writer has its turn share a statement. */
  readonly #renewals: (renewal: Renewal) => Promise<(renewal: Renewal) => boolean>;
  readonly #watchers = new Set<() => void>();
  /** Told of what this process itself wakes. */
  readonly #listeners = new Set<port.WatchParams['onChange']>();

  constructor(parts: SqliteParts) {
    this.#parts = parts;
    this.#writer = parts.writer;
    this.#cache = new AnswerCache(parts.writer);
    this.#renewals = together((items) => this.#writer.write('rest', (tx) => renewDuties(tx, items()), { quiet: true }));
    this.clusterKey = parts.clusterKey;
    this.capabilities = {
      name: parts.inMemory ? 'memory' : 'sqlite',
      shared: !parts.inMemory,
      durable: !parts.inMemory && parts.durability === 'full',
      callerTransactions: !parts.inMemory,
      numbersEvents: true,
      commitsTurns: true,
      whole: true,
    };
  }

  /** The longest time that one transaction kept this thread, in milliseconds. */
  get longestWriteMs(): number {
    return this.#writer.longestMs;
  }

  laneIntern({ lanes }: { lanes: readonly port.LaneWish[] }): Promise<readonly port.Lane[]> {
    return this.#writer.write('push', (tx) => lanes.map((lane) => internLane(tx, lane)));
  }

  laneGet({ lanes }: { lanes: readonly number[] }): Promise<readonly (port.Lane | undefined)[]> {
    return this.#writer.read(({ sql }) => lanes.map((lane) => getLane(sql, lane)));
  }

  laneScan({ after, limit }: { after: number; limit: number }): Promise<readonly port.ReadyLane[]> {
    return this.#again('laneScan', `${after} ${limit}`, ({ sql }) => scanLanes(sql, after, limit));
  }

  specIntern({ specs }: { specs: readonly string[] }): Promise<readonly number[]> {
    return this.#writer.write('push', (tx) => specs.map((body) => internSpec(tx, body)));
  }

  specGet({ spec }: { spec: number }): Promise<string | undefined> {
    return this.#writer.read(({ sql }) => (sql.get('specGet').get(spec) as { body: string } | undefined)?.body);
  }

  laneDepth({ lanes, most }: { lanes: readonly number[]; most: number }): Promise<readonly port.LaneDepth[]> {
    return this.#writer.read(({ sql }) => lanes.map((lane) => laneDepth(sql, lane, most)));
  }

  taskPush({ items }: { items: readonly port.NewTask[] }): Promise<readonly port.PushAnswer[]> {
    return this.#writer.write('push', (tx) => pushTasks(tx, items));
  }

  taskPushIn({ tx, items }: port.PushInParams): readonly port.PushAnswer[] {
    if (!('prepare' in tx)) {
      throw fault('INVALID_INPUT', { field: 'tx', problem: 'a handle of SQLite has a method "prepare"' });
    }
    return pushInCallerTransaction(tx, items, this.#parts);
  }

  taskClaim({ claims }: { claims: readonly port.NewClaim[] }): Promise<readonly (port.ClaimAnswer | undefined)[]> {
    return this.#writer.write('claim', (tx) => claims.map((claim) => claimTasks(tx, claim)));
  }

  taskSettle({ items }: { items: readonly port.SettleItem[] }): Promise<readonly port.SettleAnswer[]> {
    return this.#ending('settle', (tx) => items.map((item) => settleTask(tx, item)));
  }

  taskReturn({ items }: { items: readonly port.ReturnItem[] }): Promise<readonly port.SettleAnswer[]> {
    return this.#ending('settle', (tx) => items.map((item) => returnTask(tx, item)));
  }

  leaseRenew({ items }: { items: readonly port.RenewItem[] }): Promise<readonly port.RenewAnswer[]> {
    return this.#writer.write('settle', (tx) => items.map((item) => renewLease(tx, item)));
  }

  leaseCancels({ holder }: { holder: number }): Promise<readonly Lease[]> {
    return this.#writer.read(({ sql }) => cancelledLeases(sql, holder));
  }

  leaseList({ holders }: { holders?: readonly number[] | undefined }): Promise<readonly port.HeldTask[]> {
    return this.#writer.read(({ sql }) => listLeases(sql, holders));
  }

  attemptWorkers({ items }: { items: readonly Lease[] }): Promise<readonly (string | undefined)[]> {
    return this.#writer.read(({ sql }) => items.map((item) => attemptWorker(sql, item)));
  }

  /** In the rank of the settles, which an attempt's last lines come before. */
  logAppend({ items }: { items: readonly port.LogAppend[] }): Promise<readonly port.LogAnswer[]> {
    return this.#writer.write('settle', (tx) => items.map((item) => appendLog(tx, item)));
  }

  logRead(query: port.LogQuery): Promise<readonly port.LogLine[]> {
    return this.#writer.read(({ sql }) => readLog(sql, query));
  }

  async leaseOverdue({ limit }: { limit: number }): Promise<port.Overdue> {
    const first = await this.#again('firstExpiry', '', ({ sql }) => firstExpiry(sql));
    const now = this.#writer.clock.lease();
    if (first === undefined || first >= now) return { leases: [], nextInMs: msUntil(first, now) };
    return this.#writer.read(({ sql }) => overdueLeases(sql, this.#writer.clock.lease(), limit));
  }

  leaseReap({ duty, items }: { duty: port.DutyTerm; items: readonly port.ReapItem[] }): Promise<port.ReapAnswer> {
    return this.#ending('rest', (tx) => {
      requireDuty(tx, duty);
      return reapLeases(tx, items);
    });
  }

  async taskStage({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.StageAnswer> {
    const next = await this.#dutyLook(duty, 'stageNext', stageNext);
    const now = this.#writer.clock.calendar();
    if (next === undefined || next > now) return { staged: 0, lanes: [], nextInMs: msUntil(next, now) };
    return this.#writer.write('stage', (tx) => {
      requireDuty(tx, duty);
      return stageTasks(tx, limit);
    });
  }

  async taskExpire({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.ExpireAnswer> {
    const next = await this.#dutyLook(duty, 'expireNext', expireNext);
    const now = this.#writer.clock.calendar();
    if (next === undefined || next > now) return { expired: 0, nextInMs: msUntil(next, now) };
    return this.#ending('stage', (tx) => {
      requireDuty(tx, duty);
      return expireTasks(tx, limit);
    });
  }

  /** Values in the rank of the settles, which what an attempt remembers comes before; what frees and wakes after them. */
  async taskTurn({ items }: { items: readonly port.Turn[] }): Promise<readonly port.TurnAnswer[]> {
    const plain = items.filter(isPlain);
    const take = (some: readonly port.Turn[]) => (tx: Transaction) => some.map((turn) => takeTurn(tx, turn));
    if (plain.length === items.length) return this.#writer.write('settle', take(items));
    const others = items.filter((turn) => !isPlain(turn));
    const [first, second] = await Promise.all([
      plain.length === 0 ? [] : this.#writer.write('settle', take(plain)),
      this.#ending('rest', take(others)),
    ]);
    const answers = new Map([...plain.entries(), ...others.entries()].map(([i, turn]) => [turn, i]));
    return items.map((turn) => (isPlain(turn) ? first : second)[answers.get(turn) as number] as port.TurnAnswer);
  }

  journalList({ task }: { task: number }): Promise<readonly port.JournalEntry[]> {
    return this.#writer.read(({ sql }) => listJournal(sql, task));
  }

  treeList(params: { root: number; after: number; limit: number }): Promise<readonly port.TreeRecord[]> {
    return this.#writer.read(({ sql }) => listMembers(sql, params.root, params.after, params.limit));
  }

  treeCount({ root }: { root: number }): Promise<Readonly<Record<TaskState, number>>> {
    return this.#writer.read(({ sql }) => countTree(sql, root));
  }

  waitGet({ task }: { task: number }): Promise<port.WaitRecord | undefined> {
    return this.#writer.read(({ sql }) => getWait(sql, task));
  }

  waitList({ limit }: { limit: number }): Promise<readonly port.WaitRecord[]> {
    return this.#writer.read(({ sql }) => listWaits(sql, limit));
  }

  signalSend({ items }: { items: readonly port.NewSignal[] }): Promise<readonly port.SignalAnswer[]> {
    return this.#writer.write('rest', (tx) => items.map((item) => sendSignal(tx, item)));
  }

  resultKeys({ tasks }: { tasks: readonly number[] }): Promise<readonly (string | undefined)[]> {
    return this.#writer.read(({ sql }) => tasks.map((task) => resultKeyOf(sql, task)));
  }

  resultFind({ items }: { items: readonly port.ResultQuery[] }): Promise<readonly (port.KeptResult | undefined)[]> {
    return this.#writer.read(({ sql }) => items.map((item) => findResult(sql, item, this.#writer.clock.calendar())));
  }

  /** In the rank of the settles, which it comes before. */
  resultKeep({ items }: { items: readonly port.NewResult[] }): Promise<readonly port.KeepAnswer[]> {
    return this.#writer.write('settle', (tx) => items.map((item) => keepResult(tx, item)));
  }

  taskCancel({ tasks }: { tasks: readonly number[] }): Promise<readonly port.CancelAnswer[]> {
    return this.#ending('rest', (tx) => cancelTasks(tx, tasks));
  }

  taskRevive(params: port.ReviveParams): Promise<readonly port.ReviveAnswer[]> {
    return this.#writer.write('rest', (tx) => reviveTasks(tx, params));
  }

  graphPush({ items }: { items: readonly port.GraphTask[] }): Promise<port.GraphAnswer> {
    return this.#ending('push', (tx) => pushGraph(tx, items));
  }

  depList({ task }: { task: number }): Promise<readonly port.Dependency[]> {
    return this.#writer.read(({ sql }) => listDependencies(sql, task));
  }

  depDependents({ tasks }: { tasks: readonly number[] }): Promise<readonly port.Planned[]> {
    return this.#writer.read(({ sql }) => listPlanned(sql, 'depDependents', tasks));
  }

  depNeeds({ tasks }: { tasks: readonly number[] }): Promise<readonly port.Planned[]> {
    return this.#writer.read(({ sql }) => listPlanned(sql, 'depNeeds', tasks));
  }

  async depCarry({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.CarryAnswer> {
    if (!(await this.#dutyLook(duty, 'hasToCarry', hasToCarry))) return { carried: 0, lanes: [], more: false };
    return this.#writer.write('stage', (tx) => {
      requireDuty(tx, duty);
      return carryOn(tx, limit);
    });
  }

  /** A read that is asked for again and again, of rows that seldom change. */
  #again<T>(kind: string, asked: string | number, read: (connection: Connection) => T): Promise<T> {
    return this.#writer.read((connection) => this.#cache.answer(connection, kind, asked, () => read(connection)));
  }

  /** What a duty would find: mostly nothing, for which no transaction is begun. A deposed holder is told so all the same. */
  async #dutyLook<T>(duty: port.DutyTerm, kind: string, read: (sql: Prepared) => T): Promise<T> {
    await this.#again(`term of ${duty.name}`, duty.epoch, (connection) => requireDuty(connection, duty));
    return this.#again(kind, '', ({ sql }) => read(sql));
  }

  /** A write that may wake tasks which its answer does not name. */
  async #ending<T>(rank: Rank, body: (tx: Transaction) => T): Promise<T> {
    let woken: readonly number[] = [];
    const answer = await this.#writer.write(rank, (tx) => {
      const given = body(tx);
      woken = wokenLanes(tx);
      return given;
    });
    if (woken.length > 0) for (const hear of this.#listeners) hear(woken);
    return answer;
  }

  taskGet({ tasks }: { tasks: readonly number[] }): Promise<readonly (port.TaskRecord | undefined)[]> {
    return this.#writer.read(({ sql }) => tasks.map((task) => getTask(sql, task)));
  }

  taskList(query: port.TaskQuery): Promise<readonly port.TaskRecord[]> {
    return this.#writer.read((connection) => listTasks(connection, query));
  }

  taskReady({ lanes, limit }: { lanes: readonly number[]; limit: number }): Promise<readonly port.ReadyTask[]> {
    return this.#writer.read(({ sql }) => readyTasks(sql, lanes, limit));
  }

  taskByKey({ queue, key }: { queue: string; key: string }): Promise<number | undefined> {
    return this.#writer.read(({ sql }) => (sql.get('uniqGet').get(queue, key) as { task: number } | undefined)?.task);
  }

  async clock(): Promise<port.StoreTime> {
    const { calendar, lease } = this.#writer.clock;
    return { calendar: calendar(), lease: lease() };
  }

  attemptList({ task }: { task: number }): Promise<readonly port.AttemptRecord[]> {
    return this.#writer.read(({ sql }) => listAttempts(sql, task));
  }

  queueStats({ queue }: { queue: string }): Promise<QueueStats | undefined> {
    return this.#writer.read(({ sql }) => queueStats(sql, queue));
  }

  queueList(): Promise<readonly port.QueueRecord[]> {
    return this.#again('queueList', '', ({ sql }) => listQueues(sql));
  }

  queuePause({ queue, paused }: { queue: string; paused: boolean }): Promise<void> {
    return this.#writer.write('rest', (tx) => {
      tx.sql.get('queuePause').run(paused ? 1 : 0, internQueue(tx.sql, queue));
    });
  }

  workerRegister(worker: port.NewWorker): Promise<number> {
    return this.#writer.write('rest', (tx) => registerWorker(tx, worker));
  }

  workerBeat({ beats }: { beats: readonly port.WorkerBeat[] }): Promise<readonly boolean[]> {
    return this.#writer.write('rest', (tx) => beatAll(tx, beats), { quiet: true });
  }

  async workerReap({ duty, staleMs }: { duty: port.DutyTerm; staleMs: number }): Promise<readonly number[]> {
    const some = await this.#writer.read((connection) => {
      // A deposed holder is told so whether there is something to mark or not.
      requireDuty(connection, duty);
      return someSilent(connection.sql, this.#writer.clock.lease(), staleMs);
    });
    if (!some) return [];
    return this.#writer.write('rest', (tx) => {
      requireDuty(tx, duty);
      return reapWorkers(tx, staleMs);
    });
  }

  workerEnable({ worker, enabled }: { worker: number; enabled: boolean }): Promise<void> {
    return this.#writer.write('rest', (tx) => {
      tx.sql.get('workerEnable').run(enabled ? 1 : 0, worker);
    });
  }

  async workerFleet(): Promise<port.FleetSnapshot> {
    const now = this.#writer.clock.lease();
    return this.#writer.read(({ sql }) => ({ now, members: listFleet(sql) }));
  }

  workerSet(setting: port.WorkerSetting): Promise<void> {
    return this.#writer.write('rest', (tx) => setWorker(tx, setting));
  }

  workerSettings(): Promise<readonly port.WorkerSettingRecord[]> {
    return this.#again('workerSettings', '', ({ sql }) => listSettings(sql));
  }

  workerForget({ name }: { name: string }): Promise<port.Forgotten> {
    return this.#writer.write('rest', (tx) => forgetWorker(tx, name));
  }

  tokenAdd(adding: port.TokenAdding): Promise<port.TokenRecord> {
    return this.#writer.write('rest', (tx) => addToken(tx, adding));
  }

  tokenFind({ hash }: { hash: string }): Promise<port.TokenRecord | undefined> {
    return this.#writer.read(({ sql }) => findToken(sql, hash, this.#writer.clock.calendar()));
  }

  tokenExchange(exchange: port.TokenExchange): Promise<port.TokenRecord | undefined> {
    return this.#writer.write('rest', (tx) => exchangeToken(tx, exchange));
  }

  async tokenAlive({ ids }: { ids: readonly number[] }): Promise<readonly boolean[]> {
    const asked = JSON.stringify(ids);
    const valid = await this.#again('tokenValid', asked, ({ sql }) => validTokens(sql, asked));
    return areTokensAlive(valid, ids, this.#writer.clock.calendar());
  }

  tokenList(): Promise<readonly port.TokenRecord[]> {
    return this.#writer.read(({ sql }) => listTokens(sql));
  }

  tokenRevoke({ id }: { id: number }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => revokeToken(tx, id));
  }

  tokenRevokeNamed({ name }: { name: string }): Promise<number> {
    return this.#writer.write('rest', (tx) => revokeTokensNamed(tx, name));
  }

  taskCount(query: port.TaskCount): Promise<port.TaskCounts> {
    return this.#writer.read((connection) => countTasks(connection, query));
  }

  failureList({ before, limit }: { before?: number | undefined; limit: number }): Promise<readonly port.Failure[]> {
    return this.#writer.read(({ sql }) => listFailures(sql, before, limit));
  }

  handlerQueues({ limit }: { limit: number }): Promise<readonly port.HandlerQueue[]> {
    return this.#writer.read(({ sql }) => handlerQueues(sql, limit));
  }

  viewPut({ view, most }: { view: port.NewView; most: number }): Promise<port.ViewRecord | undefined> {
    return this.#writer.write('rest', (tx) => putView(tx, view, most));
  }

  viewList(): Promise<readonly port.ViewRecord[]> {
    return this.#writer.read(({ sql }) => listViews(sql));
  }

  viewDrop({ name }: { name: string }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => dropView(tx, name));
  }

  schemaPut({ schemas }: { schemas: readonly HandlerSchema[] }): Promise<void> {
    return this.#writer.write('rest', (tx) => putSchemas(tx, schemas));
  }

  schemaList(): Promise<readonly HandlerSchema[]> {
    return this.#writer.read(({ sql }) => listSchemas(sql));
  }

  documentWrite(write: port.DocumentWrite): Promise<port.DocumentAnswer> {
    return this.#ending('push', (tx) => writeDocuments(tx, write));
  }

  documentTree({ root }: { root: string }): Promise<readonly port.DocumentRecord[]> {
    return this.#writer.read(({ sql }) => listTree(sql, root));
  }

  documentGet({ ids }: { ids: readonly string[] }): Promise<readonly (port.DocumentRecord | undefined)[]> {
    return this.#writer.read(({ sql }) => ids.map((id) => getDocument(sql, id)));
  }

  documentOf({ tasks }: { tasks: readonly number[] }): Promise<readonly (port.DocumentRecord | undefined)[]> {
    return this.#writer.read(({ sql }) => tasks.map((task) => documentOfTask(sql, task)));
  }

  documentList(query: port.DocumentQuery): Promise<readonly port.DocumentRecord[]> {
    return this.#writer.read(({ sql }) => listDocuments(sql, query));
  }

  documentCount(filter: port.DocumentFilter): Promise<port.DocumentCount> {
    return this.#writer.read(({ sql }) => countDocuments(sql, filter));
  }

  limitPut({ name, limit, by }: { name: string; limit: Limit; by: string }): Promise<number> {
    return this.#writer.write('rest', (tx) => putLimit(tx, name, limit, by));
  }

  limitEdit(editing: port.LimitEditing): Promise<port.LimitEdited> {
    return this.#writer.write('rest', (tx) => changeLimit(tx, editing));
  }

  limitRemove({ name, by }: { name: string; by: string }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => removeLimit(tx, name, by));
  }

  limitList(): Promise<readonly port.LimitRecord[]> {
    return this.#writer.read(({ sql }) => listLimits(sql));
  }

  limitHistory({ name, limit }: { name: string; limit: number }): Promise<readonly port.LimitChange[]> {
    return this.#writer.read(({ sql }) => limitChanges(sql, name, limit));
  }

  limitSlots({ name, limit }: { name: string; limit: number }): Promise<readonly port.SlotRecord[]> {
    return this.#writer.read(({ sql }) => slotsOfLimit(sql, name, limit));
  }

  async slotGet({ slots }: { slots: readonly number[] }): Promise<port.CounterSnapshot> {
    const now = this.#writer.clock.lease();
    return this.#writer.read(({ sql }) => ({ now, slots: slots.map((slot) => getSlot(sql, slot)) }));
  }

  slotHolders({ slot, limit }: { slot: number; limit: number }): Promise<readonly port.SlotHolder[]> {
    return this.#writer.read(({ sql }) => slotHolders(sql, slot, limit));
  }

  slotPause({ name, key, forMs }: { name: string; key: string; forMs: number }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => pauseSlot(tx, name, key, forMs));
  }

  slotAudit({ duty }: { duty: port.DutyTerm }): Promise<readonly port.SlotDrift[]> {
    return this.#writer.write('rest', (tx) => {
      requireDuty(tx, duty);
      return auditSlots(tx);
    });
  }

  workerList({ state }: { state?: WorkerState } = {}): Promise<readonly port.WorkerRecord[]> {
    return this.#writer.read(({ sql }) => listWorkers(sql, state));
  }

  dutyTake(params: { name: string; holder: string; ttlMs: number }): Promise<port.DutyTenure | undefined> {
    return this.#writer.write('rest', (tx) => takeDuty(tx, params.name, params.holder, params.ttlMs));
  }

  async dutyRenew(renewal: Renewal): Promise<boolean> {
    const isHeld = await this.#renewals(renewal);
    return isHeld(renewal);
  }

  dutyRelease({ duty }: { duty: port.DutyTerm }): Promise<void> {
    return this.#writer.write('rest', (tx) => releaseDuty(tx, duty));
  }

  async dutyList(): Promise<port.DutySnapshot> {
    const now = this.#writer.clock.lease();
    return this.#writer.read(({ sql }) => ({ now, duties: listDuties(sql) }));
  }

  nodeBeat(beat: port.NodeBeat): Promise<port.NodeAnswer> {
    return this.#writer.write('rest', (tx) => beatNode(tx, beat));
  }

  async nodeList(): Promise<port.NodeSnapshot> {
    const now = this.#writer.clock.lease();
    return this.#writer.read(({ sql }) => ({ now, nodes: listNodes(sql) }));
  }

  nodeLeave({ id, incarnation }: { id: string; incarnation: string }): Promise<void> {
    return this.#writer.write('rest', (tx) => leaveNode(tx, id, incarnation));
  }

  nodeRole({ id, role }: { id: string; role: NodeOverride }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => askNode(tx, id, role));
  }

  eventRead({ after, limit }: { after: number; limit: number }): Promise<port.EventPage> {
    return this.#again('eventRead', `${after} ${limit} ${this.#writer.tellings}`, ({ sql }) =>
      readEvents(sql, after, limit),
    );
  }

  /** Events have their numbers from the write itself. */
  async eventNumber({ duty }: { duty: port.DutyTerm; limit: number }): Promise<port.NumberAnswer> {
    await this.#writer.read((connection) => requireDuty(connection, duty));
    return { events: 0, more: false };
  }

  taskPrune(query: port.PruneQuery): Promise<port.PruneAnswer> {
    return this.#writer.write('rest', (tx) => prune(tx, query, requireDuty(tx, query.duty)));
  }

  async statsAudit({ duty }: { duty: port.DutyTerm }): Promise<readonly port.Drift[]> {
    const { housekeeper } = this.#parts;
    // A deposed holder is told so whether there is something to repair or not, and no recount is made for it.
    await this.#writer.read((connection) => requireDuty(connection, duty));
    // Without its thread a long recount holds up the loop, but it is made. A short one is not worth a thread.
    const early = (await this.#hasManyTasks())
      ? await housekeeper?.recount().catch(() => undefined)
      : await this.#writer.read(recountApart);
    if (early?.length === 0) return [];
    return this.#writer.write('rest', (tx) => {
      requireDuty(tx, duty);
      const drifts = early ?? recount(tx.sql);
      repair(tx.sql, drifts);
      return drifts.map(({ name, state, counted, kept }) => ({ queue: name, state, counted, kept }));
    });
  }

  #hasManyTasks(): Promise<boolean> {
    return this.#writer.read(({ sql }) => ((sql.get('taskMax').get() as { id: number | null }).id ?? 0) > MANY_TASKS);
  }

  triggerPut({ trigger }: { trigger: port.NewTrigger }): Promise<number> {
    return this.#writer.write('rest', (tx) => putTrigger(tx, trigger));
  }

  triggerRemove({ name }: { name: string }): Promise<boolean> {
    return this.#writer.write('rest', (tx) => tx.sql.get('triggerRemove').run(name).changes > 0);
  }

  triggerList(): Promise<readonly port.TriggerRecord[]> {
    return this.#writer.read(({ sql }) => listTriggers(sql));
  }

  async triggerDue({ limit }: { limit: number }): Promise<port.DueTriggers> {
    const first = await this.#again('firstSlot', '', ({ sql }) => firstSlot(sql));
    const now = this.#writer.clock.calendar();
    if (first === undefined || first > now) return { now, triggers: [], nextInMs: msUntil(first, now) };
    return this.#writer.read(({ sql }) => dueTriggers(sql, this.#writer.clock.calendar(), limit));
  }

  triggerFire(firing: port.TriggerFiring): Promise<port.TriggerAnswer> {
    return this.#writer.write('push', (tx) => {
      requireDuty(tx, firing.duty);
      return fireTrigger(tx, firing);
    });
  }

  watch({ wanted, onChange }: port.WatchParams): () => void {
    const listener: port.WatchParams['onChange'] = (lanes) => onChange(lanes);
    this.#listeners.add(listener);
    const { file, world, inMemory } = this.#parts;
    const connection = (): Connection => this.#writer.connection;
    const commits = (): number => this.#writer.commits;
    const watching = { file, connection, timers: world.timers, wanted, onChange, commits };
    const stop = inMemory ? () => {} : watchCommits(watching);
    this.#watchers.add(stop);
    return () => {
      this.#listeners.delete(listener);
      this.#watchers.delete(stop);
      stop();
    };
  }

  async close(): Promise<void> {
    for (const stop of this.#watchers) stop();
    await this.#parts.housekeeper?.close();
    this.#writer.close();
  }
}

/** One call for all that come before it is run. It may be run more than once, with the same items. */
function together<I, A>(call: (items: () => readonly I[]) => Promise<A>): (item: I) => Promise<A> {
  let open: { readonly items: I[]; readonly answer: Promise<A> } | undefined;
  return (item) => {
    if (open === undefined) {
      const items: I[] = [];
      const close = (): readonly I[] => {
        open = undefined;
        return items;
      };
      open = { items, answer: call(close) };
    }
    open.items.push(item);
    return open.answer;
  };
}
