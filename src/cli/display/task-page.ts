import type { AttemptView, TaskDetailView } from '../../operate/views.ts';
import { errorLine } from './error-line.ts';
import type { Out } from './out.ts';
import { safeJson, safeLine, safeText } from './safe.ts';
import { paintState, reasonWords, stateText } from './state.ts';
import { aligned, type Column } from './table.ts';
import { formatRelative, formatTook, formatWhen } from './time.ts';

type PageOut = Pick<Out, 'paint' | 'columns' | 'mode'>;

/** Everything that a person wants to know about a task, as lines. */
export function describeTask(task: TaskDetailView, out: PageOut, now: number): readonly string[] {
  return [
    out.paint('bold', task.id),
    '',
    ...facts(task, now).map(([name, text]) => {
      const shown = name === 'state' ? paintState(out, task.state, text) : text;
      return `  ${out.paint('dim', name.padEnd(9))} ${shown}`;
    }),
    ...section(out, 'input', safeJson(task.input, 2)),
    ...(task.state === 'completed' ? section(out, 'result', safeJson(task.result ?? null, 2)) : []),
    ...(task.error === undefined ? [] : section(out, 'error', errorText(task.error))),
    ...attemptTable(task.attempts, out, now),
    '',
    ...whatNext(task).map((line, i) => `${i === 0 ? out.paint('dim', 'Next: ') : '      '}${line}`),
  ];
}

function facts(task: TaskDetailView, now: number): readonly (readonly [string, string])[] {
  const { runAt, startedAt, finishedAt, leaseExpiresAt, cancelRequestedAt, unique, worker, progress } = task;
  const took =
    startedAt === undefined || finishedAt === undefined ? '' : `, took ${formatTook(finishedAt - startedAt)}`;
  const all: readonly (readonly [string, string | undefined])[] = [
    ['state', stateSentence(task, now)],
    ['why', task.summary],
    ['asks', task.wait?.kind === 'approval' ? String(task.wait.title) : undefined],
    ['queue', task.queuePaused ? `${task.queue} (paused)` : task.queue],
    ['handler', task.handler],
    ['tries', `${task.tries} of ${task.maxAttempts}${task.attempt > task.tries ? ` (attempt ${task.attempt})` : ''}`],
    ['priority', task.priority === 0 ? undefined : String(task.priority)],
    ['unique', unique],
    ['place', task.placement && placementWords(task.placement)],
    ['limits', task.limits?.map(limitWords).join(', ')],
    [
      'fair',
      task.fairness && `${task.fairness.key}${task.fairness.weight === 1 ? '' : ` (weight ${task.fairness.weight})`}`,
    ],
    ['created', formatWhen(task.createdAt, now)],
    ['due', task.state !== 'scheduled' || runAt === undefined ? undefined : formatWhen(runAt, now)],
    ['started', startedAt === undefined ? undefined : formatWhen(startedAt, now)],
    ['finished', finishedAt === undefined ? undefined : `${formatWhen(finishedAt, now)}${took}`],
    ['worker', worker],
    ['lease', leaseExpiresAt === undefined ? undefined : leaseWords(leaseExpiresAt, now)],
    ['cancel', cancelRequestedAt === undefined ? undefined : `asked for ${formatRelative(cancelRequestedAt, now)}`],
    ['progress', progress === undefined ? undefined : safeJson(progress)],
  ];
  return all.flatMap(([name, text]) => (text === undefined ? [] : [[name, safeLine(text)] as const]));
}

function placementWords(placement: NonNullable<TaskDetailView['placement']>): string {
  const {
    requires = [],
    handlers = [],
    only = [],
    never = [],
    prefer = [],
    maxPerWorker,
    version,
    affinity,
  } = placement;
  const parts = [
    requires.length === 0 ? '' : `requires ${requires.join(', ')}`,
    handlers.length === 0 ? '' : `handlers ${handlers.join(', ')}`,
    only.length === 0 ? '' : `only ${only.join(', ')}`,
    never.length === 0 ? '' : `never ${never.join(', ')}`,
    version === undefined ? '' : `version ${version}`,
    maxPerWorker === undefined ? '' : `at most ${maxPerWorker} on one worker`,
    prefer.length === 0 ? '' : `prefers ${prefer.map(({ tag }) => tag).join(', ')}`,
    affinity === undefined ? '' : `with ${affinity}`,
  ];
  return parts.filter((part) => part !== '').join('; ');
}

/** `openai:alice*2`, as it is pushed. */
function limitWords({ name, key, weight, cost }: NonNullable<TaskDetailView['limits']>[number]): string {
  const use = `${name}${key === undefined ? '' : `:${key}`}${weight === undefined ? '' : `*${weight}`}`;
  return cost === undefined ? use : `${use} (cost ${cost})`;
}

