import { budgetKey } from '../../../src/core/limits/budget.ts';
import type { Lease } from '../../../src/core/task/lease.ts';
import type {
  EntryAnswer,
  GraphAnswer,
  GraphTask,
  NewChild,
  NewEntry,
  ReturnItem,
  SettleAnswer,
  SettleItem,
  Turn,
  TurnAnswer,
  TurnOutcome,
} from '../../../src/store/store.ts';
import type { Board, Known } from '../board.ts';
import type { Gate } from '../gates.ts';
import { must } from '../trace.ts';
import type { BudgetModel } from './budget-model.ts';
import type { JournalModel } from './journal-model.ts';
import type { PushModel } from './push-model.ts';
import type { WaitModel } from './wait-model.ts';

type Done = TurnAnswer & { readonly kind: 'done' };

/** How attempts end, by whatever call. */
interface Ends {
  settled(item: SettleItem, answer: SettleAnswer): void;
  returned(item: ReturnItem, answer: SettleAnswer): void;
}

interface Parts {
  readonly board: Board;
  readonly budgets: BudgetModel;
  readonly journal: JournalModel;
  readonly pushes: PushModel;
  readonly waits: WaitModel;
  readonly ends: Ends;
}

/** Turns, taken apart: entries, births, signals, and how the attempt went on. What is not answered as done has done nothing. */
export class TurnModel {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** What only remembers comes before what others can see. */
  took(turns: readonly Turn[], answers: readonly TurnAnswer[]): void {
    for (const plain of [true, false]) {
      for (const [i, turn] of turns.entries()) {
        if (isPlain(turn) === plain) this.#took(turn, answers[i] as TurnAnswer);
      }
    }
  }

  #took(turn: Turn, answer: TurnAnswer): void {
    const { board, journal } = this.#parts;
    const is = (): string => `the turn ${sayTurn(turn)} was answered ${JSON.stringify(answer)}`;
    const known = board.held(turn.task, turn.attempt);
    if (known === undefined) {
      this.#tookLate(turn, answer, is);
      return;
    }
    const { then } = turn;
    if (then.go === 'park' && known.wait?.gen === turn.attempt && known.wait.turn > (then.nth ?? 0)) {
      must(answer.kind === 'lost', 'wait', () => `${is()} after a later one`);
      board.gates.reach('late park refused');
      return;
    }
    if (known.cancelRequested && this.#begins(turn)) {
      this.#stopped(turn, known, answer, is);
      return;
    }
    const fresh = turn.entries.filter((entry) => journal.get(turn.task, entry.key) === undefined);
    const metered = turn.draw !== undefined || turn.spend !== undefined;
    const charged = metered && !(turn.entries.length > 0 && this.#wroteAll(turn));
    if (!this.#bore(turn, fresh.filter(isChild), answer, is)) return;
    must(answer.kind === 'done', 'I5', is);
    must(answer.cancelRequested === known.cancelRequested, 'I14', is);
    // A draw that is refused to a task that was asked to stop ends it, and nothing of it counts.
    if (turn.draw !== undefined && known.cancelRequested && answer.went === 'cancelled') {
      this.#stopped(turn, known, answer, is);
      return;
    }
    const refused = answer.budget?.waits === true;
    if (charged) this.#parts.budgets.charged(turn, refused);
    for (const [i, entry] of turn.entries.entries()) this.#wrote(turn, entry, answer.entries[i], fresh.includes(entry));
    journal.wrote(turn, turn.logs);
    this.#went(turn, known, answer, is);
  }

  /** The attempt runs no more: nothing was written, and only the turn that ended it is known again. */
  #tookLate(turn: Turn, answer: TurnAnswer, is: () => string): void {
    const { board, journal } = this.#parts;
    const went = this.#wentBefore(turn);
    if (went === undefined) {
      must(answer.kind === 'lost', 'I2', is);
      for (const gate of gatesOf(turn, STALE)) board.gates.reach(gate);
      return;
    }
    must(answer.kind === 'done' && answer.went === went, 'I2', is);
    must(answer.cancelRequested === (went === 'cancelled'), 'I14', is);
    const due = turn.entries.map((entry): EntryAnswer => journal.told(turn, entry) ?? { kind: 'none' });
    must(
      JSON.stringify(answer.entries) === JSON.stringify(due),
      'memory',
      () => `${is()}, due was ${JSON.stringify(due)}`,
    );
    for (const gate of gatesOf(turn, REPEATED)) board.gates.reach(gate);
  }

