import { resolve } from 'node:path';
import { environment } from '../../config/environment.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import type { LauncherHost } from '../../fleet/launcher.ts';
import { PROGRAM } from '../machines/program.ts';

export interface HostDeps {
  /** The URL of the store. */
  readonly url: string;
  readonly log: Log;
  readonly world: World;
  readonly inProcess?: LauncherHost['inProcess'];
}

/** What launchers get from this process. The environment is read when something is started. */
export function launcherHost({ url, log, world, inProcess }: HostDeps): LauncherHost {
  return {
    get localEnv() {
      // The token of the node is for people. Its workers open the store.
      const { LEASEHOLD_TOKEN: _, ...variables } = environment();
      return { ...given(variables), LEASEHOLD_STORE: absolute(url) };
    },
    leasehold: [process.execPath, PROGRAM],
    inProcess,
    log: (level, message) => log[level](message, {}),
    now: () => world.clock.wall(),
    secret: (name) => environment()[name],
  };
}

/** A file keeps its meaning wherever the worker runs. */
function absolute(url: string): string {
  return url.startsWith('sqlite:') ? `sqlite:${resolve(url.slice('sqlite:'.length))}` : url;
}

function given(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter((one): one is [string, string] => typeof one[1] === 'string'),
  );
}
