import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { bornOf, isAlive } from '../../../spool/owner.ts';

/** The owner of leases: this process, and one of its handles of a file. */
export function processOwner(): string {
  return JSON.stringify([hostname(), process.pid, bornOf(process.pid) ?? null, randomUUID()]);
}

/** Whether an owner was a process of this host that has ended. Of others nobody here can tell. */
export function isGone(owner: string): boolean {
  const [host, pid, born] = parsed(owner);
  if (host !== hostname() || typeof pid !== 'number' || (pid === process.pid && born === bornOf(pid))) return false;
  return !isAlive({ url: '', name: '', incarnation: '', pid, born: typeof born === 'string' ? born : undefined });
}

function parsed(owner: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(owner);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
