import type { Limit } from '../../core/limits/limit.ts';
import type { NodeOverride } from '../../core/node.ts';
import type { HandlerSchema, WorkerState } from '../../core/placement/worker.ts';
import type { QueueStats } from '../../core/task/event.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { TaskState } from '../../core/task/task.ts';
import type * as port from '../store.ts';
import { pushInCallerTransaction } from './caller-transaction.ts';
import type { Session, Try } from './connect/database.ts';
import type { PostgresWakeups } from './connect/wakeups.ts';
import { LogOrder } from './log-order.ts';
import type { PostgresParts } from './parts.ts';
import { prioOf } from './prio.ts';
import { PushDedup } from './push-dedup.ts';
import { recount, repair } from './verbs/admin/audit.ts';
import { releaseDuty, renewDuty, requireDuty, requireRow, takeDuty } from './verbs/admin/duty.ts';
import { numberEvents, readEvents } from './verbs/admin/event.ts';
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
  changeLimit,
  getSlots,
  limitChanges,
  listLimits,
  putLimit,
  removeLimit,
  repairSlots,
  slotHolders,
  slotsOfLimit,
} from './verbs/admin/limit.ts';
import { askNode, beatNode, leaveNode, listDuties, listNodes } from './verbs/admin/node.ts';
import { prune } from './verbs/admin/prune.ts';
import { getTasks, listAttempts, listQueues, listTasks, queueStats, readyTasks } from './verbs/admin/read.ts';
import {
  addToken,
  areTokensAlive,
  exchangeToken,
  findToken,
  listTokens,
  revokeToken,
  revokeTokensNamed,
} from './verbs/admin/token.ts';
import { dueTriggers, listTriggers, putTrigger } from './verbs/admin/trigger.ts';
import { admit, choosy } from './verbs/queue/admit.ts';
import { cancelTasks, reviveTask, reviveTogether, someDepend } from './verbs/queue/cancel.ts';
import { apart, claimTasks, needsTransaction } from './verbs/queue/claim.ts';
import { areAmple, claimAmple } from './verbs/queue/claim-ample.ts';
import { cappedOf, claimCapped } from './verbs/queue/claim-capped.ts';
import { getLanes, internLanes, internSpecs, laneDepths, scanLanes } from './verbs/queue/intern.ts';
import {
  attemptWorkers,
  cancelledLeases,
  listLeases,
  overdueLeases,
  reapLeases,
  renewLeases,
} from './verbs/queue/lease.ts';
import { appendLogs, readLog } from './verbs/queue/log.ts';
import { once } from './verbs/queue/once.ts';
import { type Drawn, isReady, pushedBefore, pushKeyed, pushTasks, waves } from './verbs/queue/push.ts';
import { returnTasks, settleTasks, type Woken } from './verbs/queue/settle.ts';
import { dutyLook, expireTasks, stageTasks } from './verbs/queue/stage.ts';
import { beatAll, forgetWorker, listFleet, listWorkers, reapWorkers, registerWorker } from './verbs/queue/worker.ts';
import { listSettings, setWorker } from './verbs/queue/worker-setting.ts';
import { carryOn, hasToCarry } from './verbs/trees/countdown.ts';
import {
  countDocuments,
  documentsOfTasks,
  getDocuments,
  listDocuments,
  listTree,
  writeDocuments,
} from './verbs/trees/document.ts';
import { listDependencies, listPlanned, pushGraph } from './verbs/trees/graph.ts';
import { listJournal } from './verbs/trees/journal.ts';
import {
  areTimers,
  getWait,
  listWaits,
  type ParkAnswer,
  type ParkItem,
  parkBatches,
  parkedBefore,
  parkTasks,
} from './verbs/trees/park.ts';
import { findResults, keepResults, resultKeysOf } from './verbs/trees/result.ts';
import { sendSignals } from './verbs/trees/signal.ts';
import { countTree, listMembers } from './verbs/trees/tree.ts';
import { type Form, formOf, parkOf, roundsOf, takeEnds, takePlain } from './verbs/trees/turn.ts';
import { takeFans } from './verbs/trees/turn-fan.ts';
import { FullTurn } from './verbs/trees/turn-full.ts';

