/** What `deploy` has. No image is built, no chart is rendered by Helm and no cluster is there: what can be judged without them is judged here. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { COMMANDS } from '../../src/cli/commands.ts';
import { isGroup } from '../../src/cli/kit/command.ts';
import { loadConfig } from '../../src/config/load.ts';
import { jobFor } from '../../src/fleet/launch/kubernetes/job.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import { renderChart } from '../support/fleet/chart.ts';
import { hostOf, requestOf } from '../support/fleet/launching.ts';
import { type Manifest, manifestsIn, manifestsOf, problemsOf } from '../support/fleet/manifests.ts';
import { ROOT } from '../support/leasehold.ts';
import { RealNode } from '../support/real-node.ts';

const DEPLOY = join(ROOT, 'deploy');
const CHART = join(DEPLOY, 'helm/leasehold');
const RELEASE = { name: 'leasehold', namespace: 'leasehold' };

// oxlint-disable-next-line typescript/no-explicit-any -- its form is what the tests judge
type Any = any;

const chart = (values: object = {}): readonly Manifest[] =>
  manifestsOf(renderChart(CHART, RELEASE, values as Readonly<Record<string, unknown>>));
const WHOLE = { keda: { enabled: true }, node: { publicHosts: ['tasks.example.org'], args: ['--log-level', 'debug'] } };

/** By where they are written. */
const WRITTEN: readonly (readonly [string, Manifest])[] = [
  ...manifestsIn(join(DEPLOY, 'kubernetes'))
    .filter(({ manifest }) => manifest.kind !== 'Kustomization')
    .map(({ file, manifest }) => [`kubernetes/${file} ${manifest.kind}`, manifest] as const),
  ...chart(WHOLE).map((manifest) => [`chart ${manifest.kind} ${manifest.metadata.name}`, manifest] as const),
  ['launcher Job', jobFor(requestOf(), { image: 'leasehold', namespace: 'leasehold' }, hostOf()) as Manifest],
];

const of = (kind: string, manifests: readonly Manifest[] = WRITTEN.map(([, manifest]) => manifest)): Any =>
  manifests.find((manifest) => manifest.kind === kind);

/** The specs of the pods that manifests make. */
function pods(): readonly (readonly [string, Any])[] {
  return WRITTEN.flatMap(([place, { spec }]) => {
    const { template, jobTargetRef } = (spec ?? {}) as Any;
    const pod = (template ?? jobTargetRef?.template)?.spec;
    return pod === undefined ? [] : [[place, pod] as const];
  });
}

