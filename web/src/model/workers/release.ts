/** What is said of releases in words: the policy, and how far a worker has come. */

import { commaList, plural } from '../text.ts';

export interface PolicyWords {
  readonly target?: string | undefined;
  readonly canary: number;
  readonly pinned: readonly string[];
  readonly refused: readonly string[];
}

export interface ReleaseWords {
  readonly version?: string | undefined;
  readonly wanted?: string | undefined;
  readonly updater?: { readonly state: string; readonly problem?: string | undefined } | undefined;
}

/** `Older workers go to 0.2.0: 10 % of them, always the same ones.` */
export function policyText({ target, canary, pinned, refused }: PolicyWords): string {
  const one = pinned.length === 1;
  const stay =
    pinned.length === 0 ? '' : ` ${plural(pinned.length, 'worker')} ${one ? 'stays as it is' : 'stay as they are'}.`;
  const out = refused.length === 0 ? '' : ` ${refused.join(', ')} ${refused.length === 1 ? 'gets' : 'get'} no work.`;
  if (target === undefined) return `Nobody is sent to another release.${stay}${out}`;
  const share = canary === 100 ? 'all of them' : `${canary} % of them, always the same ones`;
  return `Older workers go to ${target}: ${share}.${stay}${out}`;
}

/** How a worker looks beside what is wanted of it: a state that glyphs are drawn for, and words. */
export function standing({ version, wanted, updater }: ReleaseWords): {
  readonly state: string;
  readonly label: string;
} {
  if (version === undefined) return { state: 'offline', label: 'does not say its release' };
  if (updater?.state === 'trial') return { state: 'starting', label: `${version} is on trial` };
  if (updater?.problem !== undefined) return { state: 'failed', label: 'its upgrade came to nothing' };
  if (wanted === undefined) return { state: 'online', label: 'as it should be' };
  if (updater === undefined) return { state: 'attention', label: `should be ${wanted}, and nothing upgrades it` };
  return { state: 'starting', label: `goes to ${wanted} when its tasks have ended` };
}

/** The policy as it is typed into its form. */
export interface PolicyDraft {
  readonly target: string;
  readonly canary: string;
  readonly pinned: string;
  readonly refused: string;
}

export interface PolicyEdit {
  readonly target?: string | null;
  readonly canary?: number;
  readonly pin?: string[];
  readonly unpin?: string[];
  readonly refuse?: string[];
  readonly allow?: string[];
}

export function policyDraft({ target = '', canary, pinned, refused }: PolicyWords): PolicyDraft {
  return { target, canary: String(canary), pinned: pinned.join(', '), refused: refused.join(', ') };
}

/** What has changed between a policy and its form, so that what another admin has changed meanwhile stays. */
export function policyEdit(before: PolicyWords, draft: PolicyDraft): PolicyEdit {
  const target = draft.target.trim();
  const canary = Number(draft.canary);
  const pinned = difference(before.pinned, draft.pinned);
  const refused = difference(before.refused, draft.refused);
  return {
    ...(target === (before.target ?? '') ? {} : { target: target === '' ? null : target }),
    ...(canary === before.canary ? {} : { canary }),
    ...(pinned.added.length === 0 ? {} : { pin: pinned.added }),
    ...(pinned.removed.length === 0 ? {} : { unpin: pinned.removed }),
    ...(refused.added.length === 0 ? {} : { refuse: refused.added }),
    ...(refused.removed.length === 0 ? {} : { allow: refused.removed }),
  };
}

export function isShare(text: string): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= 100;
}

function difference(before: readonly string[], text: string): { readonly added: string[]; readonly removed: string[] } {
  const after = commaList(text);
  return {
    added: after.filter((one) => !before.includes(one)),
    removed: before.filter((one) => !after.includes(one)),
  };
}
