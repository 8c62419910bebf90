/** Every message names a store through this file: addresses contain passwords, and messages end up in logs. */

/** The address without its password; a shell or a tool asks for it, or finds it in ~/.pgpass. */
export function withoutPassword(url: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || rest === undefined) return url;
  const [authority = '', ...query] = rest.split('?');
  // The last "@": a password may contain one that is not escaped.
  const at = authority.lastIndexOf('@');
  const user = at === -1 ? '' : `${authority.slice(0, at).split(':')[0]}@`;
  const kept = query
    .join('?')
    .split('&')
    .filter((part) => part !== '' && !/^[^=]*(password|secret|token)/i.test(decoded(part)));
  return `${scheme}${user}${authority.slice(at + 1)}${kept.length === 0 ? '' : `?${kept.join('&')}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** How people call a store: the path of a file, or an address without its password. */
export function storeName(url: string): string {
  return withoutPassword(url.replace(/^sqlite:/, ''));
}

/** The file of a store; undefined: it has none. */
export function storeFile(url: string): string | undefined {
  return /^sqlite:(?!:?memory:)(.+)$/.exec(url)?.[1];
}

/** Whether a URL names a database on a server, and not a file. */
export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}
