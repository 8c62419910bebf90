import type { LauncherKind } from '../launcher.ts';
import { commandKind } from './command.ts';
import type { Cluster } from './kubernetes/cluster.ts';
import { kubernetesKind } from './kubernetes/kubernetes.ts';
import { sshKind } from './ssh.ts';
import { webhookKind } from './webhook.ts';

export interface RemoteOptions {
  /** Of this process: programs get a part of it. */
  readonly environment: NodeJS.ProcessEnv;
  /** Destinations of webhooks beside the Internet on ports 80 and 443, as `--allow-http` names them. */
  readonly allowHttp: readonly string[];
  /** The cluster that this process runs in, of `clusterAround`. */
  readonly cluster?: Cluster | undefined;
}

/** The launchers for workers outside of this process: by a program, by ssh, by a request, as Jobs of a cluster. */
export function remoteKinds({ environment, allowHttp, cluster }: RemoteOptions): readonly LauncherKind[] {
  return [
    commandKind({ environment }),
    sshKind({ environment }),
    webhookKind({ allowHttp }),
    kubernetesKind({ cluster }),
  ];
}
