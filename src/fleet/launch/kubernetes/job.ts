import type { LauncherHost, LaunchRequest } from '../../launcher.ts';
import { WORKER_DEFAULTS } from '../environment.ts';
import { launchName } from '../launch-name.ts';
import { valuesOf } from '../placeholders.ts';
import { fill, fillArguments } from '../template.ts';
import type { JobSettings } from './job-settings.ts';

const HOUR = 3600;

/**
 * The Job of one worker. It runs once: what becomes of its task is for the engine to say, so a pod that fails is not started again. A worker in
 * it has no rights in the cluster, is not root, and writes to /data and /tmp only.
 */
export function jobFor(
  request: LaunchRequest,
  settings: JobSettings & { readonly namespace: string },
  host: Pick<LauncherHost, 'leasehold'>,
): object {
  const labels = {
    ...settings.labels,
    'app.kubernetes.io/name': 'leasehold',
    'app.kubernetes.io/component': 'worker',
    'app.kubernetes.io/managed-by': 'leasehold',
    'leasehold/pool': labelOf(request.pool),
  };
  const metadata = {
    name: launchName(request),
    namespace: settings.namespace,
    labels,
    annotations: { 'leasehold/pool': request.pool, 'leasehold/ticket-id': request.ticketId },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: settings.keep_seconds ?? HOUR,
      ...(settings.run_seconds === undefined ? {} : { activeDeadlineSeconds: settings.run_seconds }),
      template: { metadata: { labels }, spec: podOf(request, settings, host) },
    },
  };
}

function podOf(request: LaunchRequest, settings: JobSettings, host: Pick<LauncherHost, 'leasehold'>): object {
  const { pod = {}, service_account: account, node_selector: selector } = settings;
  const { volumes = [] } = pod as { readonly volumes?: readonly object[] };
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(account === undefined ? {} : { serviceAccountName: account }),
    ...(selector === undefined ? {} : { nodeSelector: selector }),
    ...pod,
    restartPolicy: 'Never',
    volumes: [{ name: 'data', emptyDir: {} }, { name: 'tmp', emptyDir: {} }, ...volumes],
    containers: [containerOf(request, settings, host)],
  };
}

function containerOf(request: LaunchRequest, settings: JobSettings, host: Pick<LauncherHost, 'leasehold'>): object {
  const { image, command, args = ['{args}'], env = {}, env_secrets: secrets, cpu, memory } = settings;
  const values = valuesOf(request, host);
  const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value, values)]));
  const variables: Readonly<Record<string, string>> = {
    LEASEHOLD_DATA_DIR: '/data',
    ...WORKER_DEFAULTS,
    ...filled,
    ...request.env,
  };
  const requests = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  return {
    name: 'worker',
    image,
    ...(command === undefined ? {} : { command: fillArguments(command, values).map(literal) }),
    args: fillArguments(args, values).map(literal),
    env: Object.entries(variables).map(([name, value]) => ({ name, value: literal(value) })),
    ...(secrets === undefined ? {} : { envFrom: secrets.map((name) => ({ secretRef: { name } })) }),
    resources: { requests, ...(memory === undefined ? {} : { limits: { memory } }) },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: settings.read_only ?? true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
      ...(settings.mounts ?? []),
    ],
  };
}

/** The cluster would replace `$(NAME)`. */
function literal(text: string): string {
  return text.replaceAll('$(', () => '$$(');
}

function labelOf(name: string): string {
  return name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 63)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}
