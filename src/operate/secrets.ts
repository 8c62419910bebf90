import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../protocol/route.ts';

/** Says what a text is for when it turns up somewhere; scanners for leaked secrets go by it. */
const MARKS = { admin: 'adm', operator: 'opr', read: 'read', worker: 'wrk', code: 'code', login: 'login' } as const;

/** 256 random bits, and a mark in front. */
export function newSecret(kind: Role | 'code' | 'login'): string {
  return `lh_${MARKS[kind]}_${randomBytes(32).toString('base64url')}`;
}

/** All that is kept of it. The bits are random, so that nothing slow is needed to keep them from being guessed. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The first characters behind the mark, `lh_adm_`: enough to recognise it, nothing to guess from. The rest may have underscores too. */
export function prefixOf(secret: string): string {
  return secret.slice(0, secret.indexOf('_', 'lh_'.length) + 5);
}

/** In a time that says nothing about where they differ. */
export function sameHash(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}
