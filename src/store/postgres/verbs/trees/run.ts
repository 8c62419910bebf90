import { isFinal } from '../../../../core/task/task.ts';
import { type RunRow, runOf, runsLooked, runValues, TASK_KIND, USE_MS } from '../../../rows/run-rows.ts';
import type {
  DefinitionRecord,
  NewDefinition,
  NewTask,
  NoteAnswer,
  PushAnswer,
  RunPage,
  RunPush,
  RunPushAnswer,
  RunQuery,
  RunRecord,
} from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import type { FlushId } from '../../push-dedup.ts';
import { admit } from '../queue/admit.ts';
import { once } from '../queue/once.ts';
import { type AllocatedIds, pushedBefore, pushKeyed } from '../queue/push.ts';
import { setBudget } from './budget.ts';
import { noneWoken } from './countdown.ts';

/** A name or a definition may change hands between two statements. More often than this means that something is wrong. */
const LOOKS = 10;
/** Runs whose tasks are read in one statement. */
const PAGE = 500;

export async function putDefinitions(session: Session, items: readonly NewDefinition[]): Promise<void> {
  const all = [...new Map(items.map((item) => [item.hash, item])).values()];
  if (all.length === 0) return;
  await session.rows('definitionPut', [
    texts(all.map(({ hash }) => hash)),
    texts(all.map(({ kind }) => kind)),
    texts(all.map(({ body }) => body)),
  ]);
}

export async function getDefinition(session: Session, hash: string): Promise<DefinitionRecord | undefined> {
  const [row] = await session.all<NewDefinition & { used_at: number }>('definitionGet', [hash]);
  return row && { hash: row.hash, kind: row.kind, body: row.body, usedAt: row.used_at };
}

export interface PushedRun extends RunPush {
  readonly flushId: FlushId;
  readonly tried: Try;
  readonly allocated: AllocatedIds;
  /** Its limits may refuse it. */
  readonly asks: boolean;
}

/**
 * In a transaction. The name is taken last: who has taken it waits for nothing, so no two pushes wait for each other. A
 * loser undoes its push, and reads the run of the winner in a second statement.
 */
export function pushRun(session: Session, parts: PostgresParts, push: PushedRun): Promise<RunPushAnswer> {
  return once(session, 'run', push.flushId, async () => {
    for (let look = 0; look < LOOKS; look++) {
      await session.raw('SAVEPOINT run');
      const answer = await apply(session, parts, push);
      if (answer?.kind === 'made') return answer;
      await session.raw('ROLLBACK TO SAVEPOINT run');
      if (answer !== undefined) return answer;
      const name = push.run.name as string;
      const run = await findRun(session, name);
      if (run !== undefined) return { kind: 'exists', run };
      await session.rows('runFree', [name]);
    }
    throw new Error('the name of a run is never free, and never taken');
  });
}

/** Undefined: the name is taken. */
async function apply(
  session: Session,
  parts: PostgresParts,
  { task: item, run, definition, budgets = [], ...push }: PushedRun,
): Promise<RunPushAnswer | undefined> {
  if (run.definition !== undefined && !(await holdDefinition(session, run.definition, definition))) {
    return { kind: 'unknown', definition: run.definition };
  }
  const answer = await pushTask(session, parts, item, push);
  if (!answer.ok) return { kind: 'refused', answer };
  const { task, createdAt, state } = answer;
  if (!answer.fresh) {
    const [known] = await getRuns(session, [task]);
    if (known !== undefined) return { kind: 'exists', run: known };
    return { kind: 'refused', answer: { ok: false, conflict: task, byOp: true } };
  }
  for (const budget of budgets) await setBudget(session, { root: task, ...budget }, noneWoken());
  const added = await session.rows('runAdd', [task, createdAt, ...runValues(run)]);
  return added.length === 0 ? undefined : { kind: 'made', task, createdAt, state };
}

