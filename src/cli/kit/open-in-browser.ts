import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Opens an address with the opener of this system; false: it has none. */
export async function openInBrowser(url: string, system: NodeJS.Platform = process.platform): Promise<boolean> {
  const [command, ...args] = openerOf(url, system);
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.unref();
  try {
    await once(child, 'spawn');
    return true;
  } catch {
    return false;
  }
}

/** The address is one argument, and no shell reads it. */
export function openerOf(url: string, system: NodeJS.Platform): readonly [string, ...string[]] {
  if (system === 'darwin') return ['open', url];
  return system === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler', url] : ['xdg-open', url];
}
