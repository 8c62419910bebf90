import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { makeCertificate, noOpenssl } from '../../../../test/support/certificate.ts';
import {
  type ApiOptions,
  type KubernetesApi,
  kubernetesApi,
  status,
} from '../../../../test/support/fleet/kubernetes-api.ts';
import {
  hostOf,
  launcherOf,
  problemsOf,
  refusalOf,
  requestOf,
  TICKET,
} from '../../../../test/support/fleet/launching.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import type { Launcher } from '../../launcher.ts';
import { launchName } from '../launch-name.ts';
import { type Cluster, clusterAround } from './cluster.ts';
import { jobFor } from './job.ts';
import { kubernetesKind } from './kubernetes.ts';

const folder = tempFolder('launch-kubernetes');
const NAME = launchName(requestOf());
const IMAGE = 'registry.example/leasehold:1.2';

const clusterAt = (api: KubernetesApi, given: Partial<Cluster> = {}): Cluster => ({
  server: api.url,
  ca: undefined,
  namespace: 'work',
  token: async () => 'canary-token',
  ...given,
});

const inCluster = (cluster: Cluster, settings: object = {}): Launcher =>
  launcherOf(kubernetesKind({ cluster }), { image: IMAGE, ...settings });

async function trial(t: TestContext, options: ApiOptions = {}): Promise<{ api: KubernetesApi; launcher: Launcher }> {
  const api = await kubernetesApi(t, options);
  return { api, launcher: inCluster(clusterAt(api)) };
}

describe('a Job', () => {
  test('it is made as the published schemas want it, named after its ticket', async (t) => {
    const { api, launcher } = await trial(t);
    assert.deepEqual(await launcher.launch(requestOf()), { started: `job/work/${NAME}` });
    assert.deepEqual([...api.jobs.keys()], [`work/${NAME}`]);
    assert.deepEqual(api.tokens, ['canary-token']);
  });

  test('with every setting it is still what the schemas want', async (t) => {
    const api = await kubernetesApi(t);
    const settings = {
      namespace: 'gpu',
      command: ['/opt/leasehold'],
      args: ['{args}', '--name', '{name}', '$(HOME)'],
      env: { LEASEHOLD_JOIN: 'https://leasehold:7420', NAME: '{pool}/{ticket_id}' },
      env_secrets: ['model-keys'],
      service_account: 'worker',
      cpu: '500m',
      memory: '1Gi',
      node_selector: { 'nvidia.com/gpu': 'true' },
      labels: { team: 'blue' },
      keep_seconds: 60,
      run_seconds: 3600,
      read_only: false,
      mounts: [{ name: 'papers', mountPath: '/papers', readOnly: true }],
      pod: {
        tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
        volumes: [{ name: 'papers', persistentVolumeClaim: { claimName: 'papers' } }],
        priorityClassName: 'low',
      },
    };
    await inCluster(clusterAt(api), settings).launch(requestOf());
    const [job] = api.jobs.values();
    const { spec } = job as { spec: { template: { spec: Record<string, unknown> } } };
    const pod = spec.template.spec as {
      containers: [{ args: string[]; env: object[]; volumeMounts: object[] }];
      volumes: object[];
    };
    assert.deepEqual(pod.containers[0].args, [...requestOf().args, '--name', NAME, '$$(HOME)']);
    assert.equal(pod.volumes.length, 3);
    assert.equal(pod.containers[0].volumeMounts.length, 3);
  });

  test('it runs once, as nobody special, and without rights in the cluster', () => {
    const job = jobFor(requestOf(), { image: IMAGE, namespace: 'work' }, hostOf());
    assert.partialDeepStrictEqual(job, {
      spec: {
        backoffLimit: 0,
        template: {
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true },
            containers: [{ securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true } }],
          },
        },
      },
    });
  });

  test('the ticket is a variable of its container and nowhere else', () => {
    const job = jobFor(requestOf(), { image: IMAGE, namespace: 'work' }, hostOf());
    const text = JSON.stringify(job);
    assert.equal(text.split(TICKET).length, 2);
    assert.ok(text.includes('{"name":"LEASEHOLD_ALLOW","value":"none"}'));
    assert.ok(text.includes(`{"name":"LEASEHOLD_TICKET","value":"${TICKET}"}`));
  });

  test('a start that is repeated, because its answer was lost, makes no second one', async (t) => {
    const cuts = [true, false, false];
    const { api, launcher } = await trial(t, { cut: () => cuts.shift() ?? false });
    assert.equal((await refusalOf(launcher.launch(requestOf()))).code, 'UNREACHABLE');
    assert.equal(api.jobs.size, 1);
    assert.deepEqual(await launcher.launch(requestOf()), { started: `job/work/${NAME}` });
    assert.equal(api.jobs.size, 1);
    await launcher.launch(requestOf({ ticketId: 'tk_2' }));
    assert.equal(api.jobs.size, 2);
  });

  test('the token is read each time, for the cluster exchanges it', async (t) => {
    const api = await kubernetesApi(t);
    const tokens = ['first', 'second'];
    const launcher = inCluster(clusterAt(api, { token: async () => tokens.shift() ?? '' }));
    await launcher.launch(requestOf());
    await launcher.launch(requestOf({ ticketId: 'tk_2' }));
    assert.deepEqual(api.tokens, ['first', 'second']);
  });
});