async function accepts(
  [name = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const entry = COMMANDS[name];
  assert.ok(entry !== undefined && !isGroup(entry), `leasehold has no command ${name}`);
  loadConfig(await entry.load(), args, env);
}

describe('manifests', () => {
  test('each is what its published schema wants, and has no field that the schema does not know', async () => {
    assert.equal(WRITTEN.length, 11 + 8 + 1);
    for (const [place, manifest] of WRITTEN) assert.deepEqual(await problemsOf(manifest), [], place);
  });

  test('the judge finds a field that is misspelt, one that is missing and one of another type', async () => {
    const node = of('Deployment');
    const broken = (change: (copy: Any) => void): Promise<readonly string[]> => {
      const copy = structuredClone(node);
      change(copy);
      return problemsOf(copy);
    };
    assert.deepEqual(await broken((copy) => (copy.spec.replica = 1)), ['/spec/replica is not a field']);
    assert.match((await broken((copy) => delete copy.spec.selector)).join(), /selector/);
    assert.match((await broken((copy) => (copy.spec.replicas = 'one'))).join(), /integer/);
  });

  test('each command is one that leasehold takes', async () => {
    const commands = pods().flatMap(([place, pod]) =>
      (pod.containers as Any[]).filter(({ args }) => args !== undefined).map(({ args }) => [place, args] as const),
    );
    assert.equal(commands.length, 5);
    for (const [place, args] of commands) {
      await assert.doesNotReject(accepts(args), place);
    }
  });

  test('each pod runs without root, without privileges, and without rights that it does not need', () => {
    for (const [place, pod] of pods()) {
      assert.equal(pod.securityContext.runAsNonRoot, true, place);
      assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault', place);
      for (const { securityContext } of pod.containers) {
        assert.equal(securityContext.allowPrivilegeEscalation, false, place);
        assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] }, place);
      }
      const isNode = pod.containers[0].name === 'node';
      assert.equal(pod.automountServiceAccountToken ?? true, isNode, place);
    }
  });

  test('what they name is there: accounts, roles, labels, secrets', () => {
    const readme = readFileSync(join(DEPLOY, 'README.md'), 'utf8');
    for (const manifests of [manifestsIn(join(DEPLOY, 'kubernetes')).map(({ manifest }) => manifest), chart(WHOLE)]) {
      const named = (kind: string): readonly string[] =>
        manifests.filter((one) => one.kind === kind).map((one) => one.metadata.name);
      const binding = of('RoleBinding', manifests);
      assert.ok(named('Role').includes(binding.roleRef.name));
      const deployment = of('Deployment', manifests);
      const { serviceAccountName } = deployment.spec.template.spec;
      assert.deepEqual([binding.subjects[0].name, named('ServiceAccount')], [serviceAccountName, [serviceAccountName]]);
      assert.partialDeepStrictEqual(deployment.spec.template.metadata.labels, deployment.spec.selector.matchLabels);
      const service = manifests.find(
        ({ kind, metadata }) => kind === 'Service' && metadata.name === 'leasehold',
      ) as Any;
      assert.partialDeepStrictEqual(deployment.spec.template.metadata.labels, service.spec.selector);
      const secrets = [...JSON.stringify(manifests).matchAll(/"(?:secretRef|secretKeyRef)":\{"name":"([^"]+)"/g)].map(
        ([, name]) => name,
      );
      for (const name of [...secrets, of('TriggerAuthentication', manifests).spec.secretTargetRef[0].name]) {
        assert.ok(readme.includes(`secret generic ${name}`), `README.md does not make the secret ${name}`);
      }
    }
  });

  test('kubectl puts them together', {
    skip: spawnSync('kubectl', ['version', '--client']).error && 'there is no kubectl',
  }, () => {
    const text = execFileSync('kubectl', ['kustomize', join(DEPLOY, 'kubernetes')], { encoding: 'utf8' });
    assert.equal(manifestsOf(text).length, 9);
  });
});

describe('the launcher of Jobs', () => {
  test('its account may make them, and nothing else', () => {
    for (const manifests of [manifestsIn(join(DEPLOY, 'kubernetes')).map(({ manifest }) => manifest), chart()]) {
      assert.deepEqual(of('Role', manifests).rules, [{ apiGroups: ['batch'], resources: ['jobs'], verbs: ['create'] }]);
    }
    assert.equal(of('Role', chart({ launcher: { enabled: false } })), undefined);
  });
});

describe('KEDA', () => {
  const scaled = of('ScaledJob');
  const { url, valueLocation, authMode, targetValue } = scaled.spec.triggers[0].metadata as Record<string, string>;

  test('it asks a node for what the queue could use, with a token that only reads', async (t) => {
    const node = await RealNode.start(t, ['--no-worker']);
    const { token } = await node.call('POST', '/tokens', { name: 'keda', role: 'read' });
    for (let i = 0; i < 3; i++) await node.push({ queue: 'default', handler: 'echo' });
    const { pathname } = new URL(url ?? '');
    assert.equal(authMode, 'bearer');
    const response = await fetch(`${node.url}${pathname}`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 200);
    const answer = (await response.json()) as Record<string, number>;
    assert.equal((answer[valueLocation ?? ''] ?? Number.NaN) / Number(targetValue), 3);
    assert.equal(ROUTES.scaleQueue.access, 'read');
    // Its workers only look for work where the figure comes from.
    assert.ok(scaled.spec.jobTargetRef.template.spec.containers[0].args.includes(`--queue=${pathname.split('/')[4]}`));
  });

  test('the node answers to the name by which it asks', () => {
    const { args } = of('Deployment').spec.template.spec.containers[0];
    assert.ok(args.includes(`--public-host=${new URL(url ?? '').hostname}`));
  });

  test('a worker that has not finished is not started again: "desired" has what runs, and "default" takes it off', () => {
    assert.deepEqual([valueLocation, scaled.spec.scalingStrategy.strategy], ['desired', 'default']);
  });
});

