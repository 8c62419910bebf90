import {
  type Allowance,
  type BudgetLevel,
  budgetChannel,
  budgetKey,
  isSoft,
  leave,
  type Metered,
  meter,
  type Unit,
} from '../../../../core/limits/budget.ts';
import { AWAITED, METERED, unitCode, unitOf, WARNED } from '../../../codes.ts';
import type { BudgetChange, BudgetNews, BudgetRecord, Turn } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { Lanes } from '../../lanes.ts';
import type { Woken } from './countdown.ts';
import { Delivery } from './signal.ts';

/** A turn, and the row of its task, which is locked. */
export interface Payer {
  readonly turn: Turn;
  readonly lane: number;
  readonly root: number | null;
  readonly flags: number;
}

/** What a turn hears of its budget, and the unit that is short. */
export interface Charged {
  readonly news: BudgetNews | undefined;
  readonly short: Unit | undefined;
}

export const FREE: Charged = { news: undefined, short: undefined };

interface Level extends BudgetLevel {
  readonly told: number;
}

interface LevelRow {
  readonly root: number;
  readonly unit: number;
  readonly soft: number | null;
  readonly hard: number | null;
  readonly taken: number;
  readonly told: number;
}

type Units = ReadonlyMap<Unit, Allowance>;
const NO_UNITS: Units = new Map();
const rootOf = ({ turn, root }: Payer): number => root ?? turn.task;

/** Budgets as they become while a transaction plans. Written once, by one statement. */
class Levels {
  readonly #levels = new Map<number, Map<Unit, Level>>();
  readonly #more = new Map<string, { readonly root: number; readonly unit: Unit; by: number }>();
  /** Roots of which something is given back that tasks wait for. */
  readonly awaited = new Set<number>();

  put(rows: readonly LevelRow[]): void {
    for (const { root, unit, soft, hard, taken, told } of rows) {
      const level = { soft: soft ?? undefined, hard: hard ?? undefined, taken, told };
      const units = this.#levels.get(root);
      if (units === undefined) this.#levels.set(root, new Map([[unitOf(unit), level]]));
      else units.set(unitOf(unit), level);
    }
  }

  of(root: number): ReadonlyMap<Unit, Level> {
    return this.#levels.get(root) ?? new Map();
  }

  /** True: a soft bound is reached that was not told of. */
  take(root: number, { taken, short }: Pick<Metered, 'taken'> & Partial<Metered>): boolean {
    let crossed = false;
    for (const [unit, by] of taken) {
      const level = this.of(root).get(unit);
      if (level === undefined) continue;
      const after = { ...level, taken: Math.max(0, level.taken + by) };
      const warned = isSoft(after) ? WARNED : 0;
      if (warned > (level.told & WARNED)) crossed = true;
      if (by < 0 && level.told & AWAITED) this.awaited.add(root);
      this.#set(root, unit, { ...after, told: (by < 0 ? level.told & ~AWAITED : level.told) | warned }, by);
    }
    const level = short === undefined ? undefined : this.of(root).get(short);
    if (short !== undefined && level !== undefined) this.#set(root, short, { ...level, told: level.told | AWAITED }, 0);
    return crossed;
  }

  #set(root: number, unit: Unit, level: Level, by: number): void {
    this.#levels.get(root)?.set(unit, level);
    const name = `${root} ${unit}`;
    const change = this.#more.get(name) ?? { root, unit, by: 0 };
    change.by += by;
    this.#more.set(name, change);
  }

  async write(session: Session): Promise<void> {
    const changes = [...this.#more.values()];
    if (changes.length === 0) return;
    await session.rows('budgetTake', [
      numbers(changes.map(({ root }) => root)),
      numbers(changes.map(({ unit }) => unitCode(unit))),
      numbers(changes.map(({ by }) => by)),
      numbers(changes.map(({ root, unit }) => this.of(root).get(unit)?.told)),
    ]);
  }
}

