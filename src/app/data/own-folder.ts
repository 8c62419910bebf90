import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';

const ROOT = 0;

/** What a node or a worker that finds it in its data folder believes: who may come in, what is signed, what is run. */
const BELIEVED = [
  'token',
  'cluster-secret',
  'worker.json',
  'spool',
  'leasehold.db',
  'leasehold.db-wal',
  'leasehold.db-shm',
  'leasehold.db-journal',
] as const;

export interface FoundFolder {
  readonly folder: string;
  /** Whether it was named, and not only found where the process was started. */
  readonly named: boolean;
}

/**
 * Refuses a data folder in which another user may have put a token, a secret or a store: who can prepare a `.leasehold` where
 * somebody starts a node would be its admin. The owner of a folder that was named is trusted, and root always is.
 */
export function requireOwnFolder({ folder, named }: FoundFolder): void {
  const user = process.getuid?.();
  const owner = ownerOf(folder, statSync);
  if (user === undefined || owner === undefined) return;
  const trusted = new Set([user, ROOT, ...(named ? [owner] : [])]);
  // The link as well, if it is one: it may lead to a folder of ours that is for something else.
  const isOurs = (path: string): boolean =>
    [lstatSync, statSync].every((look) => trusted.has(ownerOf(path, look) ?? user));
  const foreign = [...(named ? [] : [folder]), ...BELIEVED.map((name) => join(folder, name))].find(
    (path) => !isOurs(path),
  );
  if (foreign === undefined) return;
  throw fault(
    'FORBIDDEN',
    { problem: `${foreign} belongs to another user, who would decide what runs here and who may come in` },
    {
      hint:
        foreign === folder
          ? `Start it elsewhere. If you trust that user, name the folder: --data-dir ${folder}`
          : 'Remove it, or make it yours (chown) if you know that it is good.',
    },
  );
}

/** Undefined: it is not there. */
function ownerOf(path: string, look: typeof lstatSync): number | undefined {
  try {
    return look(path).uid;
  } catch {
    return undefined;
  }
}
