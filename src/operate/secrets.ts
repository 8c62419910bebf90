import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../protocol/route.ts';

/** Says what a secret is for when it turns up somewhere. Scanners for leaked secrets go by it. */
const MARKS = {
  admin: 'adm',
  operator: 'opr',
  read: 'read',
  worker: 'wrk',
  code: 'code',
  login: 'login',
  session: 'ses',
  cluster: 'cls',
} as const;

/** 256 random bits with a mark in front. */
export function newSecret(kind: Role | 'code' | 'login' | 'session' | 'cluster'): string {
  return `lh_${MARKS[kind]}_${randomBytes(32).toString('base64url')}`;
}

/** The stored form. The bits are random, so that a fast hash is enough. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/**
 * The first characters behind the mark `lh_adm_`: enough to recognise the secret, too few to guess it. The rest may have
 * underscores too.
 */
export function prefixOf(secret: string): string {
  return secret.slice(0, secret.indexOf('_', 'lh_'.length) + 5);
}

/** In constant time. */
export function sameHash(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}
