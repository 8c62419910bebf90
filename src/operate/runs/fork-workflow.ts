import { fault, isEngineError } from '../../core/errors.ts';
import type { TaskRecord } from '../../engine/records.ts';
import type { Run } from '../../engine/trees/runs.ts';
import {
  forkedInput,
  type Inherited,
  inheritedUpTo,
  placesIn,
  plainInput,
  recordedIn,
} from '../../flow/workflow/forked.ts';
import type { Recorded } from '../../flow/workflow/workflow-journal.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { changedEntries, type Fork, freshOf, HINT, over, START, tooLong } from './fork-parts.ts';
import { headsOf, readValues } from './journals.ts';
import { boundsOf } from './run-budgets.ts';
import { noStep } from './step-detail.ts';

const TASKS_AT_ONCE = 100;

/** Another run of the same workflow in code that has what this one had recorded up to a step, and runs the rest again. */
export async function forkWorkflow(
  snapshot: EngineSnapshot,
  run: Run,
  record: TaskRecord,
  { step, context, name, labels }: Fork,
): Promise<Run> {
  const { engine } = snapshot;
  const recorded = await recordedUpTo(snapshot, run, record, step);
  const input = changed(plainInput(JSON.parse(record.payload)), context);
  const [view] = await snapshot.shown([record.task]);
  const { placement, limits, fairness } = view ?? {};
  const timeout = await engine.timeoutOf(record.spec);
  const permissions = await engine.permissionsOf(record.spec);
  const starting = engine.runs.start({
    request: {
      queue: record.queue,
      handler: record.handler,
      ...(recorded.length === 0 ? { input } : { input: forkedInput(recorded, input), inherits: true }),
      priority: record.priority,
      maxAttempts: record.maxTries,
      ...(timeout === undefined ? {} : { timeout }),
      ...(placement === undefined ? {} : { placement }),
      ...(limits === undefined ? {} : { limits }),
      ...(fairness === undefined ? {} : { fairness }),
      ...(permissions === undefined ? {} : { permissions }),
    },
    run: {
      kind: 'workflow',
      title: run.title,
      forkedFrom: run.task,
      ...(name === undefined ? {} : { name }),
      labels: labels ?? run.labels,
    },
    budgets: await boundsOf(snapshot, run.task),
  });
  const started = await starting.catch((error: unknown) => {
    if (!isEngineError(error, 'TOO_LARGE')) throw error;
    const problem = `what the run ${run.id} had recorded by then is more than the input of a task holds`;
    throw fault('CONFLICT', { problem }, { hint: HINT, cause: error });
  });
  return freshOf(started, name);
}

/** `step`: the key of a result, or its place: `step:charge#0`. Without one the last result, of a completed run the one before. */
async function recordedUpTo(
  snapshot: EngineSnapshot,
  run: Run,
  record: TaskRecord,
  step: string | undefined,
): Promise<readonly Recorded[]> {
  if (step === START) return [];
  const journal = [...recordedIn(record.payload), ...(await journalOf(snapshot, run))];
  const places = placesIn(journal);
  const last = run.state === 'completed' ? places.at(-2) : places.at(-1);
  const chosen = step === undefined ? last : places.find(({ key, place }) => key === step || place === step);
  if (chosen === undefined && step !== undefined) throw noStep(run, step);
  if (chosen === undefined) return [];
  if (step !== undefined && run.state === 'completed' && chosen === places.at(-1)) throw over(run);
  return resultsIn(snapshot, run, inheritedUpTo(journal, chosen.key));
}

async function journalOf({ engine }: EngineSnapshot, run: Run): Promise<readonly Recorded[]> {
  const { heads, whole } = await headsOf(engine, [run.task]);
  const values = whole
    ? await readValues(
        engine,
        run.task,
        heads.filter(({ ref }) => ref === undefined),
      )
    : undefined;
  if (values === undefined) throw tooLong(run);
  const children = heads.flatMap(({ key, ref }) =>
    ref === undefined ? [] : [{ key, value: JSON.stringify({ task: ref }), child: true }],
  );
  return [...values, ...children];
}

/** With what the children gave. */
async function resultsIn(
  { engine }: EngineSnapshot,
  run: Run,
  inherited: readonly Inherited[],
): Promise<readonly Recorded[]> {
  const children = inherited.flatMap((one) => ('child' in one && typeof one.child === 'number' ? [one.child] : []));
  const results = new Map<number, string>();
  for (let from = 0; from < children.length; from += TASKS_AT_ONCE) {
    const records = await engine.store.taskGet({ tasks: children.slice(from, from + TASKS_AT_ONCE) });
    for (const one of records) if (one?.state === 'completed') results.set(one.task, one.result ?? 'null');
  }
  return inherited.map((one) => {
    if ('value' in one) return one;
    const value = results.get(one.child);
    if (value !== undefined) return { key: one.key, value };
    const problem = `what the child gave is no longer kept that the run ${run.id} had by then`;
    throw fault('CONFLICT', { problem }, { hint: HINT });
  });
}

/** The changes are those of the entries of the input. */
function changed(input: unknown, changes: Fork['context']): unknown {
  if (changes === undefined || Object.keys(changes).length === 0) return input;
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return Object.fromEntries(changedEntries(input as Readonly<Record<string, unknown>>, changes));
  }
  throw fault('INVALID_INPUT', {
    field: 'context',
    problem: 'the input of this run has no entries that could be changed',
  });
}
