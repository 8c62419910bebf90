import { fault } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { TaskRecord } from '../../engine/records.ts';
import type { Run } from '../../engine/trees/runs.ts';
import type { Value, ValueMap } from '../../flow/expression/values.ts';
import { mapOf } from '../../flow/expression/values.ts';
import { LOOP } from '../../flow/loop/demand.ts';
import { patchOf } from '../../flow/machine/history/patch.ts';
import { MACHINE_HANDLER, type MachinePayload } from '../../flow/machine/machine-run.ts';
import { begin } from '../../flow/machine/reduce.ts';
import { emptySnapshot, type Snapshot } from '../../flow/machine/snapshot.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { loopTerms } from '../loops/loop-terms.ts';
import { changedEntries, type Fork, freshOf, HINT, over, START, tooLong } from './fork-parts.ts';
import { forkWorkflow } from './fork-workflow.ts';
import { headsOf, type Step, snapshotAt, stepsOf } from './journals.ts';
import { machineOf, payloadOf } from './machine-definition.ts';
import { boundsOf } from './run-budgets.ts';
import { noStep } from './step-detail.ts';

/** Another run of the same definition that goes on after a step of this one. */
export async function forkRun(snapshot: EngineSnapshot, run: Run, { step, context, name, labels }: Fork): Promise<Run> {
  const { engine } = snapshot;
  const record = await engine.get(run.task);
  if (record === undefined) throw fault('NOT_FOUND', { kind: 'run', id: run.id });
  if (run.kind === 'workflow')
    return forkWorkflow(snapshot, refuseMember(run, record, snapshot), record, { step, context, name, labels });
  const payload = forkable(run, record, snapshot);
  const at = await placeOf(snapshot, run, payload, step);
  const stood = at ?? (context === undefined ? undefined : await beginning(snapshot, run, payload, record));
  const input = payload.input ?? {};
  const from = stood && patchOf(emptySnapshot(input), edited(stood, context), new Map());
  const { executionId: _own, from: _before, ...rest } = payload;
  const permissions = await engine.permissionsOf(record.spec);
  const loop = run.kind === LOOP ? await loopTerms(engine, LOOP, input) : undefined;
  const requires = [...(payload.requires ?? []), ...(loop?.placement.requires ?? [])];
  const budgets = await boundsOf(snapshot, run.task);
  const started = await engine.runs.start({
    request: {
      queue: run.queue,
      handler: MACHINE_HANDLER,
      input: { ...rest, ...(from === undefined ? {} : { from }), ...(name === undefined ? {} : { executionId: name }) },
      priority: record.priority,
      maxAttempts: record.maxTries,
      ...(requires.length === 0 ? {} : { placement: { ...loop?.placement, requires } }),
      ...(loop === undefined ? {} : { limits: loop.limits }),
      ...(permissions === undefined ? {} : { permissions }),
    },
    run: {
      kind: loop?.kind ?? 'machine',
      title: run.title,
      forkedFrom: run.task,
      ...(name === undefined ? {} : { name }),
      labels: labels ?? run.labels,
    },
    ...(payload.definition === undefined ? {} : { definition: { hash: payload.definition } }),
    budgets,
  });
  return freshOf(started, name);
}

function forkable(run: Run, record: TaskRecord, snapshot: EngineSnapshot): MachinePayload {
  refuseMember(run, record, snapshot);
  const payload = payloadOf(record);
  if (payload !== undefined) return payload;
  throw fault('CONFLICT', {
    problem: `it is a run of the handler ${run.handler}, and only runs of machines and of workflows in code can be forked`,
  });
}

function refuseMember(run: Run, record: TaskRecord, { engine }: EngineSnapshot): Run {
  if (run.root === undefined) return run;
  const problem = 'it is part of another run, and only a whole run can be forked';
  throw fault('CONFLICT', { problem }, { hint: `"leasehold tasks show ${engine.idOf(record)}" leads to its run.` });
}

/** Undefined: before everything. */
async function placeOf(
  { engine }: EngineSnapshot,
  run: Run,
  payload: MachinePayload,
  key: string | undefined,
): Promise<Snapshot | undefined> {
  if (key === START) return undefined;
  const { heads, whole } = await headsOf(engine, [run.task]);
  const steps = await stepsOf(engine, run.task, heads);
  if (key === undefined) return lastOf(engine, run, payload, { heads, steps });
  const step = steps.find((one) => one.key === key);
  if (step === undefined) throw whole ? noStep(run, key) : tooLong(run);
  const at = await snapshotAt(engine, run.task, payload, { heads, steps, upTo: step.n });
  if (at === undefined) throw tooLong(run);
  if (at.phase === 'ended') throw over(run);
  return at;
}

/** Of a run that has ended its last step before the end: going on after that, it would end as it did. */
async function lastOf(
  engine: EngineSnapshot['engine'],
  run: Run,
  payload: MachinePayload,
  { heads, steps }: { readonly heads: Parameters<typeof snapshotAt>[3]['heads']; readonly steps: readonly Step[] },
): Promise<Snapshot | undefined> {
  for (const { n } of steps.slice(-2).toReversed()) {
    const at = await snapshotAt(engine, run.task, payload, { heads, steps, upTo: n });
    if (at === undefined) throw tooLong(run);
    if (at.phase !== 'ended') return at;
  }
  if (steps.length > 1 && isFinal(run.state)) throw over(run);
  return undefined;
}

/** The first snapshot, whose context can be changed. */
async function beginning(
  snapshot: EngineSnapshot,
  run: Run,
  payload: MachinePayload,
  { createdAt }: TaskRecord,
): Promise<Snapshot> {
  const found = await machineOf(snapshot, payload);
  if (found !== undefined) return begin(found.machine, { executionId: '', input: payload.input ?? {}, now: createdAt });
  throw fault('CONFLICT', { problem: `the definition of the run ${run.id} is not known here` }, { hint: HINT });
}

function edited(at: Snapshot, changes: Fork['context']): Snapshot {
  const context = changedEntries(at.context, changes) as ReadonlyMap<string, Value>;
  return { ...at, context: mapOf([...context]) satisfies ValueMap };
}
