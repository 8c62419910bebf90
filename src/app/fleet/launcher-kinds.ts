import { IN_PROCESS } from '../../fleet/launch/in-process.ts';
import { SUBPROCESS } from '../../fleet/launch/subprocess.ts';
import { LauncherKinds } from '../../fleet/registry.ts';

/** The kinds of launchers that come with it. */
export function launcherKinds(): LauncherKinds {
  return new LauncherKinds([IN_PROCESS, SUBPROCESS]);
}
