import { budgetKey } from '../../../../core/limits/budget.ts';
import { isFinal } from '../../../../core/task/task.ts';
import { stateCode, TREE } from '../../../codes.ts';
import { type Overfull, standIns, turnGraph } from '../../../graph.ts';
import { keptAnswer } from '../../../rows/journal-rows.ts';
import { eachChannel } from '../../../rows/wait-rows.ts';
import type {
  EntryAnswer,
  NewChild,
  NewNotice,
  NewTask,
  Park,
  PushedTask,
  Turn,
  TurnAnswer,
  TurnRefusal,
} from '../../../store.ts';
import {
  type AfterTurn,
  allWritten,
  awaitedBy,
  circleIn,
  isRepeat,
  LOST,
  NONE,
  type ParkItem,
  STORED,
  type TurnDone,
  wokenBy,
} from '../../../turns.ts';
import { numbers } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { makeAll } from '../queue/births.ts';
import { appendLogs } from '../queue/log.ts';
import { type AllocatedIds, taskStates } from '../queue/push.ts';
import { outcomesOf, returnTasks, settleTasks } from '../queue/settle.ts';
import {
  chargeTurns,
  type Debt,
  FREE,
  type Payer,
  payDebts,
  repeatedCharge,
  settleSpends,
  waitFor,
  wakeAwaiting,
} from './budget.ts';
import { noneWoken, type Woken } from './countdown.ts';
import { type Added, addEntries, findKeys, type Known } from './journal.ts';
import { beginWaits, closesCircle, type Parked, parkForBudget } from './park.ts';
import { Delivery } from './signal.ts';

/** What a turn has done, for the hints after its commit. */
export interface Taken {
  readonly answer: TurnAnswer;
  /** New children, announced like pushes. */
  readonly born: readonly { readonly item: NewTask; readonly answer: PushedTask }[];
  /** Lanes that have ready tasks. */
  readonly lanes: Set<number>;
  /** Lanes of tasks that waited for the end of this one. */
  readonly woken: Woken;
  /** The lane of the task, if it gave back what it took of limits. */
  readonly left: readonly number[];
}

interface Running {
  readonly lane: number;
  readonly asked: boolean;
  readonly root: number | null;
  readonly flags: number;
}

const isChild = (entry: Turn['entries'][number]): entry is NewChild => entry.kind === 'child';
const isNotice = (entry: Turn['entries'][number]): entry is NewNotice => entry.kind === 'signal';

/**
 * One turn, in a transaction. Locks are taken in the same order everywhere: channels, tasks that it will wait for, its
 * own, unique keys, limits, tasks that it wakes, budgets. Nothing sees its children before the commit.
 */
export class FullTurn {
  readonly #session: Session;
  readonly #parts: PostgresParts;
  readonly #turn: Turn;
  readonly #tried: Try;
  /** The ids that each try of this turn has drawn. */
  readonly #allocated: AllocatedIds;
  readonly #born: { readonly item: NewTask; readonly answer: PushedTask }[] = [];
  readonly #lanes = new Set<number>();
  readonly #woken: Woken = noneWoken();
  #known: Known = () => undefined;

  constructor(session: Session, parts: PostgresParts, turn: Turn, tried: Try, allocated: AllocatedIds) {
    this.#session = session;
    this.#parts = parts;
    this.#turn = turn;
    this.#tried = tried;
    this.#allocated = allocated;
  }