describe('a cluster that makes none', () => {
  const refusing = (code: number, reason: string, message: string): ApiOptions => ({
    answer: (_request, response) => {
      status(response, code, reason, message);
      return true;
    },
  });

  test('rights that are missing are named, with what is needed', async (t) => {
    const message =
      'jobs.batch is forbidden: User "system:serviceaccount:work:leasehold" cannot create resource "jobs"';
    const { launcher } = await trial(t, refusing(403, 'Forbidden', message));
    const refusal = await refusalOf(launcher.launch(requestOf()));
    assert.equal(refusal.code, 'HTTP_403');
    assert.match(refusal.message, /cannot create resource "jobs".*verb create on jobs\.batch/);
    assert.doesNotMatch(refusal.message, /canary-token/);
  });

  test('a quota that several change at once is a conflict, and not a Job that is there', async (t) => {
    const message = 'Operation cannot be fulfilled on resourcequotas "jobs": the object has been modified';
    const { launcher } = await trial(t, refusing(409, 'Conflict', message));
    assert.match((await refusalOf(launcher.launch(requestOf()))).message, /resourcequotas/);
  });

  test('a server that fails is quoted in a few words', async (t) => {
    const { launcher } = await trial(t, {
      answer: (_request, response) => {
        response.writeHead(500).end(`panic\n${TICKET}\n${'x'.repeat(1_000_000)}`);
        return true;
      },
    });
    const { code, message } = await refusalOf(launcher.launch(requestOf()));
    assert.equal(code, 'HTTP_500');
    assert.ok(message.length < 500, `${message.length}`);
  });

  test('a server that hangs is left at the deadline', async (t) => {
    const asked = Promise.withResolvers<void>();
    const { api, launcher } = await trial(t, {
      answer: () => {
        asked.resolve();
        return true;
      },
    });
    const stop = new AbortController();
    const launched = assert.rejects(launcher.launch(requestOf({ signal: stop.signal })), /too late/);
    await asked.promise;
    stop.abort(new Error('too late'));
    await launched;
    await api.left();
  });

  test('what the schemas do not take is refused there, and said', async (t) => {
    const api = await kubernetesApi(t);
    const launcher = inCluster(clusterAt(api), { pod: { tolerations: 'all' } });
    const { code, message } = await refusalOf(launcher.launch(requestOf()));
    assert.equal(code, 'HTTP_422');
    assert.match(message, /tolerations/);
  });
});

describe('the cluster around a process', { skip: noOpenssl() }, () => {
  test('its address, its authority and its token are where every pod finds them', async (t) => {
    const account = join(folder, 'account');
    mkdirSync(account);
    const { ca, cert, key } = makeCertificate(account);
    const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    const api = await kubernetesApi(t, { tls });
    writeFileSync(join(account, 'ca.crt'), readFileSync(ca));
    writeFileSync(join(account, 'namespace'), 'work\n');
    writeFileSync(join(account, 'token'), 'canary-token\n');
    const variables = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(api.port) };
    const cluster = clusterAround(variables, account);
    assert.ok(cluster);
    assert.deepEqual(await inCluster(cluster).launch(requestOf()), { started: `job/work/${NAME}` });
    assert.deepEqual(api.tokens, ['canary-token']);
    // Another authority: somebody between us and the cluster.
    const { code } = await refusalOf(inCluster({ ...cluster, ca: undefined }).launch(requestOf()));
    assert.equal(code, 'UNREACHABLE');
    assert.equal(api.tokens.length, 1);
  });

  test('elsewhere there is none: settings are read, and nothing is started', async () => {
    assert.equal(clusterAround({}, folder), undefined);
    assert.equal(clusterAround({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }, join(folder, 'none')), undefined);
    const launcher = launcherOf(kubernetesKind({ cluster: undefined }), { image: IMAGE });
    const { code, message } = await refusalOf(launcher.launch(requestOf()));
    assert.equal(code, 'NO_CLUSTER');
    assert.match(message, /does not run in a cluster/);
  });
});

test('every problem of the settings is listed with its place', async (t) => {
  const api = await kubernetesApi(t);
  const kind = kubernetesKind({ cluster: clusterAt(api) });
  const problems = problemsOf(kind, {
    image: '--privileged x',
    namespace: '../kube-system',
    args: ['{ticket}'],
    env: { API_KEY: 'canary' },
    env_secrets: ['A'],
    cpu: 'much',
    memory: '-1',
    node_selector: { 'a b': 'c' },
    labels: { a: '-' },
    keep_seconds: -1,
    pod: [],
    privileged: true,
  });
  assert.deepEqual(
    problems.map((problem) => problem.split(' ')[0]),
    [
      'launcher.privileged',
      'launcher.image',
      'launcher.namespace',
      'launcher.args.0',
      'launcher.env.API_KEY',
      'launcher.env_secrets.0',
      'launcher.cpu',
      'launcher.memory',
      'launcher.node_selector.a',
      'launcher.labels.a',
      'launcher.keep_seconds',
      'launcher.pod',
    ],
  );
  const own = {
    image: IMAGE,
    pod: { containers: [], restartPolicy: 'Always', volumes: {} },
    labels: { 'leasehold/pool': 'x' },
  };
  assert.equal(problemsOf(kind, own).length, 4);
});
