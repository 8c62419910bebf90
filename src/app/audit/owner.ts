import { hostname, userInfo } from 'node:os';
import type { AuditFace } from '../../core/audit/entry.ts';
import type { Actor } from '../../operate/audit/recorder.ts';

/** Who can open the store needs no token: the audit names the user of this host. */
export function ownerBy(face: AuditFace): Actor {
  return { name: userName(), role: 'owner', face, address: hostname() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'owner';
  }
}