describe('the chart', () => {
  test('it says what the manifests say', () => {
    const plain = manifestsIn(join(DEPLOY, 'kubernetes')).map(({ manifest }) => manifest);
    const rendered = chart({ keda: { enabled: true } });
    const podOf = (manifest: Any): Any =>
      structuredClone((manifest.spec.template ?? manifest.spec.jobTargetRef.template).spec);
    for (const kind of ['Deployment', 'ScaledJob']) {
      const [ours, theirs] = [podOf(of(kind, plain)), podOf(of(kind, rendered))];
      delete theirs.containers[0].imagePullPolicy;
      if (kind === 'Deployment') delete theirs.automountServiceAccountToken;
      assert.deepEqual(theirs, ours, kind);
    }
    assert.deepEqual(of('ScaledJob', rendered).spec.triggers, of('ScaledJob', plain).spec.triggers);
    assert.deepEqual(of('Role', rendered).rules, of('Role', plain).rules);
  });

  test('its values lead where they say', () => {
    const manifests = chart({
      ...WHOLE,
      image: { tag: '9.9' },
      launcher: { maxJobs: 7 },
      keda: { enabled: true, queue: 'gpu' },
    });
    const { args, image } = of('Deployment', manifests).spec.template.spec.containers[0];
    assert.equal(image, 'registry.example/leasehold:9.9');
    assert.deepEqual(args.slice(-3), ['--public-host=tasks.example.org', '--log-level', 'debug']);
    assert.equal(of('ResourceQuota', manifests).spec.hard['count/jobs.batch'], '7');
    assert.match(of('ScaledJob', manifests).spec.triggers[0].metadata.url, /\/queues\/gpu\/scale$/);
    assert.deepEqual(
      chart({ launcher: { enabled: false } }).map(({ kind }) => kind),
      ['ServiceAccount', 'Service', 'Deployment'],
    );
  });

  test('its version is that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { version: own, appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
    assert.deepEqual([own, appVersion], [version, version]);
  });
});

describe('the image', () => {
  const text = readFileSync(join(DEPLOY, 'Dockerfile'), 'utf8');
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

  test('it has the Node that the tests run on', () => {
    assert.match(text, new RegExp(`^ARG NODE=${own.devDependencies.node.replaceAll('.', '\\.')}$`, 'm'));
  });

  test('what it copies from the checkout is there, and no more than is needed is sent', () => {
    const sources = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) => list.split(' '));
    assert.ok(sources.length > 4);
    for (const source of sources) assert.ok(existsSync(join(ROOT, source)), source);
    const ignored = readFileSync(join(DEPLOY, 'Dockerfile.dockerignore'), 'utf8').trim().split('\n');
    for (const needed of ['src', 'bin', 'machines', 'web', 'build']) assert.ok(!ignored.includes(needed), needed);
    assert.ok(ignored.includes('**/node_modules') && ignored.includes('.git'));
  });

  test('it has what the package publishes', () => {
    const copied = [...text.matchAll(/^COPY --from=build (.+) \S+$/gm)].flatMap(([, list = '']) => list.split(' '));
    for (const part of own.files) assert.ok(copied.includes(`/src/${part}`), part);
  });

  test('it does not run as root', () => {
    assert.match(text, /^USER 1000:1000$/m);
  });
});

describe('compose', () => {
  const { services, volumes } = parse(readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8'), { merge: true });

  test('each command is one that leasehold takes, with its variables', async () => {
    for (const name of ['node', 'worker']) {
      const { command, environment } = services[name];
      await accepts(command, environment);
      assert.equal(environment.LEASEHOLD_STORE, 'postgres://postgres@postgres/postgres');
    }
  });

  test('the node is open to this host alone, and answers to its name', () => {
    assert.deepEqual(services.node.ports, ['127.0.0.1:7420:7420']);
    assert.equal(services.node.command[services.node.command.indexOf('--public-host') + 1], 'node');
  });

  test('what it names is there', () => {
    const named = Object.values(services as Record<string, Any>).flatMap(
      (service) => (service.volumes ?? []) as string[],
    );
    for (const volume of named) assert.ok(Object.hasOwn(volumes, volume.split(':')[0] ?? ''), volume);
    assert.ok(existsSync(join(DEPLOY, services.node.build.context, services.node.build.dockerfile)));
    assert.doesNotMatch(readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8'), /PASSWORD: [^$]/);
  });
});

test('every file of the folder is named in its README', () => {
  const readme = readFileSync(join(DEPLOY, 'README.md'), 'utf8');
  const files = globSync('**/*', { cwd: DEPLOY, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { name } of files) assert.ok(name === 'README.md' || readme.includes(name), name);
});
