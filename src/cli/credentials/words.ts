import type { Argument } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import type { CredentialView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { type Column, printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';

/** How the commands name a credential. */
export const NAME = { name: 'NAME', doc: 'Name of the credential' } as const satisfies Argument;

type Holder = CredentialView['holders'][number];

/** Who is named on the command line, and the demand. */
export function choiceOf({ credentialWorker, credentialTag, credentialLevel: level }: Config) {
  return {
    ...(credentialWorker.length === 0 ? {} : { workers: [...credentialWorker] }),
    ...(credentialTag.length === 0 ? {} : { tags: [...credentialTag] }),
    ...(level === undefined ? {} : { level: level === 'any' ? null : level }),
  };
}

export function requireSomebody(config: Config, what: string): void {
  if (config.credentialWorker.length + config.credentialTag.length > 0) return;
  throw fault('INVALID_INPUT', { field: 'command line', problem: `it names nobody to ${what}` }, HINT);
}

const HINT = { hint: 'Name workers: --worker NAME, or --tag TAG for all that were given a tag.' };

/** Who may hold it. */
export function choiceWords({ workers, tags }: CredentialView): string {
  const all = [...workers, ...tags.map((tag) => `all with the tag ${tag}`)];
  return all.length === 0 ? 'nobody' : safeLine(all.join(', '));
}

/** How it stands with its holders: `2 stored, 1 wanted`. */
export function holdersWords({ holders }: CredentialView): string {
  const counts = Map.groupBy(
    holders.filter(({ status }) => status !== 'removed'),
    ({ status }) => status,
  );
  return [...counts].map(([status, some]) => `${some.length} ${status}`).join(', ') || 'none';
}

export function tell(out: Out, credential: CredentialView): void {
  const { name, version, kind, type, level } = credential;
  const what = kind === 'text' ? 'a text' : `fields${type === undefined ? '' : ` (${safeLine(type)})`}`;
  out.line(`${name}: ${what}, version ${version}`);
  const row = (head: string, words: string): void => out.line(`  ${out.paint('dim', head.padEnd(10))} ${words}`);
  row('may hold', choiceWords(credential));
  if (level !== undefined) row('kept by', `${level} at least`);
  row('holders', holdersWords(credential));
}

export function printHolders(out: Out, holders: readonly Holder[], now: number): void {
  const columns: readonly Column<Holder>[] = [
    { head: 'worker', cell: ({ worker }) => safeLine(worker) },
    {
      head: 'status',
      cell: ({ status }) => status,
      paint: ({ status }, text) => (status === 'failed' ? out.paint('red', text) : text),
    },
    { head: 'wanted', cell: ({ wanted }) => String(wanted), right: true },
    { head: 'has', cell: ({ acked }) => String(acked ?? '–'), right: true },
    { head: 'kept by', cell: ({ level }) => level ?? '–' },
    {
      head: 'since',
      cell: ({ changedAt }) => new Date(changedAt).toISOString(),
      show: ({ changedAt }) => formatRelative(changedAt, now),
    },
    { head: 'why', cell: ({ error }) => safeLine(error ?? '') },
  ];
  printList(out, columns, holders);
}