/** The reason of a wait has a line of its own. */
function stateSentence({ state, reason, tries, runAt }: TaskDetailView, now: number): string {
  const words = reasonWords(reason) ?? waitingWords();
  return words === undefined ? stateText(state) : `${stateText(state)}: ${words}`;

  function waitingWords(): string | undefined {
    if (state !== 'scheduled') return undefined;
    const again = tries > 0 ? 'is tried again' : 'becomes ready';
    return runAt === undefined || runAt <= now
      ? `${again} as soon as a node looks`
      : `${again} ${formatRelative(runAt, now)}`;
  }
}

function leaseWords(expiresAt: number, now: number): string {
  if (expiresAt > now) return `${formatTook(expiresAt - now)} left`;
  return `ran out ${formatRelative(expiresAt, now)}: the task is taken back as soon as a node looks`;
}

function section({ paint }: PageOut, title: string, text: string): readonly string[] {
  return ['', paint('dim', `  ${title}`), ...text.split('\n').map((line) => `    ${line}`)];
}

/** The stack where there is one; everything else as it was stored. */
function errorText(error: unknown): string {
  const stack = (error as { readonly stack?: unknown } | null)?.stack;
  if (typeof stack === 'string') return safeText(stack);
  return typeof error === 'object' && error !== null ? safeJson(error, 2) : safeText(errorLine(error));
}

function attemptTable(attempts: readonly AttemptView[], out: PageOut, now: number): readonly string[] {
  if (attempts.length === 0) return [];
  const columns: readonly Column<AttemptView>[] = [
    { head: '#', cell: ({ attempt }) => String(attempt), right: true },
    { head: 'outcome', cell: ({ outcome }) => outcome },
    { head: 'worker', cell: ({ worker }) => worker ?? '–' },
    { head: 'started', cell: ({ startedAt }) => (startedAt === undefined ? '–' : formatWhen(startedAt, now)) },
    {
      head: 'took',
      cell: ({ startedAt, endedAt }) => (startedAt === undefined ? '–' : formatTook((endedAt ?? now) - startedAt)),
      right: true,
    },
    { head: 'error', cell: ({ error }) => (error === undefined ? '' : errorLine(error)), rest: true },
  ];
  const lines = aligned(columns, attempts, { columns: Math.max(40, out.columns - 4), paint: out.paint });
  return ['', out.paint('dim', '  attempts'), ...lines.map((line) => `    ${line}`)];
}

type Situation = Pick<
  TaskDetailView,
  'id' | 'state' | 'queue' | 'handler' | 'queuePaused' | 'workersForIt' | 'runnable' | 'cancelRequestedAt' | 'wait'
>;

/** The commands that end the wait, if an operator can. */
function waitNext({ id, wait }: Situation): readonly string[] {
  if (wait === undefined) return ['nothing to do: it goes on when what it waits for has come'];
  if (wait.kind === 'signal') return [`leasehold signal ${shellWord(wait.channel)} JSON`];
  const own = (['approve', 'reject'] as const).filter((action) => wait.actions.includes(action));
  const others = wait.actions.filter((action) => action !== 'approve' && action !== 'reject');
  return [
    ...own.map((action) => `leasehold ${action} ${id}`),
    ...others.map((action) => `leasehold approve ${id} --action ${shellWord(action)}`),
  ];
}

function shellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : safeLine(`'${text.replaceAll("'", `'\\''`)}'`);
}

/** What to do about a task in this state: a sentence, or commands. */
export function whatNext(task: Situation): readonly string[] {
  const { id, state, queue, handler, queuePaused, workersForIt, runnable, cancelRequestedAt } = task;
  switch (state) {
    case 'ready':
      if (queuePaused) return [`leasehold queues resume ${queue}`];
      if (runnable) return ['nothing to do: it runs in a moment'];
      if (workersForIt > 0) return [`leasehold tasks explain ${id}`];
      return [`start a worker that has the handler ${handler}: leasehold up, or leasehold worker --handlers FILE`];
    case 'scheduled':
      return ['nothing to do while a node is up; leasehold doctor checks that'];
    case 'waiting':
      return waitNext(task);
    case 'running':
      if (cancelRequestedAt !== undefined)
        return ['it ends when its worker has stopped it, or when its lease runs out'];
      return [`leasehold tasks logs -f ${id}`, `leasehold tasks cancel ${id}`];
    case 'completed':
      return ['nothing to do'];
    case 'failed':
      return [`leasehold tasks logs ${id}`, `leasehold tasks retry ${id}   (when the cause is put right)`];
    case 'cancelled':
      return [`leasehold tasks retry ${id}   (if it should run after all)`];
  }
}
