import type { BrowserSessionStore } from '../../../store.ts';
import {
  addBrowserSession,
  endBrowserSession,
  findBrowserSession,
  keptBrowserSessions,
} from '../../verbs/admin/browser-session.ts';
import type { StoreParts } from '../store-parts.ts';

export function browserSessionStore({ calls, writer }: StoreParts): BrowserSessionStore {
  return {
    browserSessionAdd: (session) => writer.write('rest', (tx) => addBrowserSession(tx, session)),
    browserSessionFind: ({ hash }) => writer.read(({ sql }) => findBrowserSession(sql, hash, writer.clock.calendar())),
    async browserSessionAlive({ ids }) {
      const asked = JSON.stringify(ids);
      const kept = await calls.again('browserSessionKept', asked, ({ sql }) => keptBrowserSessions(sql, asked));
      const now = writer.clock.calendar();
      return ids.map((id) => (kept.get(id) ?? 0) > now);
    },
    browserSessionEnd: ({ hash }) => writer.write('rest', (tx) => endBrowserSession(tx, hash)),
  };
}