async function pushTask(
  session: Session,
  parts: PostgresParts,
  item: NewTask,
  { flushId, tried, allocated, asks }: Omit<PushedRun, keyof RunPush>,
): Promise<PushAnswer> {
  if (asks) {
    const before = await pushedBefore(session, parts, flushId, item, tried, allocated);
    if (before !== undefined) return before;
    const refused = await admit(session, parts.lanes.known(item.lane)?.rules?.uses ?? [], tried);
    if (refused !== undefined) return { ok: false, ...refused };
  }
  const [answer] = await pushKeyed(session, parts, flushId, [item], tried, allocated);
  return answer as PushAnswer;
}

/** False: it is not there, and there is no text to put. */
export async function holdDefinition(
  session: Session,
  hash: string,
  text: NewDefinition | undefined,
): Promise<boolean> {
  for (let look = 0; look < LOOKS; look++) {
    const [held] = await session.all<{ old: boolean }>('definitionHold', [hash, USE_MS]);
    if (held?.old === true) await session.rows('definitionUse', [hash]);
    if (held !== undefined) return true;
    if (text === undefined) return false;
    await session.rows('definitionAdd', [text.hash, text.kind, text.body]);
  }
  throw new Error('a definition is never there');
}

export async function getRuns(session: Session, tasks: readonly number[]): Promise<readonly (RunRecord | undefined)[]> {
  const rows = await session.all<RunRow>('runGet', [numbers([...new Set(tasks)])]);
  const found = new Map(rows.map((row) => [row.id, runOf(row)]));
  return tasks.map((task) => found.get(task));
}

export async function findRun(session: Session, name: string): Promise<RunRecord | undefined> {
  return (await findRuns(session, [name])).get(name);
}

export async function findRuns(session: Session, names: readonly string[]): Promise<ReadonlyMap<string, RunRecord>> {
  if (names.length === 0) return new Map();
  const rows = await session.rows('runFind', [texts([...new Set(names)])]);
  if (rows.length === 0) return new Map();
  const runs = await getRuns(
    session,
    rows.map(([task]) => task as number),
  );
  return new Map(runs.flatMap((run) => (run?.name === undefined ? [] : [[run.name, run]])));
}

/** Rows of runs come first, those of their tasks by their numbers: a lookup in `done` asks every day. */
export async function listRuns(session: Session, query: RunQuery): Promise<RunPage> {
  const { before = Number.MAX_SAFE_INTEGER, limit, kind, states, name, title } = query;
  const wanted = states === undefined ? undefined : new Set(states);
  const look = runsLooked(query);
  const runs: RunRecord[] = [];
  let at = before;
  for (let left = look; left > 0; left -= PAGE) {
    const size = Math.min(PAGE, left);
    const rows = await session.all<{ task: number; fits: boolean }>('runList', [
      at,
      size,
      kind ?? null,
      name ?? null,
      title ?? null,
    ]);
    const fitting = rows.filter(({ fits }) => fits).map(({ task }) => task);
    for (const run of fitting.length === 0 ? [] : await getRuns(session, fitting)) {
      if (run === undefined || wanted?.has(run.state) === false) continue;
      runs.push(run);
      if (runs.length === limit) return { runs, next: run.task };
    }
    if (rows.length < size) return { runs, next: undefined };
    at = (rows.at(-1) as { task: number }).task;
  }
  return { runs, next: at };
}

/** A root that has no run row gets one, so that the reason has a place. */
export async function noteCancel(
  session: Session,
  { task, why, by }: { readonly task: number; readonly why?: string | undefined; readonly by?: string | undefined },
): Promise<NoteAnswer> {
  for (let look = 0; look < LOOKS; look++) {
    const noted = await session.rows('runNote', [task, TASK_KIND, why ?? null, by ?? null]);
    if (noted.length > 0) return 'noted';
    const [run] = await getRuns(session, [task]);
    if (run === undefined || run.root !== undefined) return 'unknown';
    if (isFinal(run.state)) return 'finished';
    if (run.cancelNote !== undefined) return 'kept';
    // It had ended, and was revived between the two statements.
  }
  throw new Error('a run ends and is revived again and again');
}
