/** How a run stands, in one sentence: for Explain, for the page of a run and for lists. */
import { isFinal, type Reason, type TaskState } from '../../core/task/task.ts';

export interface RunSituation {
  readonly state: TaskState;
  readonly reason: Reason | undefined;
  /** What its root waits for. */
  readonly wait?: SituationWait | undefined;
  /** What a member waits for that somebody outside can give. */
  readonly below?: SituationWait | undefined;
  /** Tasks of the tree by state, the root included. */
  readonly members: Readonly<Partial<Record<TaskState, number>>>;
  /** The state in which a machine is. */
  readonly current?: string | undefined;
  /** Of a run that has failed. `at`: the node or the step, in words. */
  readonly failure?: { readonly message: string; readonly at?: string | undefined } | undefined;
  readonly cancelRequested?: boolean | undefined;
  readonly cancelReason?: string | undefined;
  readonly cancelledBy?: string | undefined;
}

export interface SituationWait {
  readonly kind: 'signal' | 'approval' | 'children' | 'time' | 'budget';
  readonly since: number;
  readonly deadline?: number | undefined;
  readonly channel?: string | undefined;
  readonly title?: string | undefined;
}

/** Without a subject and a full stop: "waits for signal approval/42 since 3 h; 2 of 5 children run". */
export function runSentence(situation: RunSituation, now: number): string {
  const { below } = situation;
  const parts = [rootPart(situation, now), childrenPart(situation)];
  if (below !== undefined && !isFinal(situation.state)) parts.push(`one of them ${waitPart(below, now)}`);
  return parts.filter((part) => part !== '').join('; ');
}

const BUDGET = /^budget:(.+)$/;

/** The run whose budget is waited for on this channel. */
export function budgetOf(channel: string): string | undefined {
  return BUDGET.exec(channel)?.[1];
}

function rootPart({ state, reason, wait, current, failure, ...more }: RunSituation, now: number): string {
  const { cancelRequested = false, cancelReason, cancelledBy } = more;
  const by = cancelledBy === undefined || cancelledBy === '' ? '' : ` by ${cancelledBy}`;
  const why = cancelReason === undefined ? '' : `: ${cancelReason}`;
  switch (state) {
    case 'completed':
      return 'has completed';
    case 'failed':
      return failedPart({ reason, current, failure });
    case 'cancelled':
      return `was cancelled${by}${why}`;
    case 'running':
      if (cancelRequested) return `was asked to stop${by}${why}`;
      return current === undefined ? 'runs' : `runs in the state ${current}`;
    case 'ready':
      return 'waits for a worker';
    case 'scheduled':
      return 'waits for its time';
    case 'waiting':
      return wait === undefined ? 'waits' : waitPart(wait, now);
  }
}

/** That it gave up says nothing where its error does. */
function failedPart({
  reason = 'none',
  current,
  failure,
}: Pick<RunSituation, 'reason' | 'current' | 'failure'>): string {
  const why = reason === 'none' || (reason === 'gave_up' && failure !== undefined) ? '' : ` (${reason})`;
  const at = failure?.at ?? (current === undefined ? undefined : `the state ${current}`);
  return `has failed${why}${at === undefined ? '' : ` in ${at}`}${failure === undefined ? '' : `: ${failure.message}`}`;
}

function waitPart({ kind, since, deadline, channel = '', title }: SituationWait, now: number): string {
  const long = `since ${longOf(now - since)}`;
  const until = deadline === undefined ? '' : `, at most ${longOf(deadline - now)} more`;
  switch (kind) {
    case 'signal':
      return `waits for signal ${channel} ${long}${until}`;
    case 'approval':
      return `waits for a decision${title === undefined ? '' : ` (${title})`} ${long}${until}`;
    case 'budget':
      return `waits ${long} until its budget is raised`;
    case 'children':
      return `waits for its children ${long}${until}`;
    case 'time':
      return deadline === undefined ? `waits ${long}` : `sleeps for ${longOf(deadline - now)} more`;
  }
}

function childrenPart({ state, members }: RunSituation): string {
  const counts = { ...members, [state]: (members[state] ?? 1) - 1 };
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) return '';
  const of = all === 1 ? 'child' : 'children';
  const ended = (['completed', 'failed', 'cancelled'] as const).reduce((sum, one) => sum + (counts[one] ?? 0), 0);
  if (ended === all)
    return isFinal(state) ? `${all} ${of}` : `${all === 1 ? 'its child has' : `all ${all} children have`} ended`;
  const runs = counts.running ?? 0;
  return `${runs} of ${all} ${of} ${runs === 1 ? 'runs' : 'run'}`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** In the largest unit of which there is one: `3 h`. */
function longOf(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return 'a moment';
}
