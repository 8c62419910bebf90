import type { TokenStore } from '../../../store.ts';
import {
  addToken,
  areTokensAlive,
  exchangeToken,
  findToken,
  listTokens,
  noteTokensUsed,
  revokeToken,
  validTokens,
} from '../../verbs/admin/token.ts';
import type { StoreParts } from '../store-parts.ts';

export function tokenStore({ calls, writer }: StoreParts): TokenStore {
  return {
    tokenAdd: (adding) => writer.write('rest', (tx) => addToken(tx, adding)),
    tokenFind: ({ hash }) => writer.read(({ sql }) => findToken(sql, hash, writer.clock.calendar())),
    tokenExchange: (exchange) => writer.write('rest', (tx) => exchangeToken(tx, exchange)),
    async tokenAlive({ ids }) {
      const asked = JSON.stringify(ids);
      const valid = await calls.again('tokenValid', asked, ({ sql }) => validTokens(sql, asked));
      return areTokensAlive(valid, ids, writer.clock.calendar());
    },
    tokenUsed: ({ ids }) => writer.write('rest', (tx) => noteTokensUsed(tx, ids)),
    tokenList: () => writer.read(({ sql }) => listTokens(sql)),
    tokenRevoke: ({ id }) => writer.write('rest', (tx) => revokeToken(tx, id)),
  };
}