/**
 * Charges turns that go on, whose entries are written. Most draw from what their tasks have, and no budget is locked. For the others
 * the counters of their limits are locked before it, because those whose draw is refused will park. `slotsHeld`: they are.
 *
 * `awaited` are roots of which something was given back: who waits for them is woken after the refused ones have parked.
 */
export async function chargeTurns(
  session: Session,
  lanes: Lanes,
  payers: readonly Payer[],
  slotsHeld = false,
): Promise<{ readonly charged: ReadonlyMap<number, Charged>; readonly awaited: Iterable<number> }> {
  const levels = new Levels();
  levels.put(await readLevels(session, 'budgetRows', payers.map(rootOf)));
  const bound = payers.filter((payer) => levels.of(rootOf(payer)).size > 0);
  if (bound.length === 0) return { charged: new Map(), awaited: [] };
  const allowances = await allowancesOf(session, bound);
  const plan = (payer: Payer): Metered =>
    meter(levels.of(rootOf(payer)), allowances.get(payer.turn.task) ?? NO_UNITS, payer.turn);
  const isShort = (payer: Payer): boolean => {
    const { taken, short } = plan(payer);
    return short !== undefined || taken.size > 0;
  };
  const needy = bound.filter(isShort);
  if (needy.length > 0) {
    if (!slotsHeld) await lockSlots(session, lanes, needy);
    levels.put(await readLevels(session, 'budgetLock', needy.map(rootOf)));
  }
  const planned: [Payer, Metered][] = [];
  const crossed: number[] = [];
  for (const payer of bound) {
    const metered = plan(payer);
    planned.push([payer, metered]);
    if (levels.take(rootOf(payer), metered)) crossed.push(payer.turn.task);
  }
  await writeAllowances(session, planned);
  await levels.write(session);
  if (crossed.length > 0) await session.rows('meterWarn', [numbers(crossed)]);
  const charged = planned.map(([payer, { short }]) => {
    return [
      payer.turn.task,
      { news: newsOf(levels.of(rootOf(payer)), payer.turn, short !== undefined), short },
    ] as const;
  });
  return { charged: new Map(charged), awaited: levels.awaited };
}

/** A repeat is told what holds now. */
export async function repeatedCharge(session: Session, payer: Payer): Promise<Charged> {
  const levels = new Levels();
  levels.put(await readLevels(session, 'budgetRows', [rootOf(payer)]));
  const units = levels.of(rootOf(payer));
  return units.size === 0 ? FREE : { news: newsOf(units, payer.turn, false), short: undefined };
}

function newsOf(levels: ReadonlyMap<Unit, Level>, { draw = [], spend = [] }: Turn, waits: boolean): BudgetNews {
  const units = new Set([...draw, ...spend].map(({ unit }) => unit));
  const soft = [...levels].some(([unit, { told }]) => units.has(unit) && (told & WARNED) !== 0);
  return { ...(soft ? { soft } : {}), ...(waits ? { waits } : {}) };
}

/** What a task waits for whose draw was refused. */
export function waitFor(payer: Payer, unit: Unit): { readonly key: string; readonly channel: string } {
  return { key: budgetKey(unit), channel: budgetChannel(rootOf(payer)) };
}

/** What a turn owes to the budget when its end or park is written. */
export interface Debt {
  readonly root: number;
  readonly taken: ReadonlyMap<Unit, number>;
  readonly news: BudgetNews;
}

/**
 * Settles what turns have spent that may end or park, before they do. Only their own rows are written. What they owe beyond their
 * allowances is paid at the end, because nothing is waited for under the lock of a budget. By task; none without a budget.
 */
