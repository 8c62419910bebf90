import type { TokenStore } from '../../../store.ts';
import {
  addToken,
  areTokensAlive,
  exchangeToken,
  findToken,
  listTokens,
  noteTokensUsed,
  revokeToken,
} from '../../verbs/admin/token.ts';
import type { StoreParts } from '../store-parts.ts';

export function tokenStore({ calls, dedup, hints }: StoreParts): TokenStore {
  return {
    tokenAdd(adding) {
      const flushId = dedup.next();
      const added = calls.transaction((session) => addToken(session, flushId, adding));
      return adding.setting === undefined ? added : added.finally(() => hints.everything());
    },
    tokenFind: ({ hash }) => calls.run((session) => findToken(session, hash)),
    tokenExchange(exchange) {
      const flushId = dedup.next();
      return calls.transaction((session) => exchangeToken(session, flushId, exchange));
    },
    tokenAlive: ({ ids }) => calls.run((session) => areTokensAlive(session, ids)),
    tokenUsed: ({ ids }) => calls.run((session) => noteTokensUsed(session, ids)),
    tokenList: () => calls.run(listTokens),
    tokenRevoke({ id }) {
      const flushId = dedup.next();
      return calls.transaction((session) => revokeToken(session, flushId, id));
    },
  };
}
