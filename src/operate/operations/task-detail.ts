import type { TaskRecord, WorkerRecord } from '../../engine/records.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { type TaskDetailView, viewAttempts, viewTask } from '../views.ts';
import { waitOf } from './waits.ts';

const PAGE = 500;

/** A task with its attempts, and why it waits. */
export async function taskDetail(snapshot: EngineSnapshot, id: string): Promise<TaskDetailView> {
  const { engine } = snapshot;
  const record = await snapshot.record(id);
  const context = await snapshot.viewContext([record], true);
  const queues = await engine.queues();
  const workers = await snapshot.workers();
  const progress = await lastProgress(snapshot, record);
  const waits = record.state === 'ready' || record.state === 'scheduled' || record.state === 'waiting';
  const why = waits ? await engine.explain(record.task) : undefined;
  const wait = record.state === 'waiting' ? await waitOf(engine, record.task) : undefined;
  return {
    ...viewTask(record, context),
    attempts: viewAttempts(record, await engine.attempts(record.task), context),
    ...(progress === undefined ? {} : { progress }),
    queuePaused: queues.some(({ name, paused }) => paused && name === record.queue),
    workersForIt: workers.filter((worker) => isLive(worker) && offers(worker, record.handler)).length,
    ...(why === undefined ? {} : { summary: why.summary, runnable: why.runnable }),
    ...(wait === undefined ? {} : { wait }),
  };
}

/** The last progress that its handler reported. */
async function lastProgress({ engine }: EngineSnapshot, { task, attempt }: TaskRecord): Promise<unknown> {
  let text: string | undefined;
  for (let after = { attempt: attempt - 1, seq: Number.MAX_SAFE_INTEGER }; attempt > 0; ) {
    const page = await engine.logs.read(task, { limit: PAGE, after });
    for (const line of page) if (line.stream === 'progress') text = line.text;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last;
  }
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** A worker that names no handlers may run any. */
function offers({ handlers }: WorkerRecord, handler: string): boolean {
  return handlers.length === 0 || handlers.includes(handler);
}

function isLive({ state, enabled }: WorkerRecord): boolean {
  return enabled && (state === 'online' || state === 'starting');
}