  async take(): Promise<Taken> {
    const { entries, then, task, attempt } = this.#turn;
    const park = then.go === 'park' ? then : undefined;
    await this.#parts.lanes.need(
      this.#session,
      entries.filter(isChild).map((entry) => entry.task.lane),
    );
    const waits = park === undefined ? [] : eachChannel(park);
    await lockChannels(
      this.#session,
      [...entries.filter(isNotice), ...waits].map(({ channel }) => channel),
    );
    const states = await this.#lockTasks(this.#strangers());
    const [row] = await this.#session.all<Running>('turnLook', [task, attempt]);
    this.#known = await this.#find();
    if (row === undefined) return this.#taken(await this.#repeated());
    const wait = park && (await this.#lastWait(park));
    if (wait === 'late') return this.#taken(LOST);
    const acts = park !== undefined || entries.some((entry) => !('value' in entry) && this.#is(entry) === undefined);
    if (row.asked && acts) return this.#stop(row);
    const awaited = awaitedBy(this.#turn, (key) => this.#known(task, key)?.ref ?? undefined);
    // Most of them run or are ready, or have ended, and are not followed; those that are not locked may begin to wait meanwhile.
    const strangers = new Set(this.#strangers());
    const followed = awaited.filter((one) => {
      return one === task || !strangers.has(one) || states.get(one) === stateCode('waiting');
    });
    if (await closesCircle(this.#session, task, followed)) return this.#taken(circleIn(this.#turn));
    return this.#go(row, new Set(states.keys()), wait);
  }

  #taken(answer: TurnAnswer, left: readonly number[] = []): Taken {
    return { answer, born: this.#born, lanes: this.#lanes, woken: this.#woken, left };
  }

  /** Existing tasks that a child or the turn itself will wait for. */
  #strangers(): readonly number[] {
    const { entries, then } = this.#turn;
    const edges = entries.filter(isChild).flatMap(({ after = [] }) => after.flatMap(({ task }) => task ?? []));
    const children = then.go === 'park' ? (then.children ?? []).filter((child) => typeof child === 'number') : [];
    return [...edges, ...children];
  }

  /** Locks those of these tasks that have not ended, and returns their states. None of them ends before this transaction does. */
  async #lockTasks(tasks: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (tasks.length === 0) return new Map();
    const all = [...new Set(tasks)].sort((a, b) => a - b);
    const rows = await this.#session.rows('depLock', [numbers(all)]);
    return new Map(rows as readonly (readonly [number, number])[]);
  }

  /** Finds the existing entries under its keys, and under those of children of earlier turns that new ones wait for. */
  #find(): Promise<Known> {
    const { task, entries } = this.#turn;
    const keys = new Set(entries.map(({ key }) => key));
    for (const { after = [] } of entries.filter(isChild)) {
      for (const { child } of after) if (child !== undefined) keys.add(child);
    }
    return findKeys(
      this.#session,
      [...keys].map((key) => ({ task, key })),
    );
  }

  #is(entry: Turn['entries'][number]): ReturnType<Known> {
    return this.#known(this.#turn.task, entry.key);
  }

  /** The signal that an earlier try of this park had taken. `late`: a later wait of the attempt has come. */
  async #lastWait(park: Park): Promise<Parked | 'late'> {
    const { task, attempt } = this.#turn;
    const { nth = 0 } = park;
    type Row = { key: string; turn: number; state: number; body: string | null };
    const [row] = await this.#session.all<Row>('turnWait', [task, attempt]);
    if (row !== undefined && row.turn > nth) return 'late';
    if (row?.state !== 1 || !eachChannel(park).some(({ key }) => key === row.key)) return undefined;
    return wokenBy(park, row);
  }

  /** The task was asked to stop, and the turn would have begun something: its values are kept, and the task ends. */
  async #stop(row: Running): Promise<Taken> {
    await this.#write(new Map());
    const answers = await this.#answers(new Map(), 'values');
    const debt = await this.#spend(row);
    await this.#end({ to: 'cancelled', reason: 'requested' });
    if (debt !== undefined) await payDebts(this.#session, [debt]);
    return this.#taken(done(row, { went: 'cancelled' }, answers), [row.lane]);
  }

