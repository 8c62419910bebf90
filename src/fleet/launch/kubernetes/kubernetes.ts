import { failure } from '../../../worker/handlers/failure.ts';
import type { Launched, Launcher, LauncherHost, LauncherKind, LaunchRequest } from '../../launcher.ts';
import { answeredText, quoted } from '../answer.ts';
import { launchName } from '../launch-name.ts';
import { readSettings } from '../settings.ts';
import { type Cluster, createJob } from './cluster.ts';
import { jobFor } from './job.ts';
import { type JobSettings, jobSettings } from './job-settings.ts';

export interface KubernetesOptions {
  /** The cluster that this process runs in; undefined: it runs in none. */
  readonly cluster: Cluster | undefined;
}

const NO_CLUSTER =
  'This process does not run in a cluster with a service account. Run the node there, or use the launcher "command" with kubectl.';

/** Starts workers as Jobs of the cluster that the node runs in. */
export function kubernetesKind({ cluster }: KubernetesOptions): LauncherKind {
  return {
    kind: 'kubernetes',
    // Whoever writes the settings of a pool may do so from anywhere.
    make: (given, host) => new KubernetesLauncher(readSettings(jobSettings, given), host, cluster),
  };
}

class KubernetesLauncher implements Launcher {
  readonly #settings: JobSettings;
  readonly #host: LauncherHost;
  readonly #cluster: Cluster | undefined;

  constructor(settings: JobSettings, host: LauncherHost, cluster: Cluster | undefined) {
    this.#settings = settings;
    this.#host = host;
    this.#cluster = cluster;
  }

  async launch(request: LaunchRequest): Promise<Launched> {
    const { signal, ticket } = request;
    if (this.#cluster === undefined) throw failure('NO_CLUSTER', NO_CLUSTER);
    const namespace = this.#settings.namespace ?? this.#cluster.namespace;
    const job = jobFor(request, { ...this.#settings, namespace }, this.#host);
    const answer = await createJob(this.#cluster, { namespace, job, signal });
    const started = { started: `job/${namespace}/${launchName(request)}` };
    if (answer.status === 201 || answer.status === 200 || answer.status === 202) return started;
    // The name comes from the ticket: a start that was repeated, because its answer was lost, finds what it has made before. A quota that
    // several change at once is a conflict as well, and has made nothing.
    if (answer.status === 409 && answeredText(answer, 'reason', ticket) === 'AlreadyExists') return started;
    const said = answeredText(answer, 'message', ticket);
    const words = said === undefined ? quoted(answer, ticket) : `: ${said}`;
    throw failure(
      `HTTP_${answer.status}`,
      `The cluster made no Job (${answer.status})${words}${hintFor(answer.status)}`,
    );
  }
}

function hintFor(status: number): string {
  if (status === 401) return ' The token of the service account is not accepted.';
  if (status === 403)
    return ' The service account needs the verb create on jobs.batch, and the namespace room in its quotas.';
  return '';
}
