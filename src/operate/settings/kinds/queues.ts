import { z } from 'zod';
import { checkName } from '../../../core/names.ts';
import { inShape } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

const Queue = z.strictObject({ paused: z.boolean().default(false) });

/** Whether queues are paused. One that goes on has no settings, and is there by its first push. */
export const QUEUES: SettingsKind = {
  word: 'queues',

  read(name, value) {
    checkName('queue', name);
    return inShape(Queue, `queues.${name}`, value ?? {}).paused ? { paused: true } : {};
  },

  async list(caller, named) {
    const { queues } = await caller.call('listQueues');
    const found = new Map(queues.flatMap(({ name, paused }) => (paused ? [[name, { paused }] as const] : [])));
    // A queue that nobody has pushed to goes on as well.
    return new Map([...[...named].map((name) => [name, {}] as const), ...found]);
  },

  async put(caller, { name: queue, wanted, by }) {
    await caller.call(wanted['paused'] === true ? 'pauseQueue' : 'resumeQueue', { params: { queue }, by });
    return undefined;
  },

  remove: (caller, queue, by) => caller.call('resumeQueue', { params: { queue }, by }),
};
