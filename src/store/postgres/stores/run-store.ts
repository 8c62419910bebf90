import type { RunPush, RunPushAnswer, RunStore } from '../../store.ts';
import { pick } from '../places.ts';
import type { AllocatedIds } from '../verbs/queue/push.ts';
import {
  findRun,
  findRuns,
  getDefinition,
  getRuns,
  listRuns,
  noteCancel,
  pushRun,
  putDefinitions,
} from '../verbs/trees/run.ts';
import { pushRuns } from '../verbs/trees/run-batch.ts';
import { needsAdmission } from './push-store.ts';
import type { StoreParts } from './store-parts.ts';

export function runStore(parts: StoreParts): RunStore {
  const { calls } = parts;
  /** What was committed, for a caller who sends it again after another one of the call has failed. */
  const made = new WeakMap<RunPush, RunPushAnswer>();
  return {
    definitionPut: ({ items }) => calls.run((session) => putDefinitions(session, items)),
    definitionGet: ({ hash }) => calls.run((session) => getDefinition(session, hash)),
    runPush: ({ runs }) => makeRuns(parts, runs, made),
    runGet: ({ tasks }) => calls.run((session) => getRuns(session, tasks)),
    runFind: ({ name }) => calls.run((session) => findRun(session, name)),
    runList: (query) => calls.run((session) => listRuns(session, query)),
    runNoteCancel: (note) => calls.run((session) => noteCancel(session, note)),
  };
}

/**
 * Runs without keys and without limits that may refuse them share one transaction. If a name of theirs is taken meanwhile, or a definition is
 * not there, each goes by itself, as all others do after them.
 */
async function makeRuns(
  parts: StoreParts,
  runs: readonly RunPush[],
  made: WeakMap<RunPush, RunPushAnswer>,
): Promise<readonly RunPushAnswer[]> {
  const { calls, hints } = parts;
  // A start that finds its run needs no transaction.
  const named = await calls.run((session) => findRuns(session, namesOf(runs)));
  const asksLimits = await needsAdmission(
    parts,
    runs.map(({ task }) => task),
  );
  const answers: (RunPushAnswer | undefined)[] = runs.map((push) => {
    const run = push.run.name === undefined ? undefined : named.get(push.run.name);
    return made.get(push) ?? (run && { kind: 'exists', run });
  });
  const put = (i: number, answer: RunPushAnswer): void => {
    made.set(runs[i] as RunPush, answer);
    answers[i] = answer;
  };
  const open = [...runs.keys()].filter((i) => answers[i] === undefined);
  const together = alike(pick(runs, open), ({ task }) => asksLimits(task)).map((at) => open[at] as number);
  if (together.length > 1) {
    const flushId = parts.dedup.next();
    const given = await calls.transaction((session) => pushRuns(session, parts, pick(runs, together), flushId));
    for (const [at, answer] of (given ?? []).entries()) put(together[at] as number, answer);
  }
  for (const i of open) {
    const push = runs[i] as RunPush;
    if (answers[i] === undefined) put(i, await makeRun(parts, push, asksLimits(push.task)));
  }
  const fresh = answers.flatMap((answer, i) => (answer?.kind === 'made' ? [{ i, ...answer }] : []));
  hints.pushed(
    fresh.map(({ i }) => (runs[i] as RunPush).task),
    fresh.map(({ task, createdAt, state }) => ({ ok: true, task, createdAt, state, fresh: true })),
  );
  return answers as RunPushAnswer[];
}

const namesOf = (runs: readonly RunPush[]): readonly string[] =>
  runs.flatMap(({ run: { name } }) => (name === undefined ? [] : [name]));

/** The places of those that nothing but their name can refuse, each name once. */
function alike(runs: readonly RunPush[], asks: (run: RunPush) => boolean): readonly number[] {
  const names = new Set<string>();
  return runs.flatMap((push, i) => {
    const { task, run } = push;
    if (task.op !== undefined || task.unique !== undefined || asks(push)) return [];
    if (run.name === undefined) return [i];
    if (names.has(run.name)) return [];
    names.add(run.name);
    return [i];
  });
}

function makeRun(parts: StoreParts, push: RunPush, asks: boolean): Promise<RunPushAnswer> {
  const flushId = parts.dedup.next();
  const allocated: AllocatedIds = [];
  return parts.calls.transaction((session, tried) =>
    pushRun(session, parts, { ...push, flushId, tried, allocated, asks }),
  );
}
