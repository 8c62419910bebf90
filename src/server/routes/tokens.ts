import { parseDuration } from '../../core/duration.ts';
import type { Handlers } from '../http/route-handler.ts';

export const tokenRoutes: Handlers<'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'> = {
  async listTokens({ tokens }) {
    return { tokens: await tokens.list() };
  },

  createToken({ body: { name, role, ttl }, tokens, by }) {
    const ttlMs = ttl === undefined ? undefined : parseDuration(ttl, 'ttl');
    return tokens.create({ name, role, ttlMs }, by);
  },

  rotateToken: ({ params, body, tokens, by }) => tokens.rotate(params.id, parseDuration(body.grace, 'grace'), by),

  revokeToken: ({ params, tokens }) => tokens.revoke(params.id),
};
