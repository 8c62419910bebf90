/** What a trigger says of itself in words: what it listens to, what it does, and what became of a delivery. */

export interface TriggerWords {
  readonly kind: string;
  readonly on?: string | undefined;
  readonly queues?: readonly string[] | undefined;
  readonly states?: readonly string[] | undefined;
  readonly folder?: string | undefined;
  readonly match?: string | undefined;
  readonly path?: string | undefined;
  readonly signature?: string | undefined;
  readonly push?: unknown;
  readonly run?: unknown;
  readonly check?: string | undefined;
  readonly execution?: string | undefined;
}

export const EVENTS = {
  work_added: 'a task is added',
  task_started: 'a task starts',
  task_finished: 'a task ends',
  worker_registered: 'a worker registers',
  worker_lost: 'a worker is lost',
} as const;

/** `a task ends as failed, in mail`. */
export function sourceText({ kind, on = '', queues, states, folder = '', match, path = '' }: TriggerWords): string {
  switch (kind) {
    case 'event': {
      const what = (EVENTS as Readonly<Record<string, string>>)[on] ?? on;
      const how = states === undefined ? '' : ` as ${states.join(' or ')}`;
      return `${what}${how}${queues === undefined ? '' : `, in ${queues.join(', ')}`}`;
    }
    case 'file':
      return `a file ${folder}/${match ?? '*'}`;
    case 'webhook':
      return `POST ${path}`;
    default:
      return 'somebody asks for it';
  }
}

/** `push a task to orders`, `run ingest`, `check the pool papers`. */
export function actionText({ push, run, check, execution }: TriggerWords): string {
  if (check !== undefined) return `check the pool ${check}`;
  if (push !== undefined) {
    const { queue = '', handler = queue } = push as { readonly queue?: string; readonly handler?: string };
    return handler === queue || handler === '' ? `push a task to ${queue}` : `push a task to ${queue} for ${handler}`;
  }
  const { use, workflow, title, graph } = (run ?? {}) as Readonly<Record<string, unknown>>;
  const name = [workflow, use, title].find((one) => typeof one === 'string');
  const by = execution === undefined || execution === 'task' ? '' : `, by a ${execution}`;
  return `run ${name ?? (graph === undefined ? 'a machine of its own' : 'a graph of its own')}${by}`;
}

export interface FiringWords {
  readonly outcome: string;
  readonly state?: string | undefined;
  readonly detail?: string | undefined;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  pushed: 'started',
  refused: 'kept out by a limit or a key',
  accepted: 'accepted',
  done: 'done',
  failed: 'nothing was started',
  stopped: 'stopped: triggers start each other',
  held: 'held: too many in a minute',
  lost: 'events were removed before they were read',
};

/** What became of a delivery. */
export function outcomeText({ outcome, detail }: FiringWords): string {
  const word = OUTCOMES[outcome] ?? outcome;
  return detail === undefined || detail === '' ? word : `${word}: ${detail}`;
}

/** The state with whose glyph and colour a delivery is shown. */
export function outcomeState({ outcome, state }: FiringWords): string {
  switch (outcome) {
    case 'pushed':
      return state ?? 'completed';
    case 'accepted':
      return 'running';
    case 'done':
      return 'completed';
    case 'refused':
    case 'held':
      return 'attention';
    case 'failed':
    case 'stopped':
    case 'lost':
      return 'failed';
    default:
      return 'ready';
  }
}

/** It did not do what it is there for: nothing was started, or what was started has failed. */
export function isProblem(firing: FiringWords): boolean {
  return ['failed', 'attention'].includes(outcomeState(firing));
}

/** How many of these deliveries became what: `96 started, 3 kept out by a limit or a key`. */
export function countsText(firings: readonly FiringWords[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of firings) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, n]) => `${n} ${(OUTCOMES[outcome] ?? outcome).split(':')[0]}`)
    .join(', ');
}
