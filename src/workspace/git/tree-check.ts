/** Looks at what a commit would put on the disk before it does: how much, and where its links lead. */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { GitCall } from './git-command.ts';
import type { Repository } from './repository.ts';

const LINK = '120000';
const MOST_TOLD = 64 * 1024 * 1024;
const MOST_LINKS = 10_000;
const LONGEST_LINK = 4096;

interface Link {
  readonly path: string;
  readonly object: string;
}

/** Refuses a commit that is too large, or has a link that leads out of it. `folder`: where it will be checked out. */
export async function checkTree(
  repository: Repository,
  commit: string,
  folder: string,
  call: GitCall = {},
): Promise<void> {
  const { git, dir } = repository;
  const { maxFiles, maxTreeBytes } = git.caps;
  const { out, truncated } = await git.run(['ls-tree', '-r', '-z', '-l', '--full-tree', commit], {
    ...call,
    dir,
    maxOutput: MOST_TOLD,
    cut: true,
  });
  const entries = out.split('\0').slice(0, -1);
  if (truncated || entries.length > maxFiles) throw refuse(`it has more than ${maxFiles} files`);
  const links: Link[] = [];
  const folded = (await foldsCase(folder)) ? new Set<string>() : undefined;
  let bytes = 0;
  for (const entry of entries) {
    const tab = entry.indexOf('\t');
    const [mode, , object = '', size = ''] = entry.slice(0, tab).split(/ +/);
    const path = entry.slice(tab + 1);
    bytes += Number(size) || 0;
    if (mode === LINK) links.push({ path, object });
    const spelling = path.normalize('NFC').toLowerCase();
    if (folded?.has(spelling)) throw refuse(`two of its files have one name on this disk: ${JSON.stringify(path)}`);
    folded?.add(spelling);
  }
  if (bytes > maxTreeBytes) throw refuse(`its files have more than ${maxTreeBytes} bytes`);
  if (links.length > MOST_LINKS) throw refuse(`it has more than ${MOST_LINKS} links`);
  if (links.length > 0) await checkLinks(repository, links, call);
}

async function checkLinks({ git, dir }: Repository, links: readonly Link[], call: GitCall): Promise<void> {
  const input = links.map(({ object }) => `${object}\n`).join('');
  const { bytes } = await git.run(['cat-file', '--batch'], {
    ...call,
    dir,
    input,
    maxOutput: MOST_LINKS * LONGEST_LINK,
  });
  let at = 0;
  for (const { path } of links) {
    const line = bytes.indexOf(0x0a, at);
    const size = Number(bytes.toString('latin1', at, line).split(' ')[2]);
    if (!(size <= LONGEST_LINK)) throw refuse(`the link ${JSON.stringify(path)} is too long`);
    const target = bytes.toString('utf8', line + 1, line + 1 + size);
    if (!staysWithin(path, target)) throw refuse(`the link ${JSON.stringify(path)} leads out of it`);
    at = line + 1 + size + 1;
  }
}

/**
 * Whether a link leads to a place below the top. A way up is allowed only at the beginning of its target: behind the name of another link it would begin
 * somewhere else than it seems.
 */
export function staysWithin(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\\') || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const up = parts.findIndex((part) => part !== '..');
  const ups = up < 0 ? parts.length : up;
  const rest = parts.slice(ups);
  const depth = path.split('/').length - 1;
  return ups <= depth && !rest.includes('..') && !rest.some((part) => part.toLowerCase() === '.git');
}

async function foldsCase(folder: string): Promise<boolean> {
  const place = await mkdtemp(join(folder, '.case-')).catch(() => undefined);
  if (place === undefined) return false;
  try {
    await writeFile(join(place, 'a'), '');
    return await stat(join(place, 'A')).then(
      () => true,
      () => false,
    );
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

const refuse = (problem: string): Error =>
  fault('WORKSPACE_FAILED', { problem: `the commit cannot be checked out: ${problem}` });
