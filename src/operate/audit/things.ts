import type { Shape } from '../../core/audit/shown.ts';
import { isEngineError } from '../../core/errors.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { clusterOperations } from '../operations/cluster.ts';
import { credentialOperations } from '../operations/credentials.ts';
import { limitOperations } from '../operations/limits.ts';
import { poolOperations } from '../operations/pools.ts';
import { queueOperations } from '../operations/queues.ts';
import { runOperations } from '../operations/runs.ts';
import { scheduleOperations } from '../operations/schedules.ts';
import { taskOperations } from '../operations/tasks.ts';
import { triggerOperations } from '../operations/triggers.ts';
import { workflowOperations } from '../operations/workflows.ts';

/** What administrative actions change. */
export type Kind =
  | 'credential'
  | 'limit'
  | 'node'
  | 'pool'
  | 'queue'
  | 'run'
  | 'schedule'
  | 'tag'
  | 'task'
  | 'token'
  | 'trigger'
  | 'upgrade'
  | 'view'
  | 'worker'
  | 'workflow';

interface Thing {
  /** There is one of it in a cluster, and it has no name. */
  readonly only?: true;
  readonly read: (snapshot: EngineSnapshot, name: string) => unknown;
  /** Names, numbers and switches only. No input, no code, no text of a definition, no secret and no command has a field here. */
  readonly shows: Shape;
}

const RATE: Shape = { max: true, window: true, burst: true, perKey: true };
const GRANT: Shape = {
  handlers: true,
  anyHandler: true,
  queues: true,
  slots: true,
  permissions: true,
  ownCredentials: true,
};
const POLICY: Shape = {
  min: true,
  max: true,
  tasksPerWorker: true,
  scaleUpThreshold: true,
  targetWaitMs: true,
  idleMs: true,
  cooldownUpMs: true,
  cooldownDownMs: true,
  burst: true,
  startMs: true,
};

export const THINGS: { readonly [K in Kind]: Thing } = {
  credential: {
    read: (snapshot, name) => credentialOperations.getCredential(snapshot, { params: { name } }),
    shows: { version: true, kind: true, level: true, workers: true, tags: true },
  },
  limit: {
    read: (snapshot, name) => limitOperations.getLimit(snapshot, { params: { name } }),
    shows: {
      concurrent: true,
      perKey: true,
      rate: RATE,
      cost: RATE,
      strategy: true,
      backlog: true,
      revision: true,
      pausedUntil: true,
    },
  },
  node: {
    read: async (snapshot, id) => (await clusterOperations.getCluster(snapshot)).nodes.find((node) => node.id === id),
    shows: { state: true, role: true, wish: true, override: true },
  },
  pool: {
    read: (snapshot, name) => poolOperations.getPool(snapshot, { params: { name } }),
    shows: {
      queues: true,
      enabled: true,
      policy: POLICY,
      worker: { life: true, slots: true, tags: true },
      launcher: { kind: true },
      revision: true,
    },
  },
  queue: {
    read: (snapshot, queue) => queueOperations.getQueue(snapshot, { params: { queue } }),
    shows: { paused: true, ready: true, running: true, scheduled: true, waiting: true, failed: true, cancelled: true },
  },
  run: {
    read: (snapshot, id) => runOperations.getRun(snapshot, { params: { id } }),
    shows: {
      name: true,
      kind: true,
      state: true,
      queue: true,
      handler: true,
      cancelRequestedAt: true,
      budgets: { unit: true, soft: true, hard: true, taken: true, waiting: true },
    },
  },
  schedule: {
    read: (snapshot, name) => scheduleOperations.getSchedule(snapshot, { params: { name } }),
    shows: {
      queue: true,
      handler: true,
      priority: true,
      maxAttempts: true,
      timezone: true,
      missed: true,
      state: true,
      times: { cron: true, every: true, at: true, daily: true, weekly: true, monthly: true },
    },
  },
  tag: {
    read: async ({ engine }, name) => {
      const [made, settings] = await Promise.all([engine.store.tagList(), engine.store.workerSettings()]);
      const givenTo = settings.filter(({ tags }) => tags.includes(name)).map((setting) => setting.name);
      const isMade = made.some((tag) => tag.name === name);
      return isMade || givenTo.length > 0 ? { made: isMade, givenTo } : undefined;
    },
    shows: { made: true, givenTo: true },
  },
  task: {
    read: (snapshot, id) => taskOperations.getTask(snapshot, { params: { id } }),
    shows: { state: true, queue: true, handler: true, priority: true, attempt: true, cancelRequestedAt: true },
  },
  token: {
    read: async ({ engine }, id) => (await engine.store.tokenList()).find((token) => String(token.id) === id),
    shows: { id: true, kind: true, role: true, name: true, by: true, expiresAt: true, revokedAt: true },
  },
  trigger: {
    read: (snapshot, name) => triggerOperations.getTrigger(snapshot, { params: { name } }),
    shows: {
      kind: true,
      on: true,
      queues: true,
      states: true,
      check: true,
      rate: true,
      enabled: true,
      execution: true,
      // Where its secret is, as one word.
      signature: true,
      secret: true,
      changedAt: true,
      push: { queue: true, handler: true, priority: true },
      run: { workflow: true, use: true, queue: true },
    },
  },
  upgrade: {
    only: true,
    read: ({ engine }) => engine.upgrades.policy(),
    shows: { target: true, canary: true, pinned: true, refused: true },
  },
  view: {
    read: async ({ engine }, name) => (await engine.store.viewList()).find((view) => view.name === name),
    shows: { screen: true, by: true },
  },
  worker: {
    read: async ({ engine }, name) => (await engine.store.workerSettings()).find((setting) => setting.name === name),
    shows: { enabled: true, priority: true, tags: true, grant: GRANT },
  },
  workflow: {
    read: (snapshot, name) => workflowOperations.getWorkflow(snapshot, { params: { name } }),
    shows: { version: true, definition: true, enabled: true, triggers: { node: true, state: true } },
  },
};

/** The thing as it is now; undefined: it is not there, or cannot be read. */
export async function readThing(kind: Kind, snapshot: EngineSnapshot, name: string): Promise<unknown> {
  const { only, read } = THINGS[kind] as Thing;
  if (name === '' && only !== true) return undefined;
  try {
    return await read(snapshot, name);
  } catch (error) {
    // A name that is none is for the action itself to refuse.
    if (isEngineError(error) && error.status < 500) return undefined;
    throw error;
  }
}
