import { fault } from '../../core/errors.ts';
import type { JournalEntry, JournalHead, RunRecord, TaskRecord } from '../../engine/records.ts';
import type { Run } from '../../engine/trees/runs.ts';
import { isStepKey, type StepEntry } from '../../flow/machine/history/run-history.ts';
import type { RunStepDetailView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { graphNodes } from './graph-nodes.ts';
import { headsOf, snapshotAt, stepsOf } from './journals.ts';
import { payloadOf } from './machine-definition.ts';
import { barsOf, runsBy } from './steps.ts';

/** One step with all that is kept of it. */
export async function stepDetail(
  snapshot: EngineSnapshot,
  run: Run,
  { task, key }: { readonly task: number; readonly key: string },
): Promise<RunStepDetailView> {
  const { engine } = snapshot;
  const member = await memberOf(snapshot, run, task);
  const [entry] = await engine.store.journalEntries({ task, keys: [key] });
  if (entry === undefined) throw noStep(run, key);
  const children = await runsBy(snapshot, entry.ref === undefined ? [] : [entry.ref]);
  const [bar] = barsOf(snapshot, run, member, [headOf(task, entry)], {
    children,
    nodes: await graphNodes(snapshot, run),
  });
  if (bar === undefined) throw noStep(run, key);
  return { ...bar, ...(await contentOf(snapshot, task, entry)) };
}

/** A task of the tree of this run; refused for any other. */
export async function memberOf(snapshot: EngineSnapshot, run: Run, task: number): Promise<RunRecord> {
  const record = (await runsBy(snapshot, [task])).get(task);
  if (record !== undefined && (record.root ?? record.task) === (run.root ?? run.task)) return record;
  throw fault(
    'NOT_FOUND',
    { kind: 'task', id: `${task} of the run ${run.id}` },
    { hint: 'The task belongs to another run, or is no longer kept.' },
  );
}

export function noStep(run: Run, key: string): Error {
  return fault(
    'NOT_FOUND',
    { kind: 'step', id: `${JSON.stringify(key.slice(0, 80))} of the run ${run.id}` },
    { hint: `"leasehold runs show ${run.id}" lists the steps.` },
  );
}

async function contentOf(
  snapshot: EngineSnapshot,
  task: number,
  { key, kind, value, ref }: JournalEntry,
): Promise<Partial<RunStepDetailView>> {
  if (kind === 'child' && ref !== undefined) return childOf(await snapshot.engine.get(ref));
  const stored: unknown = value === undefined ? undefined : JSON.parse(value);
  if (!isStepKey(key)) return stored === undefined ? {} : { out: stored, value: stored };
  const record = await snapshot.engine.get(task);
  const payload = record === undefined ? undefined : payloadOf(record);
  if (payload === undefined) return { out: stored, value: stored };
  // Whatever a worker of another host has written there.
  if (typeof stored !== 'object' || stored === null) return { value: stored };
  const { given, out, n } = stored as Partial<StepEntry>;
  const { heads } = await headsOf(snapshot.engine, [task]);
  const steps = await stepsOf(snapshot.engine, task, heads);
  const at = await snapshotAt(snapshot.engine, task, payload, {
    heads,
    steps,
    ...(typeof n === 'number' ? { upTo: n } : {}),
  });
  return {
    ...(given === undefined ? {} : { given }),
    ...(out === undefined ? {} : { out }),
    ...(at === undefined ? {} : { context: at.context }),
    value: stored,
  };
}

function childOf(child: TaskRecord | undefined): Partial<RunStepDetailView> {
  if (child === undefined) return {};
  const payload = payloadOf(child);
  const given: unknown = payload === undefined ? JSON.parse(child.payload) : payload.input;
  const out: unknown = child.result === undefined ? undefined : JSON.parse(child.result);
  return { ...(given === undefined ? {} : { given }), ...(out === undefined ? {} : { out }) };
}

function headOf(task: number, { value, ...entry }: JournalEntry): JournalHead {
  return { task, ...entry, size: value?.length ?? 0, head: value };
}
