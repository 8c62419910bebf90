import type { Entry, Group } from './command.ts';
import { version } from './version.ts';

/**
 * Everything that can be typed after `leasehold`. Behind dynamic imports: the help and `version` need no store, and no
 * command loads what only another one needs.
 */
export const COMMANDS: Readonly<Record<string, Entry | Group>> = {
  up: {
    doc: 'Run a node: open the store, do the housekeeping, run tasks in a built-in worker, show live figures',
    load: async () => (await import('./up.ts')).up,
  },
  dev: {
    doc: 'Run a node as "up" does, with the tasks of ./tasks/*.ts, loaded again whenever a file changes',
    load: async () => (await import('./dev.ts')).dev,
  },
  worker: {
    doc: 'Run a worker directly on a store: many at once share the work',
    load: async () => (await import('./worker.ts')).worker,
  },
  push: {
    doc: 'Add tasks to a queue',
    load: async () => (await import('./push.ts')).push,
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
    doc: 'See the workers',
    commands: {
      list: {
        doc: 'List workers, where they run and how busy they are',
        load: async () => (await import('./workers/list.ts')).list,
      },
    },
  },
  doctor: {
    doc: 'Check this machine and the store, and say what to do about what is wrong',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  backup: {
    doc: 'Copy a store, while it is in use, into one file that was checked',
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: {
    doc: 'Put a backup in the place of a store that no process has open',
    load: async () => (await import('./restore.ts')).restore,
  },
  migrate: {
    doc: 'Bring the tables of a store up to the version of this program, or move a store to Postgres',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  version: {
    doc: version.doc,
    load: () => Promise.resolve(version),
  },
};