  #wentBefore(turn: Turn): TurnOutcome | undefined {
    const { task, attempt, then } = turn;
    const { board } = this.#parts;
    const known = board.tasks.get(task);
    if (known === undefined || board.isPruned(task)) return undefined;
    if (then.go === 'on') return this.#waitsForBudget(turn, known) ? 'parked' : undefined;
    const ended = known.endedBy.get(attempt);
    if (then.go === 'park' && known.parkedBy.has(attempt)) return 'parked';
    if (then.go === 'end' && ended === then.to) return 'ended';
    if (then.go === 'back' && known.wentBack.get(attempt) === then.change) return 'back';
    return ended === 'cancelled' ? 'cancelled' : undefined;
  }

  /** This attempt has written all of it: it is a repeat, whatever it draws. */
  #wroteAll({ task, attempt, entries }: Turn): boolean {
    return entries.every(({ key }) => this.#parts.journal.get(task, key)?.attempt === attempt);
  }

  /** This attempt has ended with this draw, which was refused. */
  #waitsForBudget(turn: Turn, { parkedBy, wait }: Known): boolean {
    const { attempt, draw = [] } = turn;
    if (!parkedBy.has(attempt) || wait?.gen !== attempt || !this.#wroteAll(turn)) return false;
    return draw.some(({ unit }) => wait.key === budgetKey(unit));
  }

  /** It would wait, or do something that it has not done. */
  #begins({ task, entries, then }: Turn): boolean {
    const { journal } = this.#parts;
    return then.go === 'park' || entries.some(({ key, kind }) => acts(kind) && journal.get(task, key) === undefined);
  }

  #stopped(turn: Turn, known: Known, answer: TurnAnswer, is: () => string): void {
    const { board, journal } = this.#parts;
    must(answer.kind === 'done' && answer.went === 'cancelled' && answer.cancelRequested, 'I14', is);
    for (const [i, entry] of turn.entries.entries()) {
      if ('value' in entry) journal.put(turn, entry, answer.entries[i]);
      else {
        const due = journal.told(turn, entry) ?? { kind: 'none' };
        must(JSON.stringify(answer.entries[i]) === JSON.stringify(due), 'I14', is);
      }
    }
    journal.wrote(turn, turn.logs);
    known.endedBy.set(turn.attempt, 'cancelled');
    this.#parts.budgets.cut(turn, 'given up');
    board.end(turn.task, 'cancelled');
    for (const gate of gatesOf(turn, STOPPED)) board.gates.reach(gate);
  }

  /** False: it was refused, and rightly. */
  #bore(turn: Turn, children: readonly NewChild[], answer: TurnAnswer, is: () => string): boolean {
    if (children.length === 0) return true;
    const { board, pushes } = this.#parts;
    must(answer.kind !== 'lost', 'I5', is);
    const items = this.#graphOf(turn, children);
    pushes.born(turn.task, items, bornAs(turn, children, answer, is));
    if (answer.kind === 'refused') {
      board.gates.reach('conflict' in answer.why ? 'birth refused for a key' : 'birth refused for a task that is gone');
    }
    return answer.kind === 'done';
  }

  /** Children that wait for others: of this turn by their places, of earlier ones by their numbers. */
  #graphOf({ task: parent }: Turn, children: readonly NewChild[]): readonly GraphTask[] {
    const { journal } = this.#parts;
    return children.map(({ task, after = [], afterFailure = 'cancel' }) => ({
      ...task,
      afterFailure,
      after: after.map(({ task: up, child = '', optional }) => {
        const item = children.findIndex(({ key }) => key === child);
        if (up === undefined && item >= 0) return { item, optional };
        return { task: up ?? journal.get(parent, child)?.ref ?? 0, optional };
      }),
    }));
  }

  #wrote(turn: Turn, entry: NewEntry, answer: EntryAnswer | undefined, fresh: boolean): void {
    const { journal, waits, board } = this.#parts;
    if ('value' in entry) {
      journal.put(turn, entry, answer);
      return;
    }
    const is = (): string => `${entry.key} of ${turn.task}#${turn.attempt} was answered ${JSON.stringify(answer)}`;
    if (!fresh) {
      const due = JSON.stringify(journal.told(turn, entry));
      must(JSON.stringify(answer) === due, 'memory', () => `${is()}, due was ${due}`);
      board.gates.reach(entry.kind === 'child' ? 'child was there already' : 'signal was sent already');
      return;
    }
    if (entry.kind === 'signal') {
      must(answer?.kind === 'stored', 'signal', is);
      journal.add(turn, entry, {});
      waits.delivered(entry);
      return;
    }
    must(answer?.kind === 'child', 'tree', is);
    must(!answer.fresh || answer.createdAt === board.wall, 'tree', is);
    journal.add(turn, entry, { ref: answer.task, value: String(answer.createdAt) });
  }

  #went(turn: Turn, known: Known, { went, body, entries, budget }: Done, is: () => string): void {
    const { budgets, waits, ends } = this.#parts;
    const { task, attempt, then } = turn;
    switch (then.go) {
      case 'on': {
        if (went !== 'parked' || budget?.waits !== true) must(went === 'on', 'I5', is);
        else {
          const root = known.root ?? task;
          const short = turn.draw?.find((one) => budgets.hard(root, one.unit) !== undefined);
          must(short !== undefined, 'budget', is);
          waits.parkedForBudget(turn, known, root, short.unit);
        }
        return;
      }
      case 'park': {
        const children = then.children?.map((one) => (typeof one === 'number' ? one : childOf(turn, entries, one)));
        waits.parked({ ...then, task, attempt, children }, known, { went, body }, is);
        return;
      }
      case 'end': {
        must(went === 'ended', 'I5', is);
        const { go: _, ...end } = then;
        ends.settled({ task, attempt, ...end }, 'done');
        return;
      }
      case 'back': {
        must(went === 'back' || went === 'cancelled', 'I5', is);
        const { go: _, ...back } = then;
        ends.returned({ task, attempt, ...back }, went === 'back' ? 'done' : 'cancelled');
        return;
      }
    }
  }
}

