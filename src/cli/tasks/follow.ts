import { type FollowNotice, follow } from '../../operate/calls/follow.ts';
import type { Operator } from '../../operate/operator.ts';
import type { TaskView } from '../../operate/views.ts';
import { errorLine } from '../display/error-line.ts';
import { logLines } from '../display/log-lines.ts';
import type { Out } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { paintState, reasonWords, stateText } from '../display/state.ts';
import { formatClock, formatTook } from '../display/time.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { progressFor } from '../kit/progress-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';

export interface FollowTasks {
  /** Of the tasks, each once. */
  readonly ids: readonly string[];
  /** The feed's position from before they were looked at. */
  readonly after: number;
  readonly out: Out;
  /** Only what the tasks say, without their states and results. */
  readonly logsOnly?: boolean;
}

/** Above this, single lines would say nothing: a count of what has ended does. */
const MOST_TOLD = 20;

/**
 * Tells what happens to tasks until all have ended: 0 when all completed, 1 when one did not. Ctrl-C stops the telling and
 * not the tasks.
 */
export async function followTasks(
  operator: Operator,
  { ids, after, out, logsOnly = false }: FollowTasks,
): Promise<number> {
  const stopping = new AbortController();
  const unlisten = onStopSignals({
    stop: (signal) => stopping.abort(signal),
    force: (signal) => process.exit(exitCodeOfSignal(signal)),
  });
  const counting = ids.length > MOST_TOLD && out.mode !== 'json';
  const progress = progressFor({ json: !counting }, 'ended', ids.length);
  const ended: Record<string, number> = {};
  try {
    for await (const notice of follow(operator, ids, { after, signal: stopping.signal })) {
      if (!counting) tell(notice, out, { several: ids.length > 1, logsOnly });
      if (notice.kind !== 'ended') continue;
      const state = notice.task?.state ?? 'removed';
      ended[state] = (ended[state] ?? 0) + 1;
      progress.add(1);
    }
  } finally {
    unlisten();
    progress.end();
  }
  if (stopping.signal.aborted) return stopped(out, ids.length, stopping.signal.reason as StopSignal);
  if (counting) out.line(summary(ended));
  return ended.completed === ids.length || logsOnly ? EXIT.fine : EXIT.failed;
}

interface NoticeOptions {
  readonly several: boolean;
  readonly logsOnly: boolean;
}

function tell(notice: FollowNotice, out: Out, { several, logsOnly }: NoticeOptions): void {
  if (out.mode === 'json') {
    const { kind, id, ...rest } = notice;
    if (notice.kind === 'log') out.json({ event: kind, id, ...notice.line });
    else if (!logsOnly) out.json({ event: kind, id, ...rest });
    return;
  }
  // The end of an id tells tasks of one push apart; its beginning is the time of the push.
  const who = several ? `${out.paint('dim', `…${notice.id.slice(-12)}`)} ` : '';
  if (notice.kind === 'log') for (const line of logLines(notice.line, out)) out.line(who + line);
  if (logsOnly || notice.kind === 'log') return;
  if (notice.kind === 'ended') {
    for (const line of ending(notice.task, out)) out.line(who + line);
  } else if (!isEnd(notice.state)) {
    out.line(`${who}${stamp(notice.at, out)} ${stateWords(notice, out)}`);
  }
}

function isEnd(state: string): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

function stateWords({ state, attempt }: FollowNotice & { readonly kind: 'state' }, out: Out): string {
  const text = out.mode === 'screen' ? paintState(out, state, stateText(state)) : state;
  return attempt > 0 ? `${text} (attempt ${attempt})` : text;
}

function stamp(at: number, out: Out): string {
  return out.mode === 'screen' ? out.paint('dim', formatClock(at)) : new Date(at).toISOString();
}

/** The last words on a task: how it ended, and its result as JSON. */
function ending(task: TaskView | undefined, out: Out): readonly string[] {
  if (task === undefined) return ['The task is gone: it was removed after its retention time.'];
  const { state, reason, error, result, startedAt, finishedAt = Date.now() } = task;
  const text = out.mode === 'screen' ? paintState(out, state, stateText(state)) : state;
  const took = startedAt === undefined ? '' : ` in ${formatTook(finishedAt - startedAt)}`;
  const why = [reasonWords(reason), error === undefined ? undefined : safeLine(errorLine(error))]
    .filter(Boolean)
    .join('; ');
  const head = `${stamp(finishedAt, out)} ${text}${state === 'completed' ? took : ''}${why === '' ? '' : `: ${why}`}`;
  return state === 'completed' ? [head, safeJson(result ?? null)] : [head];
}

function stopped(out: Out, count: number, signal: StopSignal): number {
  out.note(
    count === 1
      ? 'Stopped following; the task goes on. "leasehold tasks show ID" tells how it stands, "tasks cancel ID" stops it.'
      : `Stopped following; the ${count} tasks go on. "leasehold tasks list" tells how they stand.`,
  );
  return exitCodeOfSignal(signal);
}

function summary(ended: Readonly<Record<string, number>>): string {
  return `${Object.entries(ended)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')}.`;
}
