import { fault } from '../../core/errors.ts';
import type { RunRequest } from '../../engine/trees/runs.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { readGraphRun, runRequestOf } from '../runs/start-run.ts';
import { readJson } from '../views.ts';
import { findWorkflow, graphOf, labelsOf, textOf } from '../workflows/stored.ts';

/** What a trigger runs: the parts of a start that do not change from one firing to the next. */
export type TriggerRun = NonNullable<RequestOf<'putTrigger'>['run']>;

const KNOWN: ReadonlySet<string> = new Set([
  'machine',
  'bundle',
  'use',
  'graph',
  'upTo',
  'trigger',
  'channels',
  'title',
  'queue',
  'priority',
  'maxAttempts',
  'labels',
  'budgets',
  'name',
  'workflow',
] satisfies (keyof TriggerRun)[]);

/** The run of one firing. A stored workflow is started in its newest version, as its own triggers start it. */
export async function planRun(snapshot: EngineSnapshot, run: object, input: unknown): Promise<RunRequest> {
  const unknown = Object.keys(run).find((field) => !KNOWN.has(field));
  if (unknown !== undefined) throw refuse(`run.${unknown}`, 'there is no such field');
  const { workflow, ...start } = run as TriggerRun;
  if (workflow === undefined) return runRequestOf(snapshot, { ...start, input } as RequestOf<'startRun'>);
  const other = (['machine', 'bundle', 'use', 'graph', 'channels'] as const).find(
    (field) => start[field] !== undefined,
  );
  if (other !== undefined) throw refuse(`run.${other}`, 'a stored workflow is named already');
  const { version, definition } = await findWorkflow(snapshot, workflow);
  const graph = graphOf(workflow, readJson(await textOf(snapshot, definition)) as never);
  const labels = { ...start.labels, ...labelsOf(workflow, version) };
  return readGraphRun({
    start: { ...start, input, labels } as Omit<RequestOf<'startRun'>, 'graph'>,
    graph,
    definition: { hash: definition },
    title: workflow,
  });
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
