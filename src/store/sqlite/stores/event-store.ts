import type { EventStore } from '../../store.ts';
import { requireDuty } from '../verbs/admin/duty.ts';
import { readEvents } from '../verbs/admin/event.ts';
import type { StoreParts } from './store-parts.ts';

export function eventStore({ calls, writer }: StoreParts): EventStore {
  return {
    eventRead: ({ after, limit }) =>
      calls.again('eventRead', `${after} ${limit} ${writer.eventCommits}`, ({ sql }) => readEvents(sql, after, limit)),
    /** Events are numbered when they are written. */
    async eventNumber({ duty }) {
      await writer.read((connection) => requireDuty(connection, duty));
      return { events: 0, more: false };
    },
  };
}
