import { createHash } from 'node:crypto';
import { idempotencyText, type Work } from '../../core/task/idempotency.ts';

/** The key of a piece of work: 64 hex digits. */
export function idempotencyKey(work: Work): string {
  return createHash('sha256').update(idempotencyText(work)).digest('hex');
}
