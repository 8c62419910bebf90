import { parseDuration } from '../../core/duration.ts';
import type { Handlers } from '../route-handler.ts';

export const tokenRoutes: Handlers<'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'> = {
  async listTokens({ tokens }) {
    return { tokens: await tokens.list() };
  },

  createToken({ body: { name, role, ttl }, tokens, principal }) {
    const ttlMs = ttl === undefined ? undefined : parseDuration(ttl, 'ttl');
    return tokens.create({ name, role, ttlMs }, principal.name);
  },

  rotateToken: ({ params, body, tokens, principal }) =>
    tokens.rotate(params.id, parseDuration(body.grace, 'grace'), principal.name),

  revokeToken: ({ params, tokens }) => tokens.revoke(params.id),
};
