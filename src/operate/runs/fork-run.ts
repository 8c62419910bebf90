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
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { loopTerms } from '../loops/loop-terms.ts';
import { headsOf, type Step, snapshotAt, stepsOf } from './journals.ts';
import { machineOf, payloadOf } from './machine-definition.ts';
import { boundsOf } from './run-budgets.ts';
import { noStep } from './step-detail.ts';

type Fork = RequestOf<'forkRun'>;

/** The word for the place before the first step. */
const START = 'start';
/** Beside the context a payload has little else, and a task takes a mebibyte. */
const HINT = 'Fork from an earlier step, or start a run of its own.';

/** Another run of the same definition that goes on after a step of this one. */
export async function forkRun(snapshot: EngineSnapshot, run: Run, { step, context, name, labels }: Fork): Promise<Run> {
  const { engine } = snapshot;
  const record = await engine.get(run.task);
  if (record === undefined) throw fault('NOT_FOUND', { kind: 'run', id: run.id });
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
  if (started.fresh) return started.run;
  throw fault('CONFLICT', { problem: `the run ${started.run.id} has the name ${name} already` });
}

function forkable(run: Run, record: TaskRecord, { engine }: EngineSnapshot): MachinePayload {
  if (run.root !== undefined) {
    const problem = 'it is part of another run, and only a whole run can be forked';
    throw fault('CONFLICT', { problem }, { hint: `"leasehold tasks show ${engine.idOf(record)}" leads to its run.` });
  }
  const payload = payloadOf(record);
  if (payload !== undefined) return payload;
  throw fault('CONFLICT', {
    problem: `it is a run of the handler ${run.handler}, and only runs of machines can be forked`,
  });
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

/** Entries that are null are taken away. */
function edited(at: Snapshot, changes: Readonly<Record<string, unknown>> = {}): Snapshot {
  const context = new Map<string, Value>(Object.entries(at.context));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) context.delete(key);
    else context.set(key, value as Value);
  }
  return { ...at, context: mapOf([...context]) satisfies ValueMap };
}

function over(run: Run): Error {
  return fault('CONFLICT', { problem: `the run ${run.id} was over after this step` }, { hint: HINT });
}

function tooLong(run: Run): Error {
  return fault(
    'CONFLICT',
    {
      problem: `the run ${run.id} cannot be forked: it has done more than is read at once, or its journal is not that of a machine`,
    },
    { hint: HINT },
  );
}
