import { readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LogEntry } from '../../core/task/log.ts';
import type { LeaseProof } from '../../protocol/frames.ts';
import { keyOf } from '../../protocol/held-leases.ts';
import { folderOf, isAlive, type Owner } from './owner.ts';
import { ENDS, type EndLine, type EndRequest, LOG } from './spool.ts';

/** What a dead process could not send about one attempt. */
export interface Leftover {
  /** Shipments of its log, oldest first; read on demand. */
  readonly logs: () => readonly (readonly LogEntry[])[];
  readonly lease: LeaseProof;
  readonly ends: readonly { readonly end: EndRequest; readonly id: string }[];
}

/** The folder of a dead process. */
export interface LeftoverSpool {
  readonly path: string;
  readonly owner: Owner;
  readonly leftovers: readonly Leftover[];
}

/** After this time nothing waits for it: finished tasks are kept no longer either. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000;

/** The folders that dead processes of this worker left for this node. */
export function findLeftovers(folder: string, heir: Owner, now: number): readonly LeftoverSpool[] {
  const spools: LeftoverSpool[] = [];
  for (const name of list(folder)) {
    const path = join(folder, name);
    if (name === folderOf(heir)) continue;
    const owner = ownerOf(path);
    if (owner !== undefined && owner.url === heir.url && owner.name === heir.name && !isAlive(owner)) {
      spools.push({ path, owner, leftovers: leftoversOf(path) });
    } else if ((owner === undefined || !isAlive(owner)) && isOld(path, now)) remove({ path });
  }
  return spools;
}

/** Removes it, and the folder of all spools if it was the last one. */
export function remove({ path }: Pick<LeftoverSpool, 'path'>): void {
  rmSync(path, { recursive: true, force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // Other spools are in it.
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOld(path: string, now: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && now - found.mtimeMs > MAX_AGE_MS;
}

function ownerOf(path: string): Owner | undefined {
  const [head] = linesOf(join(path, ENDS));
  return (head as { readonly owner?: Owner } | undefined)?.owner;
}

interface Found {
  readonly lease: LeaseProof;
  /** The file of its log. */
  log: string | undefined;
  /** The end, and a result to keep for reuse. */
  readonly ends: Map<string, Leftover['ends'][number]>;
}

function leftoversOf(path: string): readonly Leftover[] {
  const found = new Map<string, Found>();
  const of = (lease: LeaseProof): Found => {
    const known: Found = found.get(keyOf(lease)) ?? { lease, log: undefined, ends: new Map() };
    found.set(keyOf(lease), known);
    return known;
  };
  for (const name of list(path)) {
    if (!name.startsWith(LOG)) continue;
    const [head] = linesOf(join(path, name));
    const { lease } = (head ?? {}) as { readonly lease?: LeaseProof };
    if (lease !== undefined) of(lease).log = join(path, name);
  }
  for (const line of linesOf(join(path, ENDS)).slice(1) as EndLine[]) {
    if ('gone' in line) {
      const [task, attempt, keep] = line.gone.split('/');
      found.get(`${task}/${attempt}`)?.ends.delete(keep ?? 'end');
    } else of(line.end.lease).ends.set(line.end.type === 'keep' ? 'keep' : 'end', line);
  }
  return [...found.values()]
    .filter(({ log, ends }) => log !== undefined || ends.size > 0)
    .map(({ lease, log, ends }) => ({
      lease,
      logs: () => (log === undefined ? [] : (linesOf(log).slice(1) as (readonly LogEntry[])[])),
      ends: [...ends.values()],
    }));
}

/** A killed process may have left half a line: it is the last one, and was never acted upon. */
function linesOf(path: string): readonly unknown[] {
  const lines: unknown[] = [];
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  for (const line of text.split('\n')) {
    try {
      if (line !== '') lines.push(JSON.parse(line));
    } catch {
      break;
    }
  }
  return lines;
}
