import { z } from 'zod';
import { ROLES } from '../route.ts';
import { Duration, Time } from './common.ts';

export const Token = z
  .object({
    id: z.number(),
    kind: z.enum(['bearer', 'secret', 'code']),
    role: z.enum(ROLES),
    name: z.string(),
    prefix: z.string().describe('How it begins, to recognise it'),
    by: z.string(),
    createdAt: Time,
    expiresAt: Time.optional(),
    usedAt: Time.optional().describe('When a code was exchanged'),
    lastUsedAt: Time.optional().describe('When it was last seen in use, to about a minute'),
    revokedAt: Time.optional(),
  })
  .meta({ id: 'Token' });

export const TokenInput = z.strictObject({
  name: z.string().min(1).max(100).describe('What it is for'),
  role: z.enum(['admin', 'operator', 'read']),
  ttl: Duration.optional().describe('How long it is valid; default until it is revoked'),
});

/** The text of the token is shown once and not stored. */
export const NewToken = Token.extend({ token: z.string() });
