import type { BrowserSessionStore } from '../../../store.ts';
import {
  addBrowserSession,
  areBrowserSessionsAlive,
  endBrowserSession,
  findBrowserSession,
} from '../../verbs/admin/browser-session.ts';
import type { StoreParts } from '../store-parts.ts';

export function browserSessionStore({ calls, dedup }: StoreParts): BrowserSessionStore {
  return {
    browserSessionAdd(added) {
      const flushId = dedup.next();
      return calls.transaction((session) => addBrowserSession(session, flushId, added));
    },
    browserSessionFind: ({ hash }) => calls.run((session) => findBrowserSession(session, hash)),
    browserSessionAlive: ({ ids }) => calls.run((session) => areBrowserSessionsAlive(session, ids)),
    browserSessionEnd({ hash }) {
      const flushId = dedup.next();
      return calls.transaction((session) => endBrowserSession(session, flushId, hash));
    },
  };
}
