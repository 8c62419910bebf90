/** Leases of sessions: one owner at a time works in a session, whatever its runs are. */
import { checkKey, type DutyRecord } from '../../app/library/manual.ts';
import { refuse } from '../refuse.ts';
import type { RuntimeDb } from './runtime-db.ts';

/** `active`: somebody has it. `degraded`: its owner fell silent, and did not give it back. `idle`: nobody has it. */
export type SessionStatus = 'active' | 'degraded' | 'idle';

export interface SessionLease {
  readonly session_id: string;
  readonly status: SessionStatus;
  /** The last one; null: there was none, or it has given the session back. */
  readonly lease_owner: string | null;
  /** ISO 8601 in UTC. */
  readonly lease_expires_at: string | null;
}

const PREFIX = 'session:';

/** True: it is ours now, also when it was before. False while another owner has it; an owner that fell silent has it until its time is over. */
export async function acquireSessionLease(
  conn: RuntimeDb,
  sessionId: string,
  owner: string,
  ttlSeconds: number,
): Promise<boolean> {
  const { store } = conn.app.engine;
  const ttlMs = ttlOf(ttlSeconds);
  const name = nameOf(sessionId);
  const holder = checkKey('owner', owner);
  for (;;) {
    if ((await store.dutyTake({ name, holder, ttlMs })) !== undefined) return true;
    const { duty, isHeld } = await find(conn, name);
    // It ran out between the two looks.
    if (duty === undefined || !isHeld) continue;
    return duty.holder === holder && store.dutyRenew({ duty, ttlMs });
  }
}

/** False: it is not ours any more, and whoever works in it must stop. */
export async function heartbeatSessionLease(
  conn: RuntimeDb,
  sessionId: string,
  owner: string,
  ttlSeconds: number,
): Promise<boolean> {
  const ttlMs = ttlOf(ttlSeconds);
  const { duty, isHeld } = await find(conn, nameOf(sessionId));
  if (duty === undefined || !isHeld || duty.holder !== owner) return false;
  return conn.app.engine.store.dutyRenew({ duty, ttlMs });
}

/** Gives it back. Of another owner it does nothing. */
export async function releaseSessionLease(conn: RuntimeDb, sessionId: string, owner: string): Promise<void> {
  const { duty } = await find(conn, nameOf(sessionId));
  if (duty?.holder === owner) await conn.app.engine.store.dutyRelease({ duty });
}

/** Null: nobody has ever had it. */
export async function getSessionLease(conn: RuntimeDb, sessionId: string): Promise<SessionLease | null> {
  const { duty, isHeld } = await find(conn, nameOf(sessionId));
  if (duty === undefined) return null;
  const isGivenBack = duty.until === 0;
  const { calendar, lease } = await conn.app.engine.store.clock();
  return {
    session_id: sessionId,
    status: isGivenBack ? 'idle' : isHeld ? 'active' : 'degraded',
    lease_owner: isGivenBack ? null : duty.holder,
    lease_expires_at: isGivenBack ? null : new Date(duty.until + calendar - lease).toISOString(),
  };
}

async function find(
  conn: RuntimeDb,
  name: string,
): Promise<{ readonly duty: DutyRecord | undefined; readonly isHeld: boolean }> {
  const { now, duties } = await conn.app.engine.store.dutyList();
  const duty = duties.find((one) => one.name === name);
  return { duty, isHeld: duty !== undefined && duty.until > now };
}

function nameOf(sessionId: string): string {
  return `${PREFIX}${checkKey('session_id', sessionId)}`;
}

function ttlOf(seconds: unknown): number {
  if (typeof seconds === 'number' && seconds >= 0.01 && seconds <= 86_400) return Math.round(seconds * 1000);
  throw refuse('lease_ttl_seconds', 'it must be a number of seconds from 0.01 to 86400');
}
