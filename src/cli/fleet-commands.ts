import type { Group } from './kit/command.ts';

/** How many workers there are, what starts work, and how much of it may run at once. */
export const FLEET_COMMANDS: Readonly<Record<string, Group>> = {
  pools: {
    doc: 'See and change how many workers there are',
    commands: {
      list: {
        doc: 'List pools: how many workers there are, what waits, and what a check would do',
        load: async () => (await import('./pools/list.ts')).list,
      },
      show: {
        doc: 'Show one pool: its policy, what a check would do now, and its last starts',
        load: async () => (await import('./pools/show.ts')).show,
      },
      set: {
        doc: 'Create a pool, or change the given parts of one',
        load: async () => (await import('./pools/set.ts')).set,
      },
      check: {
        doc: 'Check a pool now: start the workers that are missing, or send idle ones home',
        load: async () => (await import('./pools/check.ts')).check,
      },
      decisions: {
        doc: 'List what was decided about a pool and why, the newest first',
        load: async () => (await import('./pools/decisions.ts')).decisions,
      },
      remove: {
        doc: 'Remove a pool: its workers stay, those still to come are refused',
        load: async () => (await import('./pools/remove.ts')).remove,
      },
    },
  },
  pool: {
    doc: 'Pools in the words of FlatMachines and Universal Agent',
    commands: {
      run: {
        doc: 'Run a pool of workers for runs of agents: more as runs wait, fewer as none do',
        load: async () => (await import('./pool/run.ts')).run,
      },
      seed: {
        doc: 'Add tasks to the queue of a pool, to try it out',
        load: async () => (await import('./pool/seed.ts')).seed,
      },
      check: {
        doc: 'Start the workers that a pool is missing; made for a cron, and needs no process that stays',
        load: async () => (await import('./pool/check.ts')).check,
      },
      reap: {
        doc: 'Mark workers as lost that have fallen silent, and give their tasks back; made for a cron',
        load: async () => (await import('./pool/reap.ts')).reap,
      },
      status: {
        doc: 'Count the jobs and workers of a pool, in the words of FlatMachines',
        load: async () => (await import('./pool/status.ts')).status,
      },
    },
  },
  credentials: {
    doc: 'Keep secrets, and give them to chosen workers',
    commands: {
      list: {
        doc: 'List credentials: who may hold them and who does, never what they are',
        load: async () => (await import('./credentials/list.ts')).list,
      },
      show: {
        doc: 'Show one credential with each of its holders, and why one does not have it',
        load: async () => (await import('./credentials/show.ts')).show,
      },
      set: {
        doc: 'Make a credential, or give it another value, which goes to all its holders',
        load: async () => (await import('./credentials/set.ts')).set,
      },
      grant: {
        doc: 'Give a credential to more workers, or demand how they keep it',
        load: async () => (await import('./credentials/grant.ts')).grant,
      },
      revoke: {
        doc: 'Take a credential away from workers',
        load: async () => (await import('./credentials/revoke.ts')).revoke,
      },
      remove: {
        doc: 'Remove a credential: its value here at once, and at its holders as soon as they hear of it',
        load: async () => (await import('./credentials/remove.ts')).remove,
      },
    },
  },
  triggers: {
    doc: 'Start work by what happens',
    commands: {
      list: {
        doc: 'List triggers: what they listen to, what they do, how they last fired',
        load: async () => (await import('./triggers/list.ts')).list,
      },
      show: {
        doc: 'Show one trigger with its last firings',
        load: async () => (await import('./triggers/show.ts')).show,
      },
      set: {
        doc: 'Create a trigger, or replace the one of that name',
        load: async () => (await import('./triggers/set.ts')).set,
      },
      apply: {
        doc: 'Make or replace all triggers of a file, such as a trigger_registry.yml',
        load: async () => (await import('./triggers/apply.ts')).apply,
      },
      fire: {
        doc: 'Fire a trigger of any kind by hand, also one that is off',
        load: async () => (await import('./triggers/fire.ts')).fire,
      },
      history: {
        doc: 'Print what became of the last firings of a trigger, the newest first',
        load: async () => (await import('./triggers/history.ts')).history,
      },
      enable: {
        doc: 'Turn a trigger on; what happened while it was off is not made up for',
        load: async () => (await import('./triggers/enable.ts')).enable,
      },
      disable: {
        doc: 'Turn a trigger off: nothing fires it but somebody who asks for it',
        load: async () => (await import('./triggers/disable.ts')).disable,
      },
      rotate: {
        doc: 'Give a webhook another secret, which holds at once',
        load: async () => (await import('./triggers/rotate.ts')).rotate,
      },
      remove: {
        doc: 'Remove a trigger with its history; its tasks stay',
        load: async () => (await import('./triggers/remove.ts')).remove,
      },
    },
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
        doc: 'Create a limit, or change the given parts of one; running tasks go on',
        load: async () => (await import('./limits/set.ts')).set,
      },
      remove: {
        doc: 'Remove a limit: tasks that wait for it run without it, new ones that name it are refused',
        load: async () => (await import('./limits/remove.ts')).remove,
      },
      pause: {
        doc: 'Start nothing for a while that takes from a limit, or from one of its keys; running tasks go on',
        load: async () => (await import('./limits/pause.ts')).pause,
      },
      resume: {
        doc: 'End the pause of a limit, or of one of its keys, early',
        load: async () => (await import('./limits/resume.ts')).resume,
      },
    },
  },
};
