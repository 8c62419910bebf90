import { type IdCodec, makeIdCodec } from '../core/ids.ts';
import type { CounterUse } from '../core/limits/limit.ts';
import type { Lease } from '../core/task/lease.ts';
import { isFinal, type TaskState } from '../core/task/task.ts';
import type { World } from '../core/world.ts';
import type { Store, TaskRecord } from '../store/store.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { AuditTrail } from './audit.ts';
import { Claims } from './claim/claims.ts';
import { ReadyLanes } from './claim/ready-lanes.ts';
import { WorkerProfiles } from './claim/worker-profiles.ts';
import { Coalescer } from './coalescer.ts';
import { Credentials } from './credentials.ts';
import { Limits } from './limits.ts';
import type { Listeners } from './listeners.ts';
import { Pools } from './pools.ts';
import { Graphs } from './push/graphs.ts';
import { Interner } from './push/interner.ts';
import { Pushes } from './push/pushes.ts';
import { Weights } from './push/weights.ts';
import { Feed } from './read/feed.ts';
import { Results } from './read/results.ts';
import { Schedules } from './schedules.ts';
import type { EngineSettings } from './settings.ts';
import { KeptResults } from './settle/kept-results.ts';
import { Settles } from './settle/settles.ts';
import { TaskLogs } from './settle/task-logs.ts';
import { Turns } from './settle/turns.ts';
import { Waits } from './settle/waits.ts';
import { Budgets } from './trees/budgets.ts';
import { Documents } from './trees/documents.ts';
import { InputGatherer } from './trees/input-gatherer.ts';
import { Runs } from './trees/runs.ts';
import { Spawns } from './trees/spawns.ts';
import { Trees } from './trees/trees.ts';
import type { TriggerHost } from './triggers/trigger-host.ts';
import { Triggers } from './triggers/triggers.ts';
import { Upgrades } from './upgrades/upgrades.ts';
import { Workers } from './workers.ts';
import { Workflows } from './workflows.ts';

export interface EngineParts {
  readonly artifacts: Artifacts;
  readonly audit: AuditTrail;
  readonly upgrades: Upgrades;
  readonly claims: Claims;
  readonly credentials: Credentials;
  readonly documents: Documents;
  readonly feed: Feed;
  readonly gatherer: InputGatherer;
  readonly graphs: Graphs;
  readonly ids: IdCodec;
  readonly interner: Interner;
  readonly kept: KeptResults;
  readonly budgets: Budgets;
  readonly limits: Limits;
  readonly logs: TaskLogs;
  readonly pools: Pools;
  readonly profiles: WorkerProfiles;
  readonly pushes: Pushes;
  readonly readyLanes: ReadyLanes;
  readonly results: Results;
  readonly runs: Runs;
  readonly schedules: Schedules;
  readonly triggers: Triggers;
  readonly workflows: Workflows;
  readonly settles: Settles;
  readonly trees: Trees;
  readonly turns: Turns;
  readonly waits: Waits;
  readonly workers: Workers;
}

export interface PartsDeps {
  readonly store: Store;
  readonly world: World;
  readonly settings: EngineSettings;
  readonly listeners: Listeners;
  /** Undefined: triggers only push tasks. */
  readonly triggerHost?: TriggerHost | undefined;
}

/**
 * Makes the parts of an engine and connects them. A part knows its neighbours by callbacks only: what became ready, what was freed, what
 * will be due, what was committed. Each of these is a hint.
 */