export async function settleSpends(session: Session, payers: readonly Payer[]): Promise<ReadonlyMap<number, Debt>> {
  const levels = new Levels();
  levels.put(await readLevels(session, 'budgetRows', payers.map(rootOf)));
  const bound = payers.filter((payer) => levels.of(rootOf(payer)).size > 0);
  if (bound.length === 0) return new Map();
  const allowances = await allowancesOf(session, bound);
  const planned: [Payer, Metered][] = [];
  const crossed: number[] = [];
  for (const payer of bound) {
    const { task, spend } = payer.turn;
    const metered = meter(levels.of(rootOf(payer)), allowances.get(task) ?? NO_UNITS, { spend });
    planned.push([payer, metered]);
    if (levels.take(rootOf(payer), metered)) crossed.push(task);
  }
  await writeAllowances(session, planned);
  // The event comes before that of the end. Of two transactions that cross at once both tell.
  if (crossed.length > 0) await session.rows('meterWarn', [numbers(crossed)]);
  const debts = planned.map(([payer, { taken }]): [number, Debt] => {
    const root = rootOf(payer);
    return [payer.turn.task, { root, taken, news: newsOf(levels.of(root), payer.turn, false) }];
  });
  return new Map(debts);
}

export async function payDebts(session: Session, debts: Iterable<Debt>): Promise<void> {
  const owed = [...debts].filter(({ taken }) => taken.size > 0);
  if (owed.length === 0) return;
  const levels = new Levels();
  levels.put(
    await readLevels(
      session,
      'budgetLock',
      owed.map(({ root }) => root),
    ),
  );
  for (const { root, taken } of owed) levels.take(root, { taken });
  await levels.write(session);
}

/**
 * Metered tasks no longer run: what they were granted and have not spent is given back, of those that were cut off without what they had
 * reserved, and those that wait for it are woken. The last step of a transaction.
 */
export async function giveBackAll(
  session: Session,
  tasks: readonly number[],
  woken: Woken,
  isCut: (task: number) => boolean = () => false,
): Promise<void> {
  if (tasks.length === 0) return;
  const rows = await readAllowances(session, tasks);
  const rootOfTask = new Map(rows.map(({ task, root }) => [task, root]));
  const left = [...byTask(rows)].map(([task, units]) => ({
    task,
    root: rootOfTask.get(task) as number,
    metered: leave(units, isCut(task)),
  }));
  await putAllowances(session, left);
  const given = left.filter(({ metered }) => metered.taken.size > 0);
  if (given.length === 0) return;
  const levels = new Levels();
  levels.put(
    await readLevels(
      session,
      'budgetLock',
      given.map(({ root }) => root),
    ),
  );
  for (const { root, metered } of given) levels.take(root, metered);
  await levels.write(session);
  await wakeAwaiting(session, levels.awaited, woken);
}

/** The row of the budget is locked, as by all that park on its channel: none of them is missed. */
export async function wakeAwaiting(session: Session, roots: Iterable<number>, woken: Woken): Promise<void> {
  const signals = [...roots].map((root) => ({ channel: budgetChannel(root), body: 'null', broadcast: true }));
  if (signals.length === 0) return;
  const delivery = new Delivery(session, signals);
  await delivery.send([...signals.keys()]);
  for (const lane of delivery.lanes) woken.lanes.add(lane);
}

async function lockSlots(session: Session, lanes: Lanes, payers: readonly Payer[]): Promise<void> {
  const wanted = payers.filter(({ turn }) => turn.draw !== undefined).map(({ lane }) => lane);
  await lanes.need(session, wanted);
  const counters = new Set(wanted.flatMap((lane) => (lanes.known(lane)?.rules?.uses ?? []).map((use) => use.counter)));
  if (counters.size > 0) await session.rows('slotLock', [numbers([...counters].sort((a, b) => a - b))]);
}

function readLevels(
  session: Session,
  statement: 'budgetRows' | 'budgetLock',
  roots: readonly number[],
): Promise<readonly LevelRow[]> {
  return session.all<LevelRow>(statement, [numbers([...new Set(roots)].sort((a, b) => a - b))]);
}

interface AllowanceRow extends Allowance {
  readonly task: number;
  readonly unit: number;
  readonly root: number;
}

function readAllowances(session: Session, tasks: readonly number[]): Promise<readonly AllowanceRow[]> {
  return session.all<AllowanceRow>('allowanceRows', [numbers([...new Set(tasks)])]);
}

