import type { Run } from '../../engine/trees/runs.ts';
import { AGENT_HANDLER } from '../../flow/agent/definition.ts';
import type { RunView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

/** Runs as they are shown. The ids of what they were forked from are read together. */
export async function viewRuns({ engine }: EngineSnapshot, runs: readonly Run[]): Promise<readonly RunView[]> {
  const sources = [...new Set(runs.flatMap(({ forkedFrom }) => forkedFrom ?? []))];
  const found = sources.length === 0 ? [] : await engine.store.runGet({ tasks: sources });
  const ids = new Map(found.flatMap((run) => (run === undefined ? [] : [[run.task, engine.idOf(run)] as const])));
  return runs.map((run) => viewRun(run, ids));
}

export async function viewOne(snapshot: EngineSnapshot, run: Run): Promise<RunView> {
  return (await viewRuns(snapshot, [run]))[0] as RunView;
}

function viewRun(run: Run, ids: ReadonlyMap<number, string>): RunView {
  const { name, reason, definition, startedAt, finishedAt, cancelRequestedAt, cancelNote } = run;
  // What it was forked from may have been pruned.
  const forkedFrom = run.forkedFrom === undefined ? undefined : ids.get(run.forkedFrom);
  return {
    id: run.id,
    ...(name === undefined ? {} : { name }),
    kind: kindOf(run),
    title: run.title,
    state: run.state,
    ...(reason === 'none' ? {} : { reason }),
    queue: run.queue,
    handler: run.handler,
    attempt: run.attempt,
    labels: run.labels,
    ...(definition === undefined ? {} : { definition }),
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    createdAt: run.createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(cancelNote?.why === undefined ? {} : { cancelReason: cancelNote.why }),
    ...(cancelNote?.by === undefined ? {} : { cancelledBy: cancelNote.by }),
  };
}

/** An agent that was pushed like any task is an agent all the same. */
function kindOf({ kind, handler }: Run): RunView['kind'] {
  return kind === 'task' && handler === AGENT_HANDLER ? 'agent' : (kind as RunView['kind']);
}
