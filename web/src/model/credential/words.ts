/** What a credential says of itself in words: who may hold it, and what has come of that at each worker. */

import { plural } from '../text.ts';

export interface HolderWords {
  readonly status: string;
  readonly wanted: number;
  readonly acked?: number | undefined;
}

export interface CredentialWords {
  readonly version: number;
  readonly workers: readonly string[];
  readonly tags: readonly string[];
  readonly holders: readonly HolderWords[];
}

/** `box-1, box-2 and whoever has gpu`. */
export function choiceText({ workers, tags }: Pick<CredentialWords, 'workers' | 'tags'>): string {
  const names = workers.length > 3 ? plural(workers.length, 'worker') : workers.join(', ');
  const tagged = tags.length === 0 ? '' : `whoever has ${tags.join(' or ')}`;
  return [names, tagged].filter((part) => part !== '').join(' and ') || 'nobody';
}

/** How a status looks: the states that glyphs are drawn for. */
export function holderState({ status, wanted, acked }: HolderWords): string {
  if (status === 'stored') return acked === wanted ? 'online' : 'starting';
  if (status === 'wanted') return 'starting';
  if (status === 'removing') return 'draining';
  return status === 'removed' ? 'offline' : 'failed';
}

/** `has version 2, is to get version 3`. */
export function holderText({ status, wanted, acked }: HolderWords): string {
  switch (status) {
    case 'stored':
      return acked === wanted ? `has version ${wanted}` : `has version ${acked}, is to get version ${wanted}`;
    case 'wanted':
      return `is to get version ${wanted}`;
    case 'removing':
      return 'is to remove it';
    case 'removed':
      return 'has removed it';
    default:
      return 'could not take it';
  }
}

/** Where a credential stands as a whole, worst first. */
export function standing({ version, workers, tags, holders }: CredentialWords): {
  readonly state: string;
  readonly label: string;
} {
  const count = (state: string): number => holders.filter((holder) => holderState(holder) === state).length;
  const failed = count('failed');
  if (failed > 0) return { state: 'failed', label: `${plural(failed, 'worker')} could not take it` };
  const moving = count('starting') + count('draining');
  if (moving > 0)
    return { state: 'starting', label: `${plural(moving, 'worker')} ${moving === 1 ? 'is' : 'are'} to hear of it` };
  const held = count('online');
  if (held > 0)
    return { state: 'online', label: `${plural(held, 'worker')} ${held === 1 ? 'has' : 'have'} version ${version}` };
  const chosen = workers.length + tags.length > 0;
  return { state: 'paused', label: chosen ? 'no worker of these is there' : 'nobody may hold it' };
}

const KEPT: Readonly<Record<string, string>> = {
  systemd: 'sealed by systemd',
  keyring: 'in the keyring of its system',
  file: 'in files that only its user can read',
  memory: 'in memory alone',
  unknown: 'its agent does not say',
};

/** How a worker keeps credentials. */
export function levelText(level: string | undefined): string {
  return level === undefined ? 'not said yet' : (KEPT[level] ?? level);
}