  async #go(row: Running, unfinished: Set<number>, wait: Parked): Promise<Taken> {
    const { entries, then, task } = this.#turn;
    const fresh = entries.filter(isChild).filter((entry) => this.#is(entry) === undefined);
    const notices = entries.filter(isNotice).filter((entry) => this.#is(entry) === undefined);
    const leaves = then.go !== 'on' || this.#turn.draw !== undefined;
    const counters = leaves && fresh.length + notices.length > 0 ? await this.#countersOf(row.lane) : [];
    const born = await this.#bear(row, fresh, counters);
    if ('refused' in born) return this.#taken(born.refused);
    if (this.#born.length > 0 && row.root === null && (row.flags & TREE) === 0) {
      await this.#session.rows('treeMark', [task]);
    }
    await this.#write(born.made, notices);
    if (fresh.length === 0 && counters.length > 0) await this.#session.rows('slotLock', [numbers(counters)]);
    if (notices.length > 0) {
      const delivery = new Delivery(this.#session, notices);
      await delivery.send([...notices.keys()]);
      for (const lane of delivery.lanes) this.#lanes.add(lane);
    }
    const answers = await this.#answers(born.made, 'all');
    for (const { answer } of this.#born) if (!isFinal(answer.state)) unfinished.add(answer.task);
    const debt = then.go === 'on' ? undefined : await this.#spend(row);
    const after =
      then.go === 'park'
        ? await this.#park(then, answers, unfinished, wait)
        : then.go === 'on'
          ? await this.#goOn(row, counters.length > 0)
          : await this.#leave(then);
    if (debt !== undefined) await payDebts(this.#session, [debt]);
    const gone = after.went !== 'on' && after.went !== 'woken';
    const budget = after.budget ?? debt?.news;
    return this.#taken(done(row, { ...after, budget }, answers), gone ? [row.lane] : []);
  }

  /** The counters that its end or park gives back to. They are locked with those of its children, before anything is woken. */
  async #countersOf(lane: number): Promise<readonly number[]> {
    const { lanes } = this.#parts;
    await lanes.need(this.#session, [lane]);
    return (lanes.known(lane)?.rules?.uses ?? []).map(({ counter }) => counter).sort((a, b) => a - b);
  }

  /** The new children by their entries. After a refusal nothing was written. */
  async #bear(
    { root }: Running,
    fresh: readonly NewChild[],
    counters: readonly number[],
  ): Promise<{ readonly made: ReadonlyMap<NewChild, PushedTask> } | { readonly refused: TurnAnswer }> {
    if (fresh.length === 0) return { made: new Map() };
    const { task } = this.#turn;
    const { lanes } = this.#parts;
    const items = turnGraph(fresh, (key) => this.#known(task, key)?.ref ?? undefined);
    const places = standIns(items, ({ lane }) => lanes.known(lane)?.queueId as number);
    if ('item' in places) return { refused: refusal(fresh[places.item] as NewChild, { conflict: 0 }) };
    await this.#session.raw('SAVEPOINT turn');
    const answer = await makeAll(this.#session, this.#parts, items, places, {
      allocated: this.#allocated,
      lineage: { parent: task, root: root ?? task, tried: this.#tried, counters },
    });
    if (!answer.ok) {
      await this.#session.raw('ROLLBACK TO SAVEPOINT turn');
      const item =
        'unknown' in answer
          ? items.findIndex(({ after }) => after.some((edge) => edge.task === answer.unknown))
          : answer.item;
      return { refused: refusal(fresh[item] as NewChild, whyOf(answer)) };
    }
    const made = new Map(answer.tasks.map((one, i) => [fresh[i] as NewChild, one as PushedTask]));
    for (const [entry, one] of made) if (one.fresh) this.#born.push({ item: entry.task, answer: one });
    return { made };
  }

  /** Writes the entries that do not exist yet, and the log lines. */
  async #write(made: ReadonlyMap<NewChild, PushedTask>, notices: readonly NewNotice[] = []): Promise<void> {
    const { task, attempt, entries, logs = [] } = this.#turn;
    const added = entries.flatMap((entry): Added[] => {
      if (this.#is(entry) !== undefined) return [];
      if ('value' in entry) return [entry];
      if (isNotice(entry)) return notices.includes(entry) ? [{ key: entry.key, kind: 'signal' }] : [];
      const child = made.get(entry);
      if (child === undefined) return [];
      return [{ key: entry.key, kind: 'child', ref: child.task, value: String(child.createdAt) }];
    });
    await addEntries(this.#session, this.#turn, added);
    if (logs.length > 0) await appendLogs(this.#session, [{ task, attempt, entries: logs }]);
  }

  /**
   * Answers in the order of the entries, with the present states of children that existed. `wrote` says which of the
   * others were written.
   */
  async #answers(
    made: ReadonlyMap<NewChild, PushedTask>,
    wrote: 'all' | 'values' | 'none',
  ): Promise<readonly EntryAnswer[]> {
    const { entries } = this.#turn;
    const refs = entries.filter(isChild).flatMap((entry) => this.#is(entry)?.ref ?? []);
    const states = refs.length === 0 ? new Map() : await taskStates(this.#session, refs);
    return entries.map((entry): EntryAnswer => {
      const there = this.#is(entry);
      if (there !== undefined) {
        const kept = keptAnswer(this.#turn, entry, there, (child) => states.get(child) ?? 'completed');
        return kept.kind === 'child' ? { ...kept, fresh: this.#isOwn(kept.task) } : kept;
      }
      if (!isChild(entry)) return wrote === 'all' || (wrote === 'values' && 'value' in entry) ? STORED : NONE;
      const one = made.get(entry);
      if (one === undefined) return NONE;
      const { task, createdAt, state, fresh } = one;
      return { kind: 'child', task, createdAt, state, fresh };
    });
  }

  /** An earlier try of this call had made it. */
  #isOwn(task: number): boolean {
    return this.#tried.again && this.#allocated.some((drawnIds) => [...drawnIds.values()].includes(task));
  }

  async #park(park: Park, answers: readonly EntryAnswer[], unfinished: Set<number>, wait: Parked): Promise<AfterTurn> {
    const { task, attempt, entries } = this.#turn;
    const numberOf = (key: string): number => {
      const answer = answers[entries.findIndex((entry) => entry.key === key)];
      return answer?.kind === 'child' ? answer.task : 0;
    };
    const children = park.children?.map((child) => (typeof child === 'number' ? child : numberOf(child)));
    const item: ParkItem = { ...park, task, attempt, children };
    const mine = new Set(this.#born.map(({ answer }) => answer.task));
    const others = (park.children ?? []).flatMap((child) => (typeof child === 'string' ? numberOf(child) : []));
    // Children of earlier turns, and tasks that a unique key led to.
    const locked = await this.#lockTasks(others.filter((child) => !mine.has(child)));
    for (const one of locked.keys()) unfinished.add(one);
    const decided = new Map<number, Parked>(wait === undefined ? [] : [[task, wait]]);
    await beginWaits(this.#session, [item], unfinished, decided, this.#woken);
    const went = decided.get(task);
    return went?.went === 'woken' ? went : { went: 'parked' };
  }

  /** Settles what was spent, unless this is a repeat. The entries are known as they were before. */
  async #spend(row: Running): Promise<Debt | undefined> {
    const turn = this.#turn;
    if (turn.spend === undefined || isRepeat(turn, (entry) => this.#is(entry))) return undefined;
    return (await settleSpends(this.#session, [{ turn, ...row }])).get(turn.task);
  }

  /** Draws. If there is too little left, the task parks instead; one that was asked to stop ends. */
  async #goOn(row: Running, slotsHeld: boolean): Promise<AfterTurn> {
    const turn = this.#turn;
    const { draw, spend, task, attempt } = turn;
    if (draw === undefined && spend === undefined) return { went: 'on' };
    const payer: Payer = { turn, ...row };
    if (isRepeat(turn, (entry) => this.#is(entry))) {
      return { went: 'on', budget: (await repeatedCharge(this.#session, payer)).news };
    }
    const { charged, awaited } = await chargeTurns(this.#session, this.#parts.lanes, [payer], slotsHeld);
    const { news, short } = charged.get(task) ?? FREE;
    if (short !== undefined && !row.asked) {
      await parkForBudget(this.#session, [{ task, attempt, ...waitFor(payer, short) }]);
    }
    await wakeAwaiting(this.#session, awaited, this.#woken);
    if (short === undefined) return { went: 'on', budget: news };
    if (row.asked) await this.#end({ to: 'cancelled', reason: 'requested' });
    return { went: row.asked ? 'cancelled' : 'parked', budget: news };
  }

  async #leave(then: Turn['then'] & { readonly go: 'end' | 'back' }): Promise<AfterTurn> {
    const { task, attempt } = this.#turn;
    if (then.go === 'end') {
      await this.#end(then);
      return { went: 'ended' };
    }
    const { go: _, ...item } = then;
    const returned = await returnTasks(this.#session, this.#parts.lanes, [{ ...item, task, attempt }], this.#woken);
    for (const lane of returned.lanes) this.#lanes.add(lane);
    return { went: returned.answers[0] === 'cancelled' ? 'cancelled' : 'back' };
  }

  async #end({ to, reason, result }: Omit<Turn['then'] & { readonly go: 'end' }, 'go'>): Promise<void> {
    const { task, attempt } = this.#turn;
    await settleTasks(this.#session, this.#parts.lanes, [{ task, attempt, to, reason, result }], this.#woken);
  }

  /** No such attempt runs. A repeat of the turn that ended it is recognized by how it ended. */
  async #repeated(): Promise<TurnAnswer> {
    const went = await this.#wentBefore();
    if (went === undefined) return LOST;
    const entries = await this.#answers(new Map(), 'none');
    const news = this.#turn.then.go === 'on' && went === 'parked' ? { budget: { waits: true } } : undefined;
    return { kind: 'done', went, cancelRequested: went === 'cancelled', entries, ...news };
  }

  async #wentBefore(): Promise<TurnDone['went'] | undefined> {
    const { task, attempt, then } = this.#turn;
    const outcome = (await outcomesOf(this.#session, [{ task, attempt }])).get(`${task}/${attempt}`);
    if (outcome === 'cancelled' && (then.go !== 'on' || this.#tried.again)) {
      return then.go === 'end' && then.to === 'cancelled' ? 'ended' : 'cancelled';
    }
    if (then.go === 'on') return outcome === 'parked' && (await this.#isForBudget()) ? 'parked' : undefined;
    if (then.go === 'park') return outcome === 'parked' ? 'parked' : undefined;
    if (then.go === 'end') return outcome === then.to ? 'ended' : undefined;
    return outcome === then.change ? 'back' : undefined;
  }

  /** Whether this attempt has parked because the draw of this turn was refused. */
  async #isForBudget(): Promise<boolean> {
    const { task, attempt, draw } = this.#turn;
    if (draw === undefined || !allWritten(this.#turn, (entry) => this.#is(entry))) return false;
    const [wait] = await this.#session.all<{ key: string }>('turnWait', [task, attempt]);
    return draw.some(({ unit }) => wait?.key === budgetKey(unit));
  }
}

function done({ asked }: Running, { went, body, key, budget }: AfterTurn, entries: readonly EntryAnswer[]): TurnDone {
  const more = {
    ...(body === undefined ? {} : { body }),
    ...(key === undefined ? {} : { key }),
    ...(budget === undefined ? {} : { budget }),
  };
  return { kind: 'done', went, ...more, cancelRequested: asked, entries };
}

function refusal({ key }: NewChild, why: TurnRefusal): TurnAnswer {
  return { kind: 'refused', key, why };
}

function whyOf(answer: Exclude<Awaited<ReturnType<typeof makeAll>>, { readonly ok: true }> | Overfull): TurnRefusal {
  if ('unknown' in answer) return { unknown: answer.unknown };
  return 'limit' in answer ? { limit: answer.limit, key: answer.key } : { conflict: answer.conflict };
}
