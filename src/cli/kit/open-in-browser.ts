import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const PAGE = 'login.html';

/**
 * Opens a link that is a secret with the opener of this system; false: it has none. Other users of the host see the arguments of
 * a program, and could use the link first. So the browser gets the address of a page that only this user can read, and the page
 * leads on. It stays there: the link in it works once, and not for long.
 */
export async function openInBrowser(
  link: string,
  dataDir: string,
  system: NodeJS.Platform = process.platform,
): Promise<boolean> {
  // A browser that may not look into folders for temporary files, such as a snap, can still read the data folder.
  const folder = existsSync(dataDir) ? resolve(dataDir) : mkdtempSync(join(tmpdir(), 'leasehold-login-'));
  const [command, ...args] = openerOf(pageFor(link, folder), system);
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}

/** Writes the page and answers its address. */
export function pageFor(link: string, folder: string): string {
  const file = join(folder, PAGE);
  const safe = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  rmSync(file, { force: true });
  writeFileSync(
    file,
    `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${safe}">
<title>Leasehold</title>
<a href="${safe}">To the web UI</a>
`,
    { mode: 0o600, flag: 'wx' },
  );
  return pathToFileURL(file).href;
}

/** The address is one argument, and no shell reads it. */
export function openerOf(url: string, system: NodeJS.Platform): readonly [string, ...string[]] {
  if (system === 'darwin') return ['open', url];
  return system === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler', url] : ['xdg-open', url];
}
