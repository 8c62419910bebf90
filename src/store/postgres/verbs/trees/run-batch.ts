import { runColumns } from '../../../rows/run-rows.ts';
import type { NewDefinition, PushAnswer, RunPush, RunPushAnswer } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';
import { pushTasks } from '../queue/push.ts';
import { setBudget } from './budget.ts';
import { noneWoken } from './countdown.ts';
import { holdDefinition } from './run.ts';

/**
 * Several runs in one transaction: tasks without keys, each name once. Undefined: a name is taken, or a definition is not there, and nothing is
 * written. Definitions are held and names are taken in one order everywhere, so no two of these wait for each other.
 */
export async function pushRuns(
  session: Session,
  parts: PostgresParts,
  runs: readonly RunPush[],
  flushId: FlushId,
): Promise<readonly RunPushAnswer[] | undefined> {
  const answers = await once(session, 'runs', flushId, async () => {
    await session.raw('SAVEPOINT run');
    const made = await apply(session, parts, runs, flushId);
    if (made === null) await session.raw('ROLLBACK TO SAVEPOINT run');
    return made;
  });
  return answers ?? undefined;
}

async function apply(
  session: Session,
  parts: PostgresParts,
  runs: readonly RunPush[],
  flushId: FlushId,
): Promise<readonly RunPushAnswer[] | null> {
  for (const [hash, text] of definitionsOf(runs)) if (!(await holdDefinition(session, hash, text))) return null;
  const items = runs.map(({ task }) => task);
  const pushed = (await pushTasks(session, parts, flushId, items, { again: false })) as readonly (PushAnswer & {
    readonly ok: true;
  })[];
  for (const [i, { budgets = [] }] of runs.entries()) {
    for (const budget of budgets) await setBudget(session, { root: pushed[i]?.task as number, ...budget }, noneWoken());
  }
  const { name, kind, title, fingerprint, definition, forkedFrom, labels } = runColumns(runs.map(({ run }) => run));
  const added = await session.rows('runsAdd', [
    numbers(pushed.map(({ task }) => task)),
    numbers(pushed.map(({ createdAt }) => createdAt)),
    ...[name, kind, title, fingerprint, definition].map(texts),
    numbers(forkedFrom),
    texts(labels),
  ]);
  if (added.length < runs.length) return null;
  return pushed.map(({ task, createdAt, state }) => ({ kind: 'made', task, createdAt, state }));
}

/** By their hashes, in order, with the text of whoever brings it. */
function definitionsOf(runs: readonly RunPush[]): readonly (readonly [string, NewDefinition | undefined])[] {
  const texts = new Map<string, NewDefinition | undefined>();
  for (const { run, definition } of runs) {
    if (run.definition !== undefined) texts.set(run.definition, texts.get(run.definition) ?? definition);
  }
  return [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
}
