/**
 * Settings of pools are shown to everybody who may read, and are in backups. So they name secrets and have none: values that look like one are
 * refused when they are written, and hidden when they are shown.
 */
import { namesIn } from './template.ts';

const HIDDEN = '(hidden)';
const SECRETIVE =
  /(^|[_-])(secret|token|password|passwd|passphrase|api_?key|access_?key|private_?key|key|credentials?|authorization|cookie)$/i;

/** Whether a variable or header of this name would have a secret as its value. */
export function isSecret(name: string, value: string): boolean {
  return (SECRETIVE.test(name) && !isPlaceholder(value)) || hasPassword(value);
}

/** The settings as they are shown in lists and logs. */
export function withoutSecrets<T>(settings: T): T {
  return hide(settings, '') as T;
}

function hide(value: unknown, name: string): unknown {
  if (typeof value === 'string') return isSecret(name, value) ? HIDDEN : withoutQuery(value);
  if (Array.isArray(value)) return value.map((one) => hide(one, ''));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hide(one, key)]));
}

function isPlaceholder(value: string): boolean {
  return namesIn(value).length === 1 && /^\{\w+\}$/.test(value);
}

function hasPassword(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:[^/?#]*@/i.test(value);
}

/** Keys of functions in clouds are in the query of their addresses. */
function withoutQuery(value: string): string {
  return /^https?:\/\/\S+$/i.test(value) ? value.replace(/\?.*$/s, `?${HIDDEN}`) : value;
}

/** What a program or a server has said, without the ticket that it was told. */
export function redact(text: string, ticket: string): string {
  return ticket === '' ? text : text.replaceAll(ticket, HIDDEN);
}
