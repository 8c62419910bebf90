import type { Then, Turn, TurnAnswer } from '../../../store.ts';
import { isRepeat } from '../../../turns.ts';
import { inOrder, numbers } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { Lanes } from '../../lanes.ts';
import { settleTasks } from '../queue/settle.ts';
import {
  type Charged,
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
import type { Woken } from './countdown.ts';
import { findEntries } from './journal.ts';
import { parkForBudget } from './park.ts';
import { takePlain } from './turn.ts';

interface Held extends Omit<Payer, 'turn'> {
  readonly id: number;
  readonly asked: boolean;
}

/**
 * Turns with values that go on, and draw or have spent, in one transaction: of many that run short, the budget is changed once. No task
 * is named twice. It has no answer for tasks of which no such attempt runs.
 */
export async function takeMetered(
  session: Session,
  lanes: Lanes,
  turns: readonly Turn[],
  woken: Woken,
): Promise<readonly (TurnAnswer | undefined)[]> {
  const payers = await lockPayers(session, turns);
  if (payers.length === 0) return turns.map(() => undefined);
  const { plain, isAgain } = await writeEntries(session, payers);
  const { charged, awaited } = await chargeTurns(
    session,
    lanes,
    payers.filter((payer) => !isAgain(payer)),
  );
  const news = new Map<number, Charged>(charged);
  for (const payer of payers.filter(isAgain)) news.set(payer.turn.task, await repeatedCharge(session, payer));
  const short = payers.filter(({ id }) => news.get(id)?.short !== undefined);
  await parkShort(session, short, news);
  await wakeAwaiting(session, awaited, woken);
  await endAsked(session, lanes, short, woken);
  const answers = new Map(
    payers.map(({ id, asked }, i) => [id, answerOf(plain[i] as TurnAnswer, news.get(id) ?? FREE, asked)]),
  );
  return turns.map(({ task }) => answers.get(task));
}

/** Turns with values that have spent and end, in one transaction: the budget is changed once. As above otherwise. */
export async function endMetered(
  session: Session,
  lanes: Lanes,
  turns: readonly Turn[],
  woken: Woken,
): Promise<readonly (TurnAnswer | undefined)[]> {
  const payers = await lockPayers(session, turns);
  if (payers.length === 0) return turns.map(() => undefined);
  const { plain, isAgain } = await writeEntries(session, payers);
  const spent = payers.filter((payer) => !isAgain(payer));
  const debts = spent.length === 0 ? new Map<number, Debt>() : await settleSpends(session, spent);
  const ends = payers.map(({ turn: { task, attempt, then } }) => {
    const { to, reason, result } = then as Then & { readonly go: 'end' };
    return { task, attempt, to, reason, result };
  });
  await settleTasks(session, lanes, ends, woken);
  await payDebts(session, debts.values());
  const answers = new Map(
    payers.map(({ id }, i): [number, TurnAnswer] => {
      const answer = answerOf(plain[i] as TurnAnswer, { ...FREE, news: debts.get(id)?.news }, false);
      return [id, answer.kind === 'done' ? { ...answer, went: 'ended' } : answer];
    }),
  );
  return turns.map(({ task }) => answers.get(task));
}

/** The turns whose attempts run, in the order of their tasks, which are locked. */
async function lockPayers(session: Session, turns: readonly Turn[]): Promise<readonly (Payer & Held)[]> {
  const ordered = inOrder(turns);
  const rows = await session.all<Held>('meterLook', [
    numbers(ordered.map(({ task }) => task)),
    numbers(ordered.map(({ attempt }) => attempt)),
  ]);
  const held = new Map(rows.map((row) => [row.id, row]));
  return ordered.flatMap((turn) => {
    const row = held.get(turn.task);
    return row === undefined ? [] : [{ ...row, turn }];
  });
}

async function writeEntries(
  session: Session,
  payers: readonly Payer[],
): Promise<{ readonly plain: readonly TurnAnswer[]; readonly isAgain: (payer: Payer) => boolean }> {
  const turns = payers.map(({ turn }) => turn);
  const known = await findEntries(session, turns);
  const plain = await takePlain(session, turns);
  return { plain, isAgain: ({ turn }) => isRepeat(turn, ({ key }) => known(turn.task, key)) };
}

async function parkShort(
  session: Session,
  short: readonly (Payer & Held)[],
  charged: ReadonlyMap<number, Charged>,
): Promise<void> {
  const parks = short.flatMap((payer) => {
    const { task, attempt } = payer.turn;
    const unit = charged.get(task)?.short;
    return payer.asked || unit === undefined ? [] : [{ task, attempt, ...waitFor(payer, unit) }];
  });
  if (parks.length > 0) await parkForBudget(session, parks);
}

/** A task that was asked to stop does not wait. */
async function endAsked(session: Session, lanes: Lanes, short: readonly (Payer & Held)[], woken: Woken): Promise<void> {
  const ends = short.flatMap(({ asked, turn: { task, attempt } }) => {
    return asked ? [{ task, attempt, to: 'cancelled', reason: 'requested' } as const] : [];
  });
  if (ends.length > 0) await settleTasks(session, lanes, ends, woken);
}

function answerOf(plain: TurnAnswer, { news, short }: Charged, asked: boolean): TurnAnswer {
  if (plain.kind !== 'done') return plain;
  const went = short === undefined ? plain.went : asked ? 'cancelled' : 'parked';
  return { ...plain, went, ...(news === undefined ? {} : { budget: news }) };
}
