/**
 * Settings of pools are shown to everybody who may read, and are in backups. So they name secrets and have none: what looks like one, by its
 * name or as the password of a URL, is refused when it is written.
 */
import { namesIn } from './template.ts';

const SECRETIVE =
  /(^|[_-])(secret|token|password|passwd|passphrase|api_?key|access_?key|private_?key|key|credentials?|authorization|cookie)$/i;
/** What clouds call the keys in their addresses. */
const SECRET_QUERY = /^(code|sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)$/i;

/** Whether a variable, a header or an option of this name would have a secret as its value. The path of a file is none. */
export function isSecret(name: string, value: string): boolean {
  return (
    (SECRETIVE.test(name) && value !== '' && !isPlaceholder(value) && !value.startsWith('/')) || hasPassword(value)
  );
}

/** The first of some arguments that has a secret: `--token x`, `--token=x`, `TOKEN=x`. */
export function secretArgument(argv: readonly string[]): number | undefined {
  const found = argv.findIndex((argument, i) => {
    const [, name = '', value = ''] = /^(?:-{0,2})([\w.-]+)=(.*)$/s.exec(argument) ?? [];
    const option = /^--([\w-]+)$/.exec(argv[i - 1] ?? '')?.[1] ?? '';
    return isSecret(name, value) || hasPassword(argument) || (!argument.startsWith('-') && isSecret(option, argument));
  });
  return found === -1 ? undefined : found;
}

/** Whether the query of an address has a key. */
export function isSecretQuery(url: URL): boolean {
  return [...url.searchParams].some(([name, value]) => SECRET_QUERY.test(name) || isSecret(name, value));
}

function isPlaceholder(value: string): boolean {
  return namesIn(value).length === 1 && /^\{\w+\}$/.test(value);
}

function hasPassword(value: string): boolean {
  return /(^|=)[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*:[^/?#\s]+@/i.test(value);
}

/** What a program or a server has said, without the ticket that it was told. */
export function redact(text: string, ticket: string): string {
  return ticket === '' ? text : text.replaceAll(ticket, '(hidden)');
}
