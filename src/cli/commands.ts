import { FLEET_COMMANDS } from './fleet-commands.ts';
import type { Entry, Group } from './kit/command.ts';
import { version } from './kit/version.ts';
import { RELEASE_COMMANDS } from './release/commands.ts';

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
    doc: 'Show a node live: queues, workers, running tasks, limits and events',
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
    doc: 'See, cancel and retry tasks',
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
        doc: 'Explain why a task does not run: its queue, its limits, and what keeps each worker from it',
        load: async () => (await import('./tasks/explain.ts')).explain,
      },
      logs: {
        doc: 'Print the log of a task',
        load: async () => (await import('./tasks/logs.ts')).logs,
      },
      cancel: {
        doc: 'Cancel tasks: waiting ones end at once, and the workers of running ones are asked to stop',
        load: async () => (await import('./tasks/cancel.ts')).cancel,
      },
      retry: {
        doc: 'Run finished tasks again, with a full budget of tries',
        load: async () => (await import('./tasks/retry.ts')).retry,
      },
    },
  },
  runs: {
    doc: 'See, follow and decide on runs',
    commands: {
      list: {
        doc: 'List runs, the newest first',
        load: async () => (await import('./runs/list.ts')).list,
      },
      show: {
        doc: 'Show a run: its states, its steps, what it waits for and what to type to answer',
        load: async () => (await import('./runs/show.ts')).show,
      },
      tail: {
        doc: 'Follow a run until its end: its steps, its tasks and what it waits for',
        load: async () => (await import('./runs/tail.ts')).tail,
      },
      cancel: {
        doc: 'Cancel a run with all its tasks, and keep the reason',
        load: async () => (await import('./runs/cancel.ts')).cancel,
      },
      retry: {
        doc: 'Go on with a run that failed or was cancelled, where it stopped',
        load: async () => (await import('./runs/retry.ts')).retry,
      },
      fork: {
        doc: 'Start another run from a step of this one, with other entries in its context',
        load: async () => (await import('./runs/fork.ts')).fork,
      },
      budget: {
        doc: 'Show what a run may use, or set it for all its tasks: a run that waits for it goes on',
        load: async () => (await import('./runs/budget.ts')).budget,
      },
      diff: {
        doc: 'Show what the branch of a loop has that its base has not',
        load: async () => (await import('./runs/diff.ts')).diff,
      },
      merge: {
        doc: 'Merge the branch of a loop that has ended or is paused into its target',
        load: async () => (await import('./runs/merge.ts')).merge,
      },
      scrap: {
        doc: 'Remove the worktree and the branch of a loop that has ended, with all that it has changed',
        load: async () => (await import('./runs/scrap.ts')).scrap,
      },
    },
  },
  workspaces: {
    doc: 'See and remove the folders that tasks have worked in, on this host',
    commands: {
      list: {
        doc: 'List the workspaces that lie on this host',
        load: async () => (await import('./workspaces/list.ts')).list,
      },
      clean: {
        doc: 'Remove workspaces of this host that no attempt has',
        load: async () => (await import('./workspaces/clean.ts')).clean,
      },
    },
  },
  artifacts: {
    doc: 'See, fetch and remove the files that tasks have left behind',
    commands: {
      list: {
        doc: 'List artifacts, the newest first',
        load: async () => (await import('./artifacts/list.ts')).list,
      },
      show: {
        doc: 'Show what is known of an artifact, without its bytes',
        load: async () => (await import('./artifacts/show.ts')).show,
      },
      get: {
        doc: 'Fetch the bytes of an artifact into a file, which is there only when all of them are right',
        load: async () => (await import('./artifacts/get.ts')).get,
      },
      remove: {
        doc: 'Remove artifacts; their bytes go a little later',
        load: async () => (await import('./artifacts/remove.ts')).remove,
      },
      usage: {
        doc: 'Say how many artifacts there are, and how much room they take',
        load: async () => (await import('./artifacts/usage.ts')).usage,
      },
    },
  },
  signal: {
    doc: 'Wake the task that has waited longest on a channel, or keep the signal for the next one',
    load: async () => (await import('./tasks/signal.ts')).signal,
  },
  approvals: {
    doc: 'List the tasks that wait for a decision, the oldest first',
    load: async () => (await import('./tasks/approvals.ts')).approvals,
  },
  approve: {
    doc: 'Approve a task that waits for a decision, or choose another action that it offers',
    load: async () => (await import('./tasks/decide.ts')).approve,
  },
  reject: {
    doc: 'Reject a task that waits for a decision, or choose another action that it offers',
    load: async () => (await import('./tasks/decide.ts')).reject,
  },
  run: {
    doc: 'Run a machine to its end, here or durably on a store or node, and print its output as JSON',
    load: async () => (await import('./machines/run.ts')).run,
  },
  machines: {
    doc: 'Draw and check machines',
    commands: {
      show: {
        doc: 'Draw a machine: its states, what each does, and where it leads',
        load: async () => (await import('./machines/show.ts')).show,
      },
      check: {
        doc: 'Say everything that is wrong with machines, strictly, each problem with its file and line',
        load: async () => (await import('./machines/check.ts')).check,
      },
      schema: {
        doc: 'Print the JSON Schema of machines, for an editor that completes and checks them',
        load: async () => (await import('./machines/schema.ts')).schema,
      },
    },
  },
  eval: {
    doc: 'Say what a condition or a template of a machine would give',
    load: async () => (await import('./machines/eval.ts')).evaluate,
  },
  render: {
    doc: 'Print the text of a template',
    load: async () => (await import('./machines/render.ts')).render,
  },
  queues: {
    doc: 'See, pause and empty queues',
    commands: {
      list: {
        doc: 'List queues with the number of their tasks in each state',
        load: async () => (await import('./queues/list.ts')).list,
      },
      pause: {
        doc: 'Stop claims from a queue; running tasks go on',
        load: async () => (await import('./queues/pause.ts')).pause,
      },
      resume: {
        doc: 'Allow claims from a paused queue again',
        load: async () => (await import('./queues/resume.ts')).resume,
      },
      purge: {
        doc: 'Cancel all waiting tasks of a queue; running tasks go on',
        load: async () => (await import('./queues/purge.ts')).purge,
      },
    },
  },
  workers: {
    doc: 'Manage workers',
    commands: {
      list: {
        doc: 'List workers, where they run and how busy they are',
        load: async () => (await import('./workers/list.ts')).list,
      },
      create: {
        doc: 'Create a worker for another host, and show the secret that it joins with',
        load: async () => (await import('./workers/create.ts')).create,
      },
      rotate: {
        doc: 'Give a worker another secret',
        load: async () => (await import('./workers/rotate.ts')).rotate,
      },
      remove: {
        doc: 'Refuse a worker from now on, and forget the settings of its name',
        load: async () => (await import('./workers/remove.ts')).remove,
      },
      enable: {
        doc: 'Let workers that were disabled or drained take tasks again',
        load: async () => (await import('./workers/enable.ts')).enable,
      },
      disable: {
        doc: 'Give workers no more tasks, also after a restart; running tasks go on',
        load: async () => (await import('./workers/disable.ts')).disable,
      },
      drain: {
        doc: 'Disable workers, and wait until their running tasks have ended',
        load: async () => (await import('./workers/drain.ts')).drain,
      },
      tag: {
        doc: 'Add tags to a worker beside its own, or remove added ones',
        load: async () => (await import('./workers/tag.ts')).tag,
      },
      grant: {
        doc: 'Say which handlers and queues a worker of another host may serve, and how many tasks at a time',
        load: async () => (await import('./workers/grant.ts')).grant,
      },
      permit: {
        doc: 'Permit to the tasks that a worker of another host runs what they may do to others',
        load: async () => (await import('./workers/permit.ts')).permit,
      },
      priority: {
        doc: 'Override the priority of a worker: higher ones get work first',
        load: async () => (await import('./workers/priority.ts')).priority,
      },
    },
  },
  cluster: {
    doc: 'See the nodes on a store, and change their roles',
    commands: {
      status: {
        doc: 'Show the nodes on a store, which of them leads, and which hold the duties',
        load: async () => (await import('./cluster/status.ts')).status,
      },
      role: {
        doc: 'Change the role of a running node, or undo that',
        load: async () => (await import('./cluster/role.ts')).role,
      },
      secret: {
        doc: 'Check the secret that the nodes of a store share, or let the store take another one',
        load: async () => (await import('./cluster/secret.ts')).secret,
      },
    },
  },
  ...RELEASE_COMMANDS,
  audit: {
    doc: 'Show who did what: administrative actions, the newest first',
    load: async () => (await import('./cluster/audit.ts')).audit,
  },
  tags: {
    doc: 'See, make, rename and remove the tags of workers',
    alone: 'list',
    commands: {
      list: {
        doc: 'List tags, where each is used, and those that tasks require and nobody has',
        load: async () => (await import('./tags/list.ts')).list,
      },
      create: {
        doc: 'Make a tag, which is listed also while no worker carries it',
        load: async () => (await import('./tags/create.ts')).create,
      },
      rename: {
        doc: 'Give a tag another name, at all workers that were given it',
        load: async () => (await import('./tags/rename.ts')).rename,
      },
      remove: {
        doc: 'Remove a tag that is not used, or with --force take it from its workers',
        load: async () => (await import('./tags/remove.ts')).remove,
      },
    },
  },
  workflows: {
    doc: 'Keep workflows',
    commands: {
      run: {
        doc: 'Run a workflow from a file, or a stored one, on any workers, and print its output',
        load: async () => (await import('./workflows/run.ts')).run,
      },
      show: {
        doc: 'Draw a workflow of nodes and connections: what each node does, and where it leads',
        load: async () => (await import('./workflows/show.ts')).show,
      },
      check: {
        doc: 'Say everything that is wrong with workflows, each problem with its file and line',
        load: async () => (await import('./workflows/check.ts')).check,
      },
      list: {
        doc: 'List stored workflows: their versions, whether they are on, and when they start next',
        load: async () => (await import('./workflows/list.ts')).list,
      },
      apply: {
        doc: 'Store a workflow, or a new version of the one of its name, and say what changes',
        load: async () => (await import('./workflows/apply.ts')).apply,
      },
      enable: {
        doc: 'Let the triggers of a stored workflow start runs; what is past due starts at once',
        load: async () => (await import('./workflows/enable.ts')).enable,
      },
      disable: {
        doc: 'Let the triggers of a stored workflow start nothing more; its runs go on',
        load: async () => (await import('./workflows/disable.ts')).disable,
      },
      versions: {
        doc: 'List the versions of a stored workflow, the newest first: who made them and when',
        load: async () => (await import('./workflows/versions.ts')).versions,
      },
      restore: {
        doc: 'Make an old version of a stored workflow the newest again, as a new version',
        load: async () => (await import('./workflows/restore.ts')).restore,
      },
      remove: {
        doc: 'Remove a stored workflow with its versions and schedules; its runs stay',
        load: async () => (await import('./workflows/remove.ts')).remove,
      },
      schema: {
        doc: 'Print the JSON Schema of workflows, for an editor that completes and checks them',
        load: async () => (await import('./workflows/schema.ts')).schema,
      },
    },
  },
  schedules: {
    doc: 'See and change what is pushed by a clock',
    commands: {
      list: {
        doc: 'List schedules, when they fire next and what became of the last time',
        load: async () => (await import('./schedules/list.ts')).list,
      },
      show: {
        doc: 'Show one schedule: its next fire times, and what became of the last ones',
        load: async () => (await import('./schedules/show.ts')).show,
      },
      set: {
        doc: 'Create a schedule, or replace the one of that name',
        load: async () => (await import('./schedules/set.ts')).set,
      },
      next: {
        doc: 'Print the next fire times of a schedule, one a line',
        load: async () => (await import('./schedules/next.ts')).next,
      },
      run: {
        doc: 'Push the task of a schedule now; its fire times stay as they are',
        load: async () => (await import('./schedules/run.ts')).run,
      },
      pause: {
        doc: 'Pause a schedule: it fires nothing until it is resumed, and misses nothing',
        load: async () => (await import('./schedules/pause.ts')).pause,
      },
      resume: {
        doc: 'Let a paused schedule go on with its first fire time from now on',
        load: async () => (await import('./schedules/resume.ts')).resume,
      },
      remove: {
        doc: 'Remove a schedule with its history; its tasks stay',
        load: async () => (await import('./schedules/remove.ts')).remove,
      },
    },
  },
  ...FLEET_COMMANDS,
  apply: {
    doc: 'Make tags, limits, queues, workers, pools, workflows, schedules and triggers as a file says',
    load: async () => (await import('./settings/apply.ts')).apply,
  },
  export: {
    doc: 'Print all settings as a file that "apply" takes; no secret is in it',
    load: async () => (await import('./settings/export.ts')).exportSettings,
  },
  keys: {
    doc: 'Make keys that sign tasks',
    commands: {
      make: {
        doc: 'Make a key that signs tasks, and beside it the public one that workers trust',
        load: async () => (await import('./keys/make.ts')).make,
      },
    },
  },
  doctor: {
    doc: 'Check this host and the store, and say what to do about what is wrong',
    load: async () => (await import('./store/doctor.ts')).doctor,
  },
  backup: {
    doc: 'Back up a store, while it is in use, into one checked file',
    load: async () => (await import('./store/backup.ts')).backup,
  },
  restore: {
    doc: 'Replace a store that no process has open by a backup',
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