/** Tasks that were never charged have none, and are not looked for. */
async function allowancesOf(session: Session, payers: readonly Payer[]): Promise<ReadonlyMap<number, Units>> {
  const tasks = payers.filter(({ flags }) => flags & METERED).map(({ turn }) => turn.task);
  return tasks.length === 0 ? new Map() : byTask(await readAllowances(session, tasks));
}

function byTask(rows: readonly AllowanceRow[]): ReadonlyMap<number, Units> {
  const tasks = new Map<number, Map<Unit, Allowance>>();
  for (const { task, unit, granted, spent, reserved } of rows) {
    const units = tasks.get(task) ?? new Map<Unit, Allowance>();
    units.set(unitOf(unit), { granted, spent, reserved });
    tasks.set(task, units);
  }
  return tasks;
}

async function writeAllowances(session: Session, planned: readonly (readonly [Payer, Metered])[]): Promise<void> {
  const fresh = planned.filter(([{ flags }, { allowances }]) => (flags & METERED) === 0 && allowances.size > 0);
  if (fresh.length > 0) await session.rows('meterTasks', [numbers(fresh.map(([{ turn }]) => turn.task))]);
  await putAllowances(
    session,
    planned.map(([payer, metered]) => ({ task: payer.turn.task, root: rootOf(payer), metered })),
  );
}

async function putAllowances(
  session: Session,
  changes: readonly { readonly task: number; readonly root: number; readonly metered: Metered }[],
): Promise<void> {
  const rows = changes.flatMap(({ task, root, metered }) =>
    [...metered.allowances].map(([unit, allowance]) => ({ task, root, unit: unitCode(unit), ...allowance })),
  );
  if (rows.length === 0) return;
  await session.rows('allowancePut', [
    numbers(rows.map(({ task }) => task)),
    numbers(rows.map(({ unit }) => unit)),
    numbers(rows.map(({ root }) => root)),
    numbers(rows.map(({ granted }) => granted)),
    numbers(rows.map(({ spent }) => spent)),
    numbers(rows.map(({ reserved }) => reserved)),
  ]);
}

/** In a transaction. */
export async function setBudget(
  session: Session,
  { root, unit, soft, hard }: BudgetChange,
  woken: Woken,
): Promise<BudgetRecord | undefined> {
  if (!(await isRoot(session, root))) return undefined;
  await session.rows('budgetAdd', [root, unitCode(unit)]);
  const levels = new Levels();
  levels.put(await readLevels(session, 'budgetLock', [root]));
  const was = levels.of(root).get(unit) as Level;
  const level = {
    soft: soft === undefined ? was.soft : (soft ?? undefined),
    hard: hard === undefined ? was.hard : (hard ?? undefined),
    taken: was.taken,
  };
  // A soft bound that is above what is taken again may be told of again.
  const told = isSoft(level) ? was.told & WARNED : 0;
  await session.rows('budgetPut', [root, unitCode(unit), level.soft ?? null, level.hard ?? null, told]);
  await wakeAwaiting(session, [root], woken);
  return (await getBudgets(session, root)).find((one) => one.unit === unit);
}

/** A task that moves between the two tables meanwhile is looked for again. */
async function isRoot(session: Session, root: number): Promise<boolean> {
  for (const statement of ['budgetRoot', 'budgetRootDone', 'budgetRoot'] as const) {
    if ((await session.rows(statement, [root])).length > 0) return true;
  }
  return false;
}

export async function getBudgets(session: Session, root: number): Promise<readonly BudgetRecord[]> {
  const levels = new Levels();
  levels.put(await readLevels(session, 'budgetRows', [root]));
  const units = levels.of(root);
  if (units.size === 0) return [];
  const sums = await session.all<{ unit: number; spent: number }>('allowanceSums', [root]);
  const waits = await session.all<{ key: string; n: number }>('budgetWaits', [budgetChannel(root)]);
  return [...units].map(([unit, { soft, hard, taken }]) => ({
    unit,
    soft,
    hard,
    taken,
    spent: sums.find((one) => one.unit === unitCode(unit))?.spent ?? 0,
    waiting: waits.find(({ key }) => key === budgetKey(unit))?.n ?? 0,
  }));
}
