import type { LimitView, TaskView, WorkerView } from '../../operate/views.ts';
import type { EventView, Overview, QueueRow, TopViewModel } from './view-model.ts';

/** A fixed time. Its display depends on the time zone, so tests compare differences. */
export const NOW = 1_800_000_000_000;

export function testQueue(name: string, more: Partial<QueueRow> = {}): QueueRow {
  const none = { scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
  return { name, paused: false, ready: 0, running: 0, ...none, perSecond: undefined, oldestMs: undefined, ...more };
}

export function testWorker(name: string, more: Partial<WorkerView> = {}): WorkerView {
  return {
    id: `worker_${name}`,
    name,
    state: 'online',
    enabled: true,
    slots: 4,
    running: 0,
    priority: 0,
    tags: [],
    handlers: ['echo'],
    lastSeenAt: NOW,
    totalTasks: 0,
    currentTasks: [],
    ...more,
  };
}

export function testTask(id: string, more: Partial<TaskView> = {}): TaskView {
  return {
    id,
    queue: 'papers',
    handler: 'summarise',
    state: 'running',
    input: {},
    priority: 0,
    attempt: 1,
    tries: 1,
    maxAttempts: 3,
    createdAt: NOW - 20_000,
    startedAt: NOW - 12_000,
    worker: 'laptop',
    leaseExpiresAt: NOW + 25_000,
    ...more,
  };
}

export function testLimit(name: string, more: Partial<LimitView> = {}): LimitView {
  return {
    name,
    concurrent: 4,
    active: 0,
    waiting: 0,
    strategy: 'queue',
    revision: 1,
    changedAt: NOW,
    changedBy: '',
    ...more,
  };
}

export function testEvent(seq: number, more: Partial<EventView> = {}): EventView {
  return {
    seq,
    at: NOW,
    kind: 'claimed',
    words: [],
    task: `task_${seq}`,
    queue: 'papers',
    state: 'running',
    attempt: 1,
    ...more,
  };
}

const OVERVIEW: Overview = {
  at: NOW,
  health: 'well',
  sentence: 'All is well: 2 workers, nothing waits.',
  workers: { online: 2, draining: 0, disabled: 0, offline: 0 },
  slots: { all: 8, busy: 3 },
  tasks: { ready: 5, running: 3, scheduled: 0, waiting: 0, completed: 100, failed: 1, cancelled: 0 },
  held: [],
  oldestAgeMs: 0,
  approvals: 0,
  leader: 'node-a',
  incidents: [],
  series: {
    stepMs: 60_000,
    until: NOW,
    completed: [0, 1, 2],
    failed: [0, 0, 0],
    waiting: [0],
    running: [0],
    ageMs: [0],
  },
};

/** A view model for tests. */
export function testModel(
  more: Partial<Omit<TopViewModel, 'overview'>> & { readonly overview?: Partial<Overview> } = {},
): TopViewModel {
  return {
    at: NOW,
    skewMs: 0,
    version: '1.2.3',
    address: 'http://127.0.0.1:7420',
    role: 'admin',
    queues: [
      testQueue('papers', { ready: 5, running: 3, perSecond: 2.5, oldestMs: 65_000 }),
      testQueue('mail', { paused: true }),
    ],
    workers: [testWorker('laptop', { running: 3, currentTasks: ['task_1', 'task_2', 'task_3'] }), testWorker('gpu-1')],
    tasks: [testTask('task_1'), testTask('task_2', { startedAt: NOW - 60_000 }), testTask('task_3')],
    limits: [testLimit('openai', { active: 4, waiting: 2 })],
    events: [
      testEvent(1),
      testEvent(2),
      testEvent(3, { kind: 'registered', task: undefined, queue: undefined, state: undefined, worker: 'gpu-1' }),
    ],
    ...more,
    overview: { ...OVERVIEW, ...more.overview },
  };
}
