import { CREDENTIAL } from '../../core/placement/tag.ts';
import { carries } from '../../engine/read/unmet.ts';
import { type Finding, ok, warn } from './finding.ts';

/** A lane with ready tasks. */
export interface AskingRow {
  readonly queue: string;
  /** JSON. */
  readonly placement: string | null;
}

/** An enabled worker that is online. */
export interface CarrierRow {
  /** JSON. */
  readonly tags: string;
}

const MOST_SAID = 3;

/** What ready tasks require and no enabled worker has: perhaps a typing error, which waits for ever and looks like a lack of workers. */
export function judgeRequirements(asking: readonly AskingRow[], carriers: readonly CarrierRow[]): Finding {
  const check = 'requirements';
  if (carriers.length === 0) return ok(check, 'no enabled worker is online');
  const tags = carriers.map((carrier) => JSON.parse(carrier.tags) as string[]);
  const unmet = new Map<string, string>();
  for (const { queue, placement } of asking) {
    const { requires = [] } = JSON.parse(placement ?? '{}') as { readonly requires?: readonly string[] };
    for (const test of requires) if (!tags.some((own) => carries(test, own))) unmet.set(test, queue);
  }
  if (unmet.size === 0) return ok(check, 'each that ready tasks have is met by a worker');
  const said = [...unmet].slice(0, MOST_SAID).map(([test, queue]) => `${wordOf(test)} (queue ${queue})`);
  const more = unmet.size > MOST_SAID ? ` and ${unmet.size - MOST_SAID} more` : '';
  return warn(
    check,
    `no enabled worker has what ready tasks require: ${said.join(', ')}${more}`,
    'Correct the name, or give a worker the tag ("leasehold workers tag NAME --add TAG") or the credential.',
  );
}

const wordOf = (test: string): string =>
  test.startsWith(CREDENTIAL) ? `credential ${test.slice(CREDENTIAL.length)}` : `tag ${test}`;