export function makeParts({ store, world, settings, listeners, triggerHost: host }: PartsDeps): EngineParts {
  const coalescer = new Coalescer(world);
  const readyLanes = new ReadyLanes(store, world, settings.pollMs, (queue) => listeners.queuePaused(queue));
  const interner = new Interner(store, (lane) => readyLanes.learn(lane));
  const ids = makeIdCodec(store.clusterKey);
  const feed = new Feed(store, world);

  const usesOf = (lane: number): readonly CounterUse[] => readyLanes.lane(lane)?.rules?.uses ?? [];
  const onFreed = (lane: number): void => readyLanes.freed(usesOf(lane));
  const onWoken = (): void => readyLanes.hint();
  const onReady = (lane: number | undefined, priority: number | undefined): void =>
    lane === undefined ? readyLanes.hint() : readyLanes.mark(lane, priority);
  const onDue = (inMs: number): void => listeners.due(inMs);
  const onCommit = (): void => {
    feed.nudge();
    listeners.committed();
  };
  const onEnded = (task: number): void => {
    onCommit();
    logs.nudge(task);
  };
  const artifacts = new Artifacts({
    store,
    random: world.random,
    quota: settings.artifactQuota,
    taskQuota: settings.artifactTaskQuota,
  });
  const results = new Results(store, feed);
  const onSettled = (lease: Lease, state: TaskState): void => {
    listeners.settled(lease, state);
    if (isFinal(state)) results.ended(lease.task);
  };
  const onRefused = (lease: Lease, what: 'renewal' | 'report'): void => listeners.refused(lease, what);
  const timed = async <T>(verb: 'claim' | 'renew', ask: () => Promise<T>): Promise<T> => {
    const since = world.clock.monotonic();
    const answer = await ask();
    listeners.timed(verb, world.clock.monotonic() - since);
    return answer;
  };

  // Batchers flush in the order in which they are made. Log lines leave before the settle of their attempt, which would
  // make the store refuse them.
  const logs = new TaskLogs({ store, coalescer, world });
  // A settle leaves before the next claim, so that both can share a commit.
  const settles = new Settles({
    store,
    renew: (items) => timed('renew', () => store.leaseRenew({ items })),
    coalescer,
    interner,
    random: world.random,
    onReady,
    onFreeing: (lane) => readyLanes.freeing(usesOf(lane)),
    onFreed,
    onDue,
    onCommit: onEnded,
    onSettled,
    onRefused,
  });
  const pushes = new Pushes({
    store,
    coalescer,
    interner,
    weights: new Weights(store, world),
    ids,
    maxUniqueMs: settings.retentionMs,
    onComing: (lane, priority) => readyLanes.expect(lane, priority),
    onReady: (lane, priority) => readyLanes.mark(lane, priority),
    onDue,
    onCommit,
  });
  const graphs = new Graphs({ store, tasks: pushes });
  const gatherer = new InputGatherer({
    store,
    interner,
    refuse: async (grant, error) => void (await settles.fail(grant, error, { giveUp: true })),
  });
  const idOf = ({ task, createdAt }: Pick<TaskRecord, 'task' | 'createdAt'>): string =>
    ids.encode('task_', task, createdAt);
  const trees = new Trees({
    store,
    idOf,
    onCancelled: (task, answer) => {
      logs.nudge(task);
      if (answer === 'requested') listeners.cancelRequested(task);
    },
    onRevived: (lane) => readyLanes.mark(lane),
    onCommit,
  });
  const parseId = (text: string): number | undefined => ids.decode('task_', text)?.id;
  const runs = new Runs({ store, coalescer, tasks: pushes, trees, idOf, parseId, world });
  const schedules = new Schedules({ store, tasks: pushes, idOf });
  const triggers = new Triggers({
    store,
    tasks: pushes,
    host,
    world,
    idOf,
    newestEvent: () => feed.newest(),
    onChange: () => listeners.triggersChanged(),
  });
  const workflows = new Workflows({ store, tasks: pushes });
  const waits = new Waits({ store, coalescer, onWoken, onCommit: onEnded });
  const spawns = new Spawns({ store, interner, tasks: pushes });
  const turns = new Turns({
    store,
    coalescer,
    tasks: pushes,
    spawns,
    settles,
    onDue,
    onWoken,
    onReady,
    onFreed,
    onCommit: onEnded,
    onSettled,
    onRefused,
  });
  const kept = new KeptResults({ store, coalescer, interner });
  const profiles = new WorkerProfiles(store, world, settings.workerStaleMs);
  const claims = new Claims({
    store: { taskClaim: (params) => timed('claim', () => store.taskClaim(params)) },
    readyLanes,
    profiles,
    world,
    coalescer,
  });
  const placeAnew = (): void => {
    profiles.forget();
    readyLanes.hint();
  };
  const credentials = new Credentials({ store, onChange: placeAnew });
  const workers = new Workers({
    store,
    coalescer,
    world,
    staleMs: settings.workerStaleMs,
    onChange: () => {
      placeAnew();
      credentials.hint();
    },
  });
  const pools = new Pools({
    store,
    staleMs: settings.workerStaleMs,
    onDrained: placeAnew,
  });
  const budgets = new Budgets({ store, onChange: () => readyLanes.hint() });
  const limits = new Limits({ store, onChange: () => readyLanes.hint() });
  const documents = new Documents({ store, graphs });
  return {
    artifacts,
    audit: new AuditTrail({ store }),
    upgrades: new Upgrades({ store }),
    claims,
    credentials,
    documents,
    feed,
    gatherer,
    graphs,
    ids,
    interner,
    kept,
    budgets,
    limits,
    logs,
    pools,
    profiles,
    pushes,
    readyLanes,
    results,
    runs,
    schedules,
    triggers,
    workflows,
    settles,
    trees,
    turns,
    waits,
    workers,
  };
}
