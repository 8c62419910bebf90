import { failureMessage, fingerprint } from '../../core/task/fingerprint.ts';
import type { World } from '../../core/world.ts';
import type { Failure, Store } from '../../store/store.ts';

/** Failed tasks with similar errors. */
export interface FailureGroup {
  readonly fingerprint: string;
  /** The message of the newest of them. */
  readonly message: string;
  readonly pattern: string;
  readonly tasks: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
  /** The newest of them. */
  readonly newest: readonly Pick<Failure, 'task' | 'createdAt'>[];
}

export interface Failures {
  /** Those with most tasks first. */
  readonly groups: readonly FailureGroup[];
  readonly looked: number;
  /** There are more: only the newest were read. */
  readonly cut: boolean;
}

/** Failures per read. Between two reads, others get their turn of the loop. */
const SLICE = 500;
const MOST_FAILURES = 5000;
/** Where only some queues are asked for, at most this many failures are read to find theirs. */
const MOST_READ = 20_000;
const MOST_GROUPS = 200;
const MOST_IDS = 500;
const MOST_NAMES = 50;

/** The newest failed tasks, grouped by similar errors. */
export async function groupFailures(
  store: Pick<Store, 'failureList'>,
  { timers }: Pick<World, 'timers'>,
  queues: ReadonlySet<string>,
): Promise<Failures> {
  const groups = new Map<string, Group>();
  let [read, looked, more] = [0, 0, true];
  for (let before: number | undefined; more && looked < MOST_FAILURES && read < MOST_READ; ) {
    const page = await store.failureList({ before, limit: SLICE });
    for (const failure of page) {
      if (queues.size > 0 && !queues.has(failure.queue)) continue;
      looked++;
      put(groups, failure);
    }
    read += page.length;
    before = page.at(-1)?.task;
    more = page.length === SLICE;
    await new Promise<void>((resolve) => timers.soon(resolve));
  }
  const sorted = [...groups.values()].sort((a, b) => b.tasks - a.tasks || b.lastAt - a.lastAt);
  return { groups: sorted.slice(0, MOST_GROUPS).map(shown), looked, cut: more || sorted.length > MOST_GROUPS };
}

interface Group extends Omit<FailureGroup, 'tasks' | 'firstAt' | 'lastAt' | 'queues' | 'handlers' | 'newest'> {
  tasks: number;
  firstAt: number;
  lastAt: number;
  readonly queues: Set<string>;
  readonly handlers: Set<string>;
  readonly newest: Pick<Failure, 'task' | 'createdAt'>[];
}

function put(groups: Map<string, Group>, { task, createdAt, endedAt, queue, handler, reason, error }: Failure): void {
  const message = failureMessage(error, reason);
  const { id, pattern } = fingerprint(message);
  const group: Group = groups.get(id) ?? {
    fingerprint: id,
    message,
    pattern,
    tasks: 0,
    firstAt: endedAt,
    lastAt: endedAt,
    queues: new Set(),
    handlers: new Set(),
    newest: [],
  };
  groups.set(id, group);
  group.tasks++;
  group.firstAt = Math.min(group.firstAt, endedAt);
  group.lastAt = Math.max(group.lastAt, endedAt);
  if (group.queues.size < MOST_NAMES) group.queues.add(queue);
  if (group.handlers.size < MOST_NAMES) group.handlers.add(handler);
  if (group.newest.length < MOST_IDS) group.newest.push({ task, createdAt });
}

function shown({ queues, handlers, ...group }: Group): FailureGroup {
  return { ...group, queues: [...queues].sort(), handlers: [...handlers].sort() };
}
