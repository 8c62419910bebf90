import { z } from 'zod';
import { AUDIT_FACES, AUDIT_OUTCOMES, type AuditFace, type AuditOutcome } from '../../core/audit/entry.ts';
import { digits, Json, Paging, Time, word } from './common.ts';

const text = z.string().min(1).max(200);
const time = digits(z.number().min(0));

export const AuditFilter = z.strictObject({
  ...Paging,
  actor: text.optional().describe('The name of a token or a user, or nobody'),
  action: text.optional().describe('Such as purgeQueue: the name of the operation'),
  target: text.optional().describe('The name or id of what was changed'),
  face: z.enum(AUDIT_FACES).optional().describe('The way that it came by'),
  outcome: z.enum(AUDIT_OUTCOMES).optional(),
  since: time.optional().describe('Calendar time in milliseconds, from which on'),
  until: time.optional().describe('Calendar time in milliseconds, before which'),
});

export const AuditEntry = z
  .object({
    id: z.number(),
    at: Time,
    endedAt: Time.optional(),
    actor: z.string().describe('Whose credential it was; nobody: a stranger'),
    role: z.string().describe('none: a stranger; owner: who can open the store'),
    token: z.number().optional().describe('The number of the token'),
    by: z.string().optional().describe('Who the caller said it was, which nobody has checked'),
    action: z.string(),
    target: z.string(),
    face: word<AuditFace>(),
    address: z.string().optional(),
    request: z.string().optional().describe('The x-request-id of its answer'),
    outcome: word<AuditOutcome>().describe(
      'done; refused; failed: it may have taken effect in part; began: its end was not written, and it may have taken effect',
    ),
    status: z.number().optional(),
    code: z.string().optional(),
    before: Json.optional().describe('What may be shown of the target as it was'),
    after: Json.optional().describe('And as it became, with what was asked and how much was changed'),
    times: z.number().optional().describe('It stands for so many refusals'),
  })
  .meta({ id: 'AuditEntry' });
