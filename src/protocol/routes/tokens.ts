import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Duration } from '../shapes/common.ts';
import { NewToken, Token, TokenInput } from '../shapes/token.ts';
import { API, oneToken } from './address.ts';

/** Tokens of people and programs. */
export const TOKEN_ROUTES = {
  listTokens: route({
    method: 'GET',
    path: `${API}/tokens`,
    access: 'admin',
    does: 'Tokens, without their texts',
    answer: z.object({ tokens: z.array(Token).readonly() }),
  }),
  createToken: route({
    method: 'POST',
    path: `${API}/tokens`,
    access: 'admin',
    does: 'Makes a token. Its text is shown only now',
    body: TokenInput,
    answer: NewToken,
    status: 201,
  }),
  rotateToken: route({
    method: 'POST',
    path: `${API}/tokens/{id}/rotate`,
    access: 'admin',
    does: 'Makes another token like it; the old one stays valid for the grace',
    params: oneToken,
    body: z.strictObject({ grace: Duration.default(0) }),
    answer: NewToken,
    status: 201,
  }),
  revokeToken: route({
    method: 'DELETE',
    path: `${API}/tokens/{id}`,
    access: 'admin',
    does: 'Revokes a token; its connections are closed within a second',
    params: oneToken,
    answer: z.object({ revoked: z.literal(true) }),
  }),
} as const satisfies Record<string, Route>;