const AUDIT_MS = 10 * 60_000;
/** Transactions of turns that one call has under way. */
const AT_ONCE = 4;

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
    whole: true,
  };
  readonly #parts: PostgresParts;
  readonly #wakeups: PostgresWakeups;
  readonly #logs = new LogOrder();
  readonly #dedup: PushDedup;
  /** Told of what this process itself wakes. */
  readonly #listeners = new Set<port.WatchParams['onChange']>();
  #claims = 0;

  constructor(parts: PostgresParts, wakeups: PostgresWakeups, clusterKey: string) {
    this.#parts = parts;
    this.#wakeups = wakeups;
    this.#dedup = new PushDedup(parts.world, parts.database, parts.store);
    this.clusterKey = clusterKey;
  }

  laneIntern({ lanes }: { lanes: readonly port.LaneWish[] }): Promise<readonly port.Lane[]> {
    const body = (session: Session): Promise<readonly port.Lane[]> => internLanes(session, this.#parts.lanes, lanes);
    return lanes.some(({ limits = [] }) => limits.length > 0) ? this.#transaction(body) : this.#run(body);
  }

  laneGet({ lanes }: { lanes: readonly number[] }): Promise<readonly (port.Lane | undefined)[]> {
    return this.#run((session) => getLanes(session, this.#parts.lanes, lanes));
  }

  laneScan({ after, limit }: { after: number; limit: number }): Promise<readonly port.ReadyLane[]> {
    return this.#run((session) => scanLanes(session, after, limit));
  }

  laneDepth({ lanes, most }: { lanes: readonly number[]; most: number }): Promise<readonly port.LaneDepth[]> {
    return this.#run((session) => laneDepths(session, lanes, most));
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
    const asking: number[] = [];
    const choosy = await this.#choosy(items);
    for (const [i, item] of items.entries()) {
      const { op, unique } = item;
      if (choosy(item)) asking.push(i);
      else (op === undefined && unique === undefined ? plain : keyed).push(i);
    }
    const put = (places: readonly number[], given: readonly port.PushAnswer[]): void => {
      for (const [at, i] of places.entries()) answers[i] = given[at] as port.PushAnswer;
    };
    // Those with keys first: when the others cannot be stored, all are sent again, and these are known by their keys.
    if (keyed.length > 0) put(keyed, await this.#pushKeyed(pick(items, keyed)));
    for (const i of asking) put([i], [await this.#pushAsking(items[i] as port.NewTask)]);
    if (plain.length > 0) put(plain, await this.#pushPlain(plain.length === items.length ? items : pick(items, plain)));
    this.#tellReady(items, answers);
    return answers;
  }

  #pushPlain(items: readonly port.NewTask[]): Promise<readonly port.PushAnswer[]> {
    const flight = this.#dedup.next();
    return this.#run((session, tried) => pushTasks(session, this.#parts, flight, items, tried));
  }

  /** Which of these tasks have a limit that may refuse them, or end others for them. */
  async #choosy(items: readonly port.NewTask[]): Promise<(item: port.NewTask) => boolean> {
    const { lanes } = this.#parts;
    if (items.every(({ lane }) => lanes.isLimited(lane) === false)) return () => false;
    return this.#run(async (session) => {
      await lanes.need(
        session,
        items.map(({ lane }) => lane),
      );
      const namesOf = ({ lane }: port.NewTask): readonly string[] =>
        (lanes.known(lane)?.rules?.limits ?? []).map(({ name }) => name);
      const names = await choosy(session, [...new Set(items.flatMap(namesOf))]);
      return (item) => namesOf(item).some((name) => names.has(name));
    });
  }

  /** One that asks its limits first, in one transaction with their answer. */
  async #pushAsking(item: port.NewTask): Promise<port.PushAnswer> {
    const flight = this.#dedup.next();
    const sendings: Drawn = [];
    return this.#transaction(async (session, tried) => {
      const before = await pushedBefore(session, this.#parts, flight, item, tried, sendings);
      if (before !== undefined) return before;
      const refused = await admit(session, this.#parts.lanes.known(item.lane)?.rules?.uses ?? [], tried);
      if (refused !== undefined) return { ok: false, ...refused };
      const [answer] = await pushKeyed(session, this.#parts, flight, [item], tried, sendings);
      return answer as port.PushAnswer;
    });
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
      const flight = this.#dedup.next();
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
    return pushInCallerTransaction(params, this.#parts, () => this.#dedup.next());
  }

  /** One after another: two at once would only step over each other's rows. */
  async taskClaim({
    claims,
  }: {
    claims: readonly port.NewClaim[];
  }): Promise<readonly (port.ClaimAnswer | undefined)[]> {
    const answers: (port.ClaimAnswer | undefined)[] = claims.map(() => undefined);
    for (const [i, request] of claims.entries()) {
      try {
        answers[i] = await this.#claim(request);
      } catch (error) {
        // What an earlier one was granted is granted: a fault now must not hide it from its caller.
        if (answers.every((answer) => answer === undefined || answer.grants.length === 0)) throw error;
        break;
      }
    }
    return answers;
  }

  async #claim(request: port.NewClaim): Promise<port.ClaimAnswer | undefined> {
    const [first, ...others] = apart(this.#parts.lanes, request) as [port.NewClaim, ...port.NewClaim[]];
    let answer = await this.#claimPart(first);
    for (const part of others) {
      if (answer === undefined) return undefined;
      const { grants, blocked }: port.ClaimAnswer = answer;
      const left = request.max - grants.length;
      const next = left > 0 ? await this.#claimMore({ ...part, max: left }, grants) : undefined;
      if (next === undefined && grants.length === 0) return undefined;
      // Where nobody has looked the caller comes again.
      const unasked = part.lanes.map(({ lane }) => ({ lane, slot: 0, freesInMs: 1, left: 0 }));
      answer = { grants: [...grants, ...(next?.grants ?? [])], blocked: [...blocked, ...(next?.blocked ?? unasked)] };
    }
    return answer;
  }

  /** What was granted before is granted: a fault now must not hide it from the caller. */
  #claimMore(part: port.NewClaim, before: readonly port.Grant[]): Promise<port.ClaimAnswer | undefined> {
    return this.#claimPart(part).catch((error: unknown) => {
      if (before.length === 0) throw error;
      return undefined;
    });
  }

  async #claimPart(request: port.NewClaim): Promise<port.ClaimAnswer | undefined> {
    const note = `${this.#parts.store}/${++this.#claims}`;
    const capped = cappedOf(this.#parts, request);
    if (capped !== undefined && areAmple(this.#parts, capped.slots)) {
      const parts = this.#parts;
      const free = await this.#run((session, tried) => claimAmple(session, parts, request, capped.slots, note, tried));
      if (free !== 'tight') return free;
    }
    const quick =
      capped === undefined
        ? 'long'
        : await this.#run((session, tried) => claimCapped(session, this.#parts, request, capped, note, tried));
    if (quick !== 'long') return quick;
    const body = (session: Session, tried: Try): ReturnType<typeof claimTasks> =>
      claimTasks(session, this.#parts, request, note, tried);
    // Grants and what they take of limits, or the memory of them under an operation id, are one thing.
    return needsTransaction(this.#parts, request) ? this.#transaction(body) : this.#run(body);
  }

  async taskSettle({ items }: { items: readonly port.SettleItem[] }): Promise<readonly port.SettleAnswer[]> {
    await this.#logs.behind(items);
    const { lanes } = this.#parts;
    const answers = await this.#whole(
      items,
      await this.#run((session) => settleTasks(session, lanes, items)),
      (session, some, woken) => settleTasks(session, lanes, some, woken),
    );
    this.#wakeups.tell([], this.#slotsOf(items.map(({ hint }) => hint?.lane)));
    return answers;
  }

  async taskReturn({ items }: { items: readonly port.ReturnItem[] }): Promise<readonly port.SettleAnswer[]> {
    await this.#logs.behind(items);
    const known = this.#parts.lanes;
    const body = (session: Session): ReturnType<typeof returnTasks> => returnTasks(session, known, items);
    // A pause of a limit comes with what it is about, or not at all. Its slots are locked by then: the tasks took from them.
    const pauses = items.some(({ pause }) => pause !== undefined);
    const { answers, lanes, left } = await (pauses ? this.#transaction(body) : this.#run(body));
    this.#ready(lanes, left);
    return this.#whole(items, answers, async (session, some, woken) => {
      return (await returnTasks(session, known, some, woken)).answers;
    });
  }

  leaseRenew({ items }: { items: readonly port.RenewItem[] }): Promise<readonly port.RenewAnswer[]> {
    return this.#urgently((session) => renewLeases(session, items));
  }

  leaseList({ holders }: { holders?: readonly number[] | undefined }): Promise<readonly port.HeldTask[]> {
    return this.#run((session) => listLeases(session, holders));
  }

  attemptWorkers({ items }: { items: readonly Lease[] }): Promise<readonly (string | undefined)[]> {
    return this.#run((session) => attemptWorkers(session, items));
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
    const { answer, left } = await this.#run((session) => reapLeases(session, duty, items));
    this.#ready(answer.lanes);
    if (left.length === 0) return answer;
    const rest = await this.#waking((session, woken) => reapLeases(session, duty, left, woken));
    this.#ready(rest.answer.lanes);
    return {
      reaped: answer.reaped + rest.answer.reaped,
      lanes: [...new Set([...answer.lanes, ...rest.answer.lanes])],
    };
  }

  async taskStage({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.StageAnswer> {
    const inMs = await this.#run((session) => dutyLook(session, 'stageLook', duty));
    if (inMs === undefined || inMs > 0) return { staged: 0, lanes: [], nextInMs: inMs };
    const answer = await this.#run((session) => stageTasks(session, duty, limit));
    this.#ready(answer.lanes);
    return answer;
  }

  async taskExpire({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.ExpireAnswer> {
    const inMs = await this.#run((session) => dutyLook(session, 'expireLook', duty));
    if (inMs === undefined || inMs > 0) return { expired: 0, nextInMs: inMs };
    const { expired, nextInMs, more } = await this.#run((session) => expireTasks(session, duty, limit));
    if (!more) return { expired, nextInMs };
    const rest = await this.#waking((session, woken) => expireTasks(session, duty, limit, woken));
    return { expired: expired + rest.expired, nextInMs: rest.nextInMs };
  }

  async taskTurn({ items }: { items: readonly port.Turn[] }): Promise<readonly port.TurnAnswer[]> {
    const answers: port.TurnAnswer[] = [];
    for (const round of roundsOf(items)) {
      const forms = Map.groupBy(round, (i) => formOf(items[i] as port.Turn));
      await Promise.all(
        [...forms].map(async ([form, places]) => {
          const given = await this.#turns(form, pick(items, places));
          for (const [at, i] of places.entries()) answers[i] = given[at] as port.TurnAnswer;
        }),
      );
    }
    return answers;
  }

  #turns(form: Form, turns: readonly port.Turn[]): Promise<readonly port.TurnAnswer[]> {
    if (form === 'plain') {
      const answers = this.#run((session) => takePlain(session, turns));
      this.#logs.add(new Set(turns.map(({ task }) => task)), answers);
      return answers;
    }
    if (form === 'fan') return this.#fans(turns);
    if (form === 'end') return this.#ends(turns);
    if (form === 'park') return this.#park(turns.map(parkOf)).then((answers) => answers.map(parkedTurn));
    if (form === 'back') return this.taskReturn({ items: turns.map(returnOf) }).then((all) => all.map(returnedTurn));
    return severally(turns, (turn) => this.#fullTurn(turn));
  }

  /** Those whose limits have something to say to their children are left to a transaction, and those that were asked to stop. */
  async #fans(turns: readonly port.Turn[]): Promise<readonly port.TurnAnswer[]> {
    const childrenOf = ({ entries }: port.Turn): readonly port.NewTask[] =>
      entries.flatMap((entry) => (entry.kind === 'child' ? [entry.task] : []));
    const asks = await this.#choosy(turns.flatMap(childrenOf));
    const free = turns.filter((turn) => !childrenOf(turn).some(asks));
    const fan = free.length === 0 ? { answers: [], born: [] } : await this.#takeFans(free);
    this.#tellReady(
      fan.born.map(({ item }) => item),
      fan.born.map(({ answer }) => answer),
    );
    const quick = new Map(free.map((turn, i) => [turn, fan.answers[i]]));
    const left = turns.filter((turn) => quick.get(turn) === undefined);
    const others = (await severally(left, (turn) => this.#fullTurn(turn))).values();
    return turns.map((turn) => quick.get(turn) ?? (others.next().value as port.TurnAnswer));
  }

  #takeFans(turns: readonly port.Turn[]): ReturnType<typeof takeFans> {
    const fan = this.#run((session) => takeFans(session, this.#parts.lanes, turns));
    this.#logs.add(new Set(turns.map(({ task }) => task)), fan);
    return fan;
  }

  async #ends(turns: readonly port.Turn[]): Promise<readonly port.TurnAnswer[]> {
    await this.#logs.behind(turns);
    const quick = await this.#run((session) => takeEnds(session, turns));
    this.#wakeups.tell([], this.#slotsOf(turns.map(({ hint }) => hint?.lane)));
    const left = turns.filter((_, i) => quick[i] === undefined);
    const others = (await severally(left, (turn) => this.#fullTurn(turn))).values();
    return quick.map((answer) => answer ?? (others.next().value as port.TurnAnswer));
  }

  async #fullTurn(turn: port.Turn): Promise<port.TurnAnswer> {
    await this.#logs.behind([turn]);
    const sendings: Drawn = [];
    const taken = await this.#transaction((session, tried) =>
      new FullTurn(session, this.#parts, turn, tried, sendings).take(),
    );
    const { answer, born, lanes, woken, left } = taken;
    this.#tellReady(
      born.map(({ item }) => item),
      born.map((one) => one.answer),
    );
    this.#ready([...lanes, ...woken], left);
    if (woken.size > 0) for (const hear of this.#listeners) hear([...woken]);
    return answer;
  }

  journalList({ task }: { task: number }): Promise<readonly port.JournalEntry[]> {
    return this.#run((session) => listJournal(session, task));
  }

  treeList(params: { root: number; after: number; limit: number }): Promise<readonly port.TreeRecord[]> {
    return this.#run((session) => listMembers(session, params.root, params.after, params.limit));
  }

  treeCount({ root }: { root: number }): Promise<Readonly<Record<TaskState, number>>> {
    return this.#run((session) => countTree(session, root));
  }

  async #park(items: readonly ParkItem[]): Promise<readonly ParkAnswer[]> {
    await this.#logs.behind(items);
    const answers: (ParkAnswer | undefined)[] = items.map(() => undefined);
    for (const batch of parkBatches(items)) {
      const some = pick(items, batch);
      const body = (session: Session): ReturnType<typeof parkTasks> => parkTasks(session, some);
      const parked = await (areTimers(some) ? this.#run(body) : this.#transaction(body));
      for (const i of batch) answers[i] = parked.get((items[i] as ParkItem).task);
    }
    const open = items.flatMap((_, i) => (answers[i] === undefined ? [i] : []));
    if (open.length > 0) {
      const some = pick(items, open);
      const given = await this.#whole(
        some,
        await this.#run((session) => parkedBefore(session, this.#parts.lanes, some)),
        (session, left, woken) => parkedBefore(session, this.#parts.lanes, left, woken),
      );
      for (const [at, i] of open.entries()) answers[i] = given[at];
    }
    this.#wakeups.tell([]);
    return answers as ParkAnswer[];
  }

  waitGet({ task }: { task: number }): Promise<port.WaitRecord | undefined> {
    return this.#run((session) => getWait(session, task));
  }

  waitList({ limit }: { limit: number }): Promise<readonly port.WaitRecord[]> {
    return this.#run((session) => listWaits(session, limit));
  }

  async signalSend({ items }: { items: readonly port.NewSignal[] }): Promise<readonly port.SignalAnswer[]> {
    if (items.length === 0) return [];
    const flight = this.#dedup.next();
    const { woken, lanes } = await this.#transaction((session) => sendSignals(session, flight, items));
    this.#ready(lanes);
    return woken.map((tasks) => ({ woken: tasks }));
  }

  resultKeys({ tasks }: { tasks: readonly number[] }): Promise<readonly (string | undefined)[]> {
    return this.#run((session) => resultKeysOf(session, tasks));
  }

  resultFind({ items }: { items: readonly port.ResultQuery[] }): Promise<readonly (port.KeptResult | undefined)[]> {
    return this.#run((session) => findResults(session, items));
  }

  resultKeep({ items }: { items: readonly port.NewResult[] }): Promise<readonly port.KeepAnswer[]> {
    const answers = this.#run((session) => keepResults(session, items));
    this.#logs.add(new Set(items.map(({ task }) => task)), answers);
    return answers;
  }

  async taskCancel({ tasks }: { tasks: readonly number[] }): Promise<readonly port.CancelAnswer[]> {
    return this.#whole(
      tasks,
      await this.#run((session, tried) => cancelTasks(session, tasks, tried)),
      (session, some, woken, tried) => cancelTasks(session, some, tried, woken),
    );
  }

  async taskRevive(params: port.ReviveParams): Promise<readonly port.ReviveAnswer[]> {
    const { tasks, forget = [] } = params;
    const answers: port.ReviveAnswer[] = [];
    if (forget.length > 0 || (await this.#run((session) => someDepend(session, tasks)))) {
      answers.push(...(await this.#transaction((session, tried) => reviveTogether(session, params, tried))));
    } else {
      for (const task of tasks) answers.push(await this.#run((session, tried) => reviveTask(session, task, tried)));
    }
    this.#ready(answers.flatMap((answer) => (answer.ok ? [answer.lane] : [])));
    return answers;
  }

  async graphPush({ items }: { items: readonly port.GraphTask[] }): Promise<port.GraphAnswer> {
    const flight = this.#dedup.next();
    const sendings: Drawn = [];
    const answer = await this.#transaction((session) => pushGraph(session, this.#parts, flight, items, sendings));
    if (answer.ok) this.#tellReady(items, answer.tasks);
    return answer;
  }

  depList({ task }: { task: number }): Promise<readonly port.Dependency[]> {
    return this.#run((session) => listDependencies(session, task));
  }

  depDependents({ tasks }: { tasks: readonly number[] }): Promise<readonly port.Planned[]> {
    return this.#run((session) => listPlanned(session, 'depDependents', tasks));
  }

  depNeeds({ tasks }: { tasks: readonly number[] }): Promise<readonly port.Planned[]> {
    return this.#run((session) => listPlanned(session, 'depPlans', tasks));
  }

  async depCarry({ duty, limit }: { duty: port.DutyTerm; limit: number }): Promise<port.CarryAnswer> {
    if (!(await this.#run((session) => hasToCarry(session, duty)))) return { carried: 0, lanes: [], more: false };
    const answer = await this.#transaction(async (session) => {
      await requireDuty(session, duty);
      return carryOn(session, limit);
    });
    this.#ready(answer.lanes);
    return answer;
  }

  /** What the quick way had no answer for: tasks that others wait for, which hear of it in the same transaction. */
  async #whole<I, A>(
    items: readonly I[],
    quick: readonly (A | undefined)[],
    body: (session: Session, some: readonly I[], woken: Woken, tried: Try) => Promise<readonly (A | undefined)[]>,
  ): Promise<readonly A[]> {
    if (!quick.includes(undefined)) return quick as readonly A[];
    const open = quick.flatMap((answer, i) => (answer === undefined ? [i] : []));
    const given = await this.#waking((session, woken, tried) => body(session, pick(items, open), woken, tried));
    const byPlace = new Map(open.map((i, at) => [i, given[at] as A]));
    return quick.map((answer, i) => answer ?? (byPlace.get(i) as A));
  }

  /** A transaction that may wake tasks which its answer does not name. */
  async #waking<T>(body: (session: Session, woken: Woken, tried: Try) => Promise<T>): Promise<T> {
    const { answer, woken } = await this.#transaction(async (session, tried) => {
      const lanes: Woken = new Set();
      return { answer: await body(session, lanes, tried), woken: [...lanes] };
    });
    this.#ready(woken);
    if (woken.length > 0) for (const hear of this.#listeners) hear(woken);
    return answer;
  }

  taskGet({ tasks }: { tasks: readonly number[] }): Promise<readonly (port.TaskRecord | undefined)[]> {
    return this.#run((session) => getTasks(session, tasks));
  }

  taskList(query: port.TaskQuery): Promise<readonly port.TaskRecord[]> {
    return this.#run((session) => listTasks(session, this.#parts.schema, query));
  }

  taskReady({ lanes, limit }: { lanes: readonly number[]; limit: number }): Promise<readonly port.ReadyTask[]> {
    return this.#run((session) => readyTasks(session, lanes, limit));
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
    return this.#transaction((session) => registerWorker(session, worker));
  }

  workerBeat({ beats }: { beats: readonly port.WorkerBeat[] }): Promise<readonly boolean[]> {
    return this.#urgently((session) => beatAll(session, beats));
  }

  async workerEnable({ worker, enabled }: { worker: number; enabled: boolean }): Promise<void> {
    await this.#run((session) => session.rows('workerEnable', [worker, enabled]));
  }

  workerFleet(): Promise<port.FleetSnapshot> {
    return this.#run(listFleet);
  }

  workerSet(setting: port.WorkerSetting): Promise<void> {
    return this.#edit('setting', (session) => setWorker(session, setting).then(() => null)).then(() => {});
  }

  workerSettings(): Promise<readonly port.WorkerSettingRecord[]> {
    return this.#run(listSettings);
  }

  workerForget({ name }: { name: string }): Promise<port.Forgotten> {
    const flight = this.#dedup.next();
    const forgotten = this.#transaction((session) => forgetWorker(session, flight, name));
    return forgotten.finally(() => this.#wakeups.tellAll());
  }

  tokenAdd(adding: port.TokenAdding): Promise<port.TokenRecord> {
    const flight = this.#dedup.next();
    const added = this.#transaction((session) => addToken(session, flight, adding));
    return adding.setting === undefined ? added : added.finally(() => this.#wakeups.tellAll());
  }

  tokenFind({ hash }: { hash: string }): Promise<port.TokenRecord | undefined> {
    return this.#run((session) => findToken(session, hash));
  }

  tokenExchange(exchange: port.TokenExchange): Promise<port.TokenRecord | undefined> {
    const flight = this.#dedup.next();
    return this.#transaction((session) => exchangeToken(session, flight, exchange));
  }

  tokenAlive({ ids }: { ids: readonly number[] }): Promise<readonly boolean[]> {
    return this.#run((session) => areTokensAlive(session, ids));
  }

  tokenList(): Promise<readonly port.TokenRecord[]> {
    return this.#run(listTokens);
  }

  tokenRevoke({ id }: { id: number }): Promise<boolean> {
    const flight = this.#dedup.next();
    return this.#transaction((session) => revokeToken(session, flight, id));
  }

  tokenRevokeNamed({ name }: { name: string }): Promise<number> {
    const flight = this.#dedup.next();
    return this.#transaction((session) => revokeTokensNamed(session, flight, name));
  }

  taskCount(query: port.TaskCount): Promise<port.TaskCounts> {
    return this.#run((session) => countTasks(session, this.#parts.schema, query));
  }

  failureList({ before, limit }: { before?: number | undefined; limit: number }): Promise<readonly port.Failure[]> {
    return this.#run((session) => listFailures(session, before, limit));
  }

  handlerQueues({ limit }: { limit: number }): Promise<readonly port.HandlerQueue[]> {
    return this.#run((session) => handlerQueues(session, limit));
  }

  async viewPut({ view, most }: { view: port.NewView; most: number }): Promise<port.ViewRecord | undefined> {
    const flight = this.#dedup.next();
    return (await this.#transaction((session) => putView(session, flight, view, most))) ?? undefined;
  }

  viewList(): Promise<readonly port.ViewRecord[]> {
    return this.#run(listViews);
  }

  viewDrop({ name }: { name: string }): Promise<boolean> {
    const flight = this.#dedup.next();
    return this.#transaction((session) => dropView(session, flight, name));
  }

  schemaPut({ schemas }: { schemas: readonly HandlerSchema[] }): Promise<void> {
    return this.#run((session) => putSchemas(session, schemas));
  }

  schemaList(): Promise<readonly HandlerSchema[]> {
    return this.#run(listSchemas);
  }

  async documentWrite(write: port.DocumentWrite): Promise<port.DocumentAnswer> {
    const flight = this.#dedup.next();
    const sendings: Drawn = [];
    const answer = await this.#transaction((session) => writeDocuments(session, this.#parts, flight, write, sendings));
    if (answer.ok && write.push !== undefined) this.#tellReady(write.push.items, answer.tasks);
    return answer;
  }

  documentTree({ root }: { root: string }): Promise<readonly port.DocumentRecord[]> {
    return this.#run((session) => listTree(session, root));
  }

  documentGet({ ids }: { ids: readonly string[] }): Promise<readonly (port.DocumentRecord | undefined)[]> {
    return this.#run((session) => getDocuments(session, ids));
  }

  documentOf({ tasks }: { tasks: readonly number[] }): Promise<readonly (port.DocumentRecord | undefined)[]> {
    return this.#run((session) => documentsOfTasks(session, tasks));
  }

  documentList(query: port.DocumentQuery): Promise<readonly port.DocumentRecord[]> {
    return this.#run((session) => listDocuments(session, query));
  }

  documentCount(filter: port.DocumentFilter): Promise<port.DocumentCount> {
    return this.#run((session) => countDocuments(session, filter));
  }

  limitPut({ name, limit, by }: { name: string; limit: Limit; by: string }): Promise<number> {
    return this.#edit('limit', (session) => putLimit(session, name, limit, by)).then(({ revision }) => revision);
  }

  limitEdit(editing: port.LimitEditing): Promise<port.LimitEdited> {
    return this.#edit('limit', (session) => changeLimit(session, editing));
  }

  limitRemove({ name, by }: { name: string; by: string }): Promise<boolean> {
    return this.#edit('limit', (session) => removeLimit(session, name, by));
  }

  limitList(): Promise<readonly port.LimitRecord[]> {
    return this.#run(listLimits);
  }

  limitHistory({ name, limit }: { name: string; limit: number }): Promise<readonly port.LimitChange[]> {
    return this.#run((session) => limitChanges(session, name, limit));
  }

  limitSlots({ name, limit }: { name: string; limit: number }): Promise<readonly port.SlotRecord[]> {
    return this.#run((session) => slotsOfLimit(session, name, limit));
  }

  slotGet({ slots }: { slots: readonly number[] }): Promise<port.CounterSnapshot> {
    return this.#run((session) => getSlots(session, slots));
  }

  slotHolders({ slot, limit }: { slot: number; limit: number }): Promise<readonly port.SlotHolder[]> {
    return this.#run((session) => slotHolders(session, slot, limit));
  }

  slotPause({ name, key, forMs }: { name: string; key: string; forMs: number }): Promise<boolean> {
    return this.#run(async (session) => (await session.rows('slotPauseNamed', [name, key, forMs])).length > 0);
  }

  slotAudit({ duty }: { duty: port.DutyTerm }): Promise<readonly port.SlotDrift[]> {
    return this.#transaction(async (session) => {
      await requireDuty(session, duty);
      return repairSlots(session);
    });
  }

  workerList({ state }: { state?: WorkerState } = {}): Promise<readonly port.WorkerRecord[]> {
    return this.#run((session) => listWorkers(session, state));
  }

  workerReap({ duty, staleMs }: { duty: port.DutyTerm; staleMs: number }): Promise<readonly number[]> {
    return this.#run((session) => reapWorkers(session, duty, staleMs));
  }

  dutyTake({
    name,
    holder,
    ttlMs,
  }: {
    name: string;
    holder: string;
    ttlMs: number;
  }): Promise<port.DutyTenure | undefined> {
    return this.#run((session, tried) => takeDuty(session, name, holder, ttlMs, tried));
  }

  dutyRenew({ duty, ttlMs }: { duty: port.DutyTerm; ttlMs: number }): Promise<boolean> {
    return this.#urgently((session) => renewDuty(session, duty, ttlMs));
  }

  dutyRelease({ duty }: { duty: port.DutyTerm }): Promise<void> {
    return this.#run((session) => releaseDuty(session, duty));
  }

  dutyList(): Promise<port.DutySnapshot> {
    return this.#run(listDuties);
  }

  nodeBeat(beat: port.NodeBeat): Promise<port.NodeAnswer> {
    return this.#urgently((session) => beatNode(session, beat));
  }

  nodeList(): Promise<port.NodeSnapshot> {
    return this.#run(listNodes);
  }

  nodeLeave({ id, incarnation }: { id: string; incarnation: string }): Promise<void> {
    return this.#run((session) => leaveNode(session, id, incarnation));
  }

  nodeRole({ id, role }: { id: string; role: NodeOverride }): Promise<boolean> {
    return this.#run((session) => askNode(session, id, role));
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
        const given = await pushKeyed(session, this.#parts, this.#dedup.next(), pick(firing.items, wave));
        for (const [at, i] of wave.entries()) pushed[i] = given[at] as port.PushAnswer;
      }
      return { moved: true, pushed };
    });
    this.#tellReady(firing.items, answer.pushed);
    return answer;
  }

  watch({ wanted, onChange }: port.WatchParams): () => void {
    const hear = (lanes: readonly number[] | undefined, slots: readonly number[]): void => {
      this.#parts.marks.drop(lanes);
      if (wanted()) onChange(lanes, slots);
    };
    const listener: port.WatchParams['onChange'] = (lanes) => onChange(lanes);
    this.#listeners.add(listener);
    const stop = this.#wakeups.listen({ wanted, hear });
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
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

  /** What an operator says: made once, though its answer were lost, and looked at by all who wait for work. */
  #edit<T>(verb: string, body: (session: Session) => Promise<T>): Promise<T> {
    const flight = this.#dedup.next();
    const edited = this.#transaction((session) => once(session, verb, flight, () => body(session)));
    return edited.finally(() => this.#wakeups.tellAll());
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

  /** Tasks of unknown place became ready there; and from these lanes tasks went, which had taken from their limits. */
  #ready(lanes: Iterable<number>, left: Iterable<number> = []): void {
    const all = [...lanes];
    const slots = this.#slotsOf(left);
    if (all.length + slots.size === 0) return;
    this.#parts.marks.drop(all);
    this.#wakeups.tell(all, slots);
  }

  #slotsOf(lanes: Iterable<number | undefined>): ReadonlySet<number> {
    const slots = new Set<number>();
    for (const lane of lanes) {
      const rules = lane === undefined ? undefined : this.#parts.lanes.known(lane)?.rules;
      for (const { slot } of rules?.uses ?? []) slots.add(slot);
    }
    return slots;
  }
}

function pick<T>(items: readonly T[], places: readonly number[]): readonly T[] {
  return places.map((i) => items[i] as T);
}

/** Turns that need a transaction of their own, a few at once: each waits for its own commit. */
async function severally<T, A>(items: readonly T[], act: (item: T) => Promise<A>): Promise<readonly A[]> {
  const answers: A[] = [];
  const places = items.keys();
  const work = async (): Promise<void> => {
    for (const i of places) answers[i] = await act(items[i] as T);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
  return answers;
}

const ENTRYLESS = { kind: 'done', entries: [] } as const;

function parkedTurn(answer: ParkAnswer): port.TurnAnswer {
  if (answer.went === 'lost') return { kind: 'lost' };
  return { ...ENTRYLESS, ...answer, cancelRequested: answer.went === 'cancelled' };
}

function returnOf({ task, attempt, then }: port.Turn): port.ReturnItem {
  const { go: _, ...item } = then as port.Then & { readonly go: 'back' };
  return { ...item, task, attempt };
}

function returnedTurn(answer: port.SettleAnswer): port.TurnAnswer {
  if (answer === 'lost') return { kind: 'lost' };
  const cancelled = answer === 'cancelled';
  return { ...ENTRYLESS, went: cancelled ? 'cancelled' : 'back', cancelRequested: cancelled };
}
