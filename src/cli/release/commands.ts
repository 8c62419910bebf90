import type { Group } from '../kit/command.ts';

/** Releases of the worker, and which worker should run which. */
export const RELEASE_COMMANDS = {
  upgrade: {
    doc: 'Say which release workers should run',
    commands: {
      status: {
        doc: 'Show which release each worker runs, which it should run, and what its updater says',
        load: async () => (await import('../upgrade/status.ts')).status,
      },
      to: {
        doc: 'Send older workers to a release, each when its tasks have ended',
        load: async () => (await import('../upgrade/to.ts')).to,
      },
      canary: {
        doc: 'Send only a share of the workers, always the same ones',
        load: async () => (await import('../upgrade/canary.ts')).canary,
      },
      pin: {
        doc: 'Let workers stay as they are',
        load: async () => (await import('../upgrade/pin.ts')).pin,
      },
      unpin: {
        doc: 'Let workers that were pinned go with the others again',
        load: async () => (await import('../upgrade/unpin.ts')).unpin,
      },
      refuse: {
        doc: 'Give no more work to a release: its workers end what they run and have to go',
        load: async () => (await import('../upgrade/refuse.ts')).refuse,
      },
      allow: {
        doc: 'Give work again to a release that was refused',
        load: async () => (await import('../upgrade/allow.ts')).allow,
      },
    },
  },
  release: {
    doc: 'Make, sign and check releases of the worker',
    commands: {
      key: {
        doc: 'Make a key that signs releases of the worker, and print its public half, which hosts pin',
        load: async () => (await import('./key.ts')).key,
      },
      sign: {
        doc: 'Sign the release of the worker in a folder, or sign it again before it expires',
        load: async () => (await import('./sign.ts')).sign,
      },
      verify: {
        doc: 'Check the release in a folder as an updater would: signature, hash, time',
        load: async () => (await import('./verify.ts')).verify,
      },
    },
  },
} as const satisfies Readonly<Record<string, Group>>;
