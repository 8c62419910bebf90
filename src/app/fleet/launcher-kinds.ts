import { environment } from '../../config/environment.ts';
import { IN_PROCESS } from '../../fleet/launch/in-process.ts';
import { clusterAround } from '../../fleet/launch/kubernetes/cluster.ts';
import { remoteKinds } from '../../fleet/launch/remote-kinds.ts';
import { SUBPROCESS } from '../../fleet/launch/subprocess.ts';
import { LauncherKinds } from '../../fleet/registry.ts';

export interface KindOptions {
  /** Destinations of webhooks beside the Internet on ports 80 and 443. */
  readonly allowHttp: readonly string[];
  /** Only those that start workers on this host. */
  readonly local: boolean;
}

/** The kinds of launchers that come with it. */
export function launcherKinds({ allowHttp, local }: KindOptions): LauncherKinds {
  if (local) return new LauncherKinds([IN_PROCESS, SUBPROCESS], { leavesOthers: true });
  const around = environment();
  const remote = remoteKinds({ environment: around, allowHttp, cluster: clusterAround(around) });
  return new LauncherKinds([IN_PROCESS, SUBPROCESS, ...remote]);
}
