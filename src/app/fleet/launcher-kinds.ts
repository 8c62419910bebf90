import { environment } from '../../config/environment.ts';
import { IN_PROCESS } from '../../fleet/launch/in-process.ts';
import { clusterAround } from '../../fleet/launch/kubernetes/cluster.ts';
import { remoteKinds } from '../../fleet/launch/remote-kinds.ts';
import { SUBPROCESS } from '../../fleet/launch/subprocess.ts';
import { LauncherKinds } from '../../fleet/registry.ts';

/** The kinds of launchers that come with it. `allowHttp`: destinations of webhooks beside the Internet. */
export function launcherKinds({ allowHttp }: { readonly allowHttp: readonly string[] }): LauncherKinds {
  const variables = environment();
  const remote = remoteKinds({ environment: variables, allowHttp, cluster: clusterAround(variables) });
  return new LauncherKinds([IN_PROCESS, SUBPROCESS, ...remote]);
}
