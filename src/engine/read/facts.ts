import { freesIn, roomOf } from '../../core/limits/limit.ts';
import { credentialsIn } from '../../core/placement/placement.ts';
import type { CounterRecord, Lane, NamedUse, Store, TaskRecord } from '../../store/store.ts';
import type { DependencyVerdict, Facts } from './explain.ts';

/** The part of an engine that Explain needs. */
export interface ExplainSource {
  readonly store: Store;
  readonly workerStaleMs: number;
  idOf(task: { readonly task: number; readonly createdAt: number }): string;
}

/** At most this many holders of a limit are named. */
const MAX_HOLDERS = 20;

/** Reads everything that a claim of this task would check. */
export async function gatherFacts(engine: ExplainSource, task: TaskRecord): Promise<Facts> {
  const { store } = engine;
  const [lanes, queues, fleet, time] = await Promise.all([
    store.laneGet({ lanes: [task.lane] }),
    store.queueList(),
    store.workerFleet(),
    store.clock(),
  ]);
  const lane = lanes[0] as Lane;
  const [counters, heldLike, dependencies, wait, members, holdings] = await Promise.all([
    countersOf(engine, lane.rules?.uses ?? []),
    heldLikeBy(store, lane),
    dependenciesOf(engine, task),
    store.waitGet({ task: task.task }),
    membersOf(store, task),
    holdingsOf(store, lane),
  ]);
  return {
    task,
    taskId: engine.idOf(task),
    lane,
    paused: queues.some(({ name, paused }) => name === task.queue && paused),
    fleet,
    staleMs: engine.workerStaleMs,
    heldLike,
    counters,
    dependencies,
    wait,
    members,
    holdings,
    now: time.calendar,
  };
}

/** Why a worker has no label of a credential. Most tasks ask for none. */
async function holdingsOf(store: Store, { rules }: Lane): Promise<Facts['holdings']> {
  const credentials = rules === undefined ? undefined : credentialsIn(rules.placement);
  return credentials === undefined ? [] : store.credentialHoldings({ credentials });
}

/** Of a task that was started as a run and waits; counting takes as long as there are members. */
async function membersOf(store: Store, { task, state, root }: TaskRecord): Promise<Facts['members']> {
  if (state !== 'waiting' || root !== undefined) return undefined;
  const [run] = await store.runGet({ tasks: [task] });
  return run === undefined || run.fingerprint === '' ? undefined : store.treeCount({ root: task });
}

async function countersOf(engine: ExplainSource, uses: readonly NamedUse[]): Promise<Facts['counters']> {
  if (uses.length === 0) return [];
  const { now, counters } = await engine.store.counterGet({ counters: uses.map(({ counter }) => counter) });
  const known = uses.flatMap((use, i) =>
    counters[i] === undefined ? [] : [{ use, counter: counters[i] as CounterRecord }],
  );
  return Promise.all(
    known.map(async ({ use, counter }) => {
      const holders = await engine.store.counterHolders({ counter: counter.id, limit: MAX_HOLDERS });
      return {
        use,
        counter,
        holders: holders.map((held) => engine.idOf(held)),
        freesInMs: freesIn(counter, use, now),
        open: roomOf(counter, use, now) > 0,
      };
    }),
  );
}

/** Only where the placement bounds how many one worker may have. Most do not, and this reads every running task of the queue. */
export async function heldLikeBy(
  store: Pick<Store, 'taskList' | 'laneGet'>,
  lane: Lane,
): Promise<ReadonlyMap<number, number>> {
  const held = new Map<number, number>();
  if (lane.rules?.placement.maxPerWorker === undefined) return held;
  const running = await store.taskList({ queue: lane.queue, states: ['running'], limit: 1000 });
  const lanes = new Map<number, Lane>();
  const ids = [...new Set(running.map((task) => task.lane))];
  for (const one of await store.laneGet({ lanes: ids })) if (one !== undefined) lanes.set(one.id, one);
  const placement = JSON.stringify(lane.rules.placement);
  for (const { lane: id, handler, holder } of running) {
    const like = handler === lane.handler && JSON.stringify(lanes.get(id)?.rules?.placement) === placement;
    if (like && holder !== undefined) held.set(holder, (held.get(holder) ?? 0) + 1);
  }
  return held;
}

/** Also for a task that waits no more: what it has waited for is part of its history. */
async function dependenciesOf(engine: ExplainSource, { task }: TaskRecord): Promise<readonly DependencyVerdict[]> {
  const found = await engine.store.depList({ task });
  return found.map(({ task: up, createdAt, optional, state: its }) => ({
    taskId: createdAt === undefined ? `task ${up}` : engine.idOf({ task: up, createdAt }),
    state: its ?? 'gone',
    optional,
  }));
}
