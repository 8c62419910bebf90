import type { Entry, Group } from './kit/command.ts';
import { version } from './kit/version.ts';

/**
 * All commands of `leasehold`. They are behind dynamic imports: the help and `version` need no store, and no command loads what
 * only another one needs.
 */
export const COMMANDS: Readonly<Record<string, Entry | Group>> = {
  up: {
    doc: 'Run a node: open the store, do the housekeeping, run tasks in a built-in worker, show live figures',
    load: async () => (await import('./node/up.ts')).up,
  },
  dev: {
    doc: 'Run a node as "up" does, with the tasks of ./tasks/*.ts, loaded again whenever a file changes',
    load: async () => (await import('./node/dev.ts')).dev,
  },
  login: {
    doc: 'Print a link that lets a browser into the web UI of a node, once and within ten minutes',
    load: async () => (await import('./node/login.ts')).login,
  },
  top: {
    doc: 'Show a node at a glance, as it goes: queues, workers, running tasks, limits and events',
    load: async () => (await import('./node/top.ts')).top,
  },
  worker: {
    doc: 'Run a worker, for a node on another host or directly on a store: many at once share the work',
    load: async () => (await import('./node/worker.ts')).worker,
  },
  push: {
    doc: 'Add tasks to a queue',
    load: async () => (await import('./tasks/push.ts')).push,
  },
  tasks: {
    doc: 'See, stop and repeat tasks',
    commands: {
      list: {
        doc: 'List tasks, the newest first',
        load: async () => (await import('./tasks/list.ts')).list,
      },
      show: {
        doc: 'Show everything about one task, and what to do next',
        load: async () => (await import('./tasks/show.ts')).show,
      },
      explain: {
        doc: 'Say why a task does not run: its queue, its limits, and what keeps each worker from it',
        load: async () => (await import('./tasks/explain.ts')).explain,
      },
      logs: {
        doc: 'Print what a task said',
        load: async () => (await import('./tasks/logs.ts')).logs,
      },
      cancel: {
        doc: 'End tasks that wait, and ask the workers of those that run to stop',
        load: async () => (await import('./tasks/cancel.ts')).cancel,
      },
      retry: {
        doc: 'Run finished tasks again, with a full budget of tries',
        load: async () => (await import('./tasks/retry.ts')).retry,
      },
    },
  },
  signal: {
    doc: 'Wake the task that has waited longest on a channel, or keep the signal for the next one',
    load: async () => (await import('./tasks/signal.ts')).signal,
  },
  approvals: {
    doc: 'List the tasks that wait for somebody to decide, the oldest first',
    load: async () => (await import('./tasks/approvals.ts')).approvals,
  },
  approve: {
    doc: 'Decide for a task that waits for it: approve, or another action it offers',
    load: async () => (await import('./tasks/decide.ts')).approve,
  },
  reject: {
    doc: 'Decide for a task that waits for it: reject, or another action it offers',
    load: async () => (await import('./tasks/decide.ts')).reject,
  },
  queues: {
    doc: 'See, hold and empty queues',
    commands: {
      list: {
        doc: 'List queues with the number of their tasks in each state',
        load: async () => (await import('./queues/list.ts')).list,
      },
      pause: {
        doc: 'Let nobody claim from a queue; what runs goes on',
        load: async () => (await import('./queues/pause.ts')).pause,
      },
      resume: {
        doc: 'Let a paused queue be claimed from again',
        load: async () => (await import('./queues/resume.ts')).resume,
      },
      purge: {
        doc: 'Cancel everything that waits in a queue; what runs goes on',
        load: async () => (await import('./queues/purge.ts')).purge,
      },
    },
  },
  workers: {
    doc: 'See and rule workers',
    commands: {
      list: {
        doc: 'List workers, where they run and how busy they are',
        load: async () => (await import('./workers/list.ts')).list,
      },
      create: {
        doc: 'Make room for a worker on another host, and show the secret that it joins with',
        load: async () => (await import('./workers/create.ts')).create,
      },
      rotate: {
        doc: 'Give a worker another secret',
        load: async () => (await import('./workers/rotate.ts')).rotate,
      },
      remove: {
        doc: 'Let a worker in no more, and forget what was said of its name',
        load: async () => (await import('./workers/remove.ts')).remove,
      },
      enable: {
        doc: 'Let workers that were disabled or drained take tasks again',
        load: async () => (await import('./workers/enable.ts')).enable,
      },
      disable: {
        doc: 'Let workers take no more tasks, also after a restart; what they run goes on',
        load: async () => (await import('./workers/disable.ts')).disable,
      },
      drain: {
        doc: 'Disable workers, and wait until what they run has ended',
        load: async () => (await import('./workers/drain.ts')).drain,
      },
      tag: {
        doc: 'Give tags to a worker besides those that it brings, or take given ones away',
        load: async () => (await import('./workers/tag.ts')).tag,
      },
      priority: {
        doc: 'Set the priority of a worker in place of its own: higher ones are given work first',
        load: async () => (await import('./workers/priority.ts')).priority,
      },
    },
  },
  cluster: {
    doc: 'See the nodes on a store, and change their roles',
    commands: {
      status: {
        doc: 'Show the nodes on a store, which of them leads, and who holds the duties',
        load: async () => (await import('./cluster/status.ts')).status,
      },
      role: {
        doc: 'Ask another role of a node while it runs, or take that back',
        load: async () => (await import('./cluster/role.ts')).role,
      },
    },
  },
  tags: {
    doc: 'List the tags that workers carry, and those that ready tasks require and nobody has',
    load: async () => (await import('./workers/tags.ts')).tags,
  },
  limits: {
    doc: 'See and change how much may run or start at once',
    commands: {
      list: {
        doc: 'List limits, what they allow, what is in use and what waits',
        load: async () => (await import('./limits/list.ts')).list,
      },
      show: {
        doc: 'Show one limit: what each of its keys has, and who changed it',
        load: async () => (await import('./limits/show.ts')).show,
      },
      set: {
        doc: 'Make a limit, or change what is given of one; what runs goes on',
        load: async () => (await import('./limits/set.ts')).set,
      },
      remove: {
        doc: 'Take a limit away: tasks that wait for it run without it, new ones that name it are refused',
        load: async () => (await import('./limits/remove.ts')).remove,
      },
      pause: {
        doc: 'Let nothing start for a while that takes from a limit, or from one of its keys; what runs goes on',
        load: async () => (await import('./limits/pause.ts')).pause,
      },
      resume: {
        doc: 'End the pause of a limit, or of one of its keys, before its time',
        load: async () => (await import('./limits/resume.ts')).resume,
      },
    },
  },
  doctor: {
    doc: 'Check this host and the store, and say what to do about what is wrong',
    load: async () => (await import('./store/doctor.ts')).doctor,
  },
  backup: {
    doc: 'Copy a store, while it is in use, into one file that was checked',
    load: async () => (await import('./store/backup.ts')).backup,
  },
  restore: {
    doc: 'Put a backup in the place of a store that no process has open',
    load: async () => (await import('./store/restore.ts')).restore,
  },
  migrate: {
    doc: 'Bring the tables of a store up to the version of this program, or move a store to Postgres',
    load: async () => (await import('./store/migrate.ts')).migrate,
  },
  version: {
    doc: version.doc,
    load: () => Promise.resolve(version),
  },
};