const isChild = (entry: NewEntry): entry is NewChild => entry.kind === 'child';
const acts = (kind: NewEntry['kind']): boolean => kind === 'child' || kind === 'signal';
const isPlain = ({ entries, then }: Turn): boolean => then.go === 'on' && !entries.some(({ kind }) => acts(kind));

/** The answer as a graph's: a turn bears its children as one. */
function bornAs(turn: Turn, children: readonly NewChild[], answer: TurnAnswer, is: () => string): GraphAnswer {
  if (answer.kind === 'done') {
    const tasks = children.map((child) => {
      const born = answer.entries[turn.entries.indexOf(child)];
      must(born?.kind === 'child', 'tree', is);
      return { ...born, ok: true as const };
    });
    return { ok: true, tasks };
  }
  must(answer.kind === 'refused' && !('limit' in answer.why) && !('circle' in answer.why), 'I5', is);
  const item = children.findIndex(({ key }) => key === answer.key);
  must(item >= 0, 'I5', is);
  return 'unknown' in answer.why
    ? { ok: false, unknown: answer.why.unknown }
    : { ok: false, conflict: answer.why.conflict, item };
}

function childOf({ entries }: Turn, answers: readonly EntryAnswer[], key: string): number {
  const answer = answers[entries.findIndex((entry) => entry.key === key)];
  return answer?.kind === 'child' ? answer.task : 0;
}

/** What a turn says, and the gate of each part. */
interface PartGates {
  readonly value: Gate;
  readonly child: Gate;
  readonly signal: Gate;
  readonly park: Gate;
  readonly end: Gate;
}

const STALE: PartGates = {
  value: 'stale value refused',
  child: 'stale birth refused',
  signal: 'stale signal of a turn refused',
  park: 'stale park refused',
  end: 'stale end of a turn refused',
};
const REPEATED: PartGates = {
  value: 'value repeated with the end of its attempt',
  child: 'birth repeated with the end of its attempt',
  signal: 'signal repeated with the end of its attempt',
  park: 'park repeated after a lost answer',
  end: 'ending turn repeated after a lost answer',
};
const STOPPED: PartGates = {
  value: 'value kept of a task that was asked to stop',
  child: 'cancelled instead of born',
  signal: 'cancelled instead of signalled',
  park: 'cancelled instead of parked',
  end: 'cancelled instead of ended with a birth or a signal',
};

function gatesOf({ entries, then }: Turn, gates: PartGates): readonly Gate[] {
  const parts = new Set<Gate>(
    entries.map(({ kind }) => (kind === 'child' ? gates.child : kind === 'signal' ? gates.signal : gates.value)),
  );
  if (then.go === 'park') parts.add(gates.park);
  else if (then.go !== 'on') parts.add(gates.end);
  return [...parts];
}

/** As a person reads it. */
export function sayTurn({ task, attempt, entries, then }: Lease & Pick<Turn, 'entries' | 'then'>): string {
  const said = entries.map((entry) => `${entry.kind} ${entry.key}`).join(', ');
  const { go, ...how } = then;
  return `${task}#${attempt} [${said}] ${go} ${JSON.stringify(how)}`;
}
