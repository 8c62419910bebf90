/** Every setting of the guide to launchers, and its code. Places that are not here (docker, systemd, AWS, a cluster) are stood in for by programs that write down what they were told. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { delimiter, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { remoteKinds } from '../../../src/fleet/launch/remote-kinds.ts';
import type { Launcher, LauncherHost, LaunchRequest } from '../../../src/fleet/launcher.ts';
import { LauncherKinds } from '../../../src/fleet/registry.ts';
import { kubernetesApi } from '../../support/fleet/kubernetes-api.ts';
import { hostOf, listening, PATH, requestOf, TICKET } from '../../support/fleet/launching.ts';
import { BIN, ROOT, run, temporaryFolder } from '../../support/leasehold.ts';

const PAGE = readFileSync(join(ROOT, 'docs/guides/launchers.md'), 'utf8');
type LauncherSetting = Parameters<LauncherKinds['make']>[0];

const NOW = hostOf().now();
const KINDS = ['command', 'ssh', 'webhook', 'kubernetes'];

const blocks = (language: string): readonly (readonly [string, string])[] =>
  [...PAGE.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].flatMap(([, of, name = '', text = '']) =>
    of === language ? [[name, text] as const] : [],
  );
const settings = blocks('json').map(([kind, text]) => [kind, JSON.parse(text) as LauncherSetting] as const);
const setting = (program: string): LauncherSetting => {
  const found = settings.find(([, { argv }]) =>
    JSON.stringify(argv ?? []).startsWith(`["${program.replace(' ', '","')}"`),
  );
  assert.ok(found, program);
  return found[1];
};

interface Told {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

/** A launcher of the guide on a host whose programs only write down what they were told. */
function standing(
  t: TestContext,
  program: string,
  given: NodeJS.ProcessEnv = {},
): { launcher: Launcher; told: () => Told } {
  const folder = temporaryFolder(t);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\nprintf '%s\\0' "$@" >${folder}/argv\nenv -0 >${folder}/env\ncat >${folder}/stdin\necho started-1\n`;
  for (const name of ['docker', 'systemd-run', 'aws']) writeFileSync(join(bin, name), script, { mode: 0o755 });
  const environment = { PATH: `${bin}${delimiter}${PATH}`, ...given };
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return {
    launcher: launcherFor(setting(program), environment),
    told: () => ({
      argv: read('argv').split('\0').slice(0, -1),
      env: Object.fromEntries(
        read('env')
          .split('\0')
          .map((one) => one.split(/=(.*)/s) as [string, string]),
      ),
      stdin: read('stdin'),
    }),
  };
}

function launcherFor(
  given: LauncherSetting,
  environment: NodeJS.ProcessEnv,
  host: Partial<LauncherHost> = {},
): Launcher {
  const cluster = { server: new URL('https://10.0.0.1'), ca: undefined, namespace: 'work', token: async () => '' };
  return new LauncherKinds(remoteKinds({ environment, allowHttp: ['127.0.0.1:*'], cluster })).make(given, hostOf(host));
}

test('every setting of the guide is one that its launcher takes', () => {
  assert.ok(settings.length >= 7);
  assert.deepEqual([...new Set(settings.map(([kind]) => kind))].toSorted(), KINDS.toSorted());
  for (const [kind, given] of settings) {
    assert.equal(given.kind, kind);
    assert.ok(launcherFor(given, {}), kind);
  }
});

describe('programs', () => {
  const started = async (launcher: Launcher): Promise<void> =>
    assert.deepEqual(await launcher.launch(requestOf()), { started: 'started-1' });

  test('docker gets the environment by name, and the name of the container from the ticket', async (t) => {
    const { launcher, told } = standing(t, 'docker', { PGPASSWORD: 'canary' });
    await started(launcher);
    const { argv, env } = told();
    assert.ok(!argv.join(' ').includes(TICKET) && !argv.join(' ').includes('canary'));
    for (const [i, word] of argv.entries()) if (word === '--env') assert.ok(env[argv[i + 1] ?? ''], argv[i + 1]);
    assert.match(argv[argv.indexOf('--name') + 1] ?? '', /^leasehold-papers-[0-9a-f]{20}$/);
    assert.deepEqual(argv.slice(-requestOf().args.length), requestOf().args);
  });

  test('systemd-run gets the way to the store, and the program that leasehold is here', async (t) => {
    const { launcher, told } = standing(t, 'systemd-run');
    await started(launcher);
    const { argv, env } = told();
    assert.equal(env['LEASEHOLD_STORE'], 'sqlite:/srv/work.db');
    assert.deepEqual(argv.slice(-requestOf().args.length - 2), [...hostOf().leasehold, ...requestOf().args]);
  });

  test('ECS gets a task with the arguments and the ticket, on standard input', async (t) => {
    const signedIn = { AWS_REGION: 'eu-central-1', AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/x' };
    const { launcher, told } = standing(t, 'aws ecs', signedIn);
    await started(launcher);
    const { argv, env, stdin } = told();
    assert.ok(!argv.join(' ').includes(TICKET));
    assert.partialDeepStrictEqual(env, signedIn);
    const task = JSON.parse(stdin);
    assert.ok(task.clientToken.length <= 64 && task.startedBy.length <= 128);
    const [{ command, environment }] = task.overrides.containerOverrides;
    assert.deepEqual(command, requestOf().args);
    assert.deepEqual(
      Object.fromEntries(environment.map(({ name, value }: Record<string, string>) => [name, value])),
      requestOf().env,
    );
  });

  test('Lambda gets an event with the arguments and the ticket', async (t) => {
    const { launcher, told } = standing(t, 'aws lambda', {
      AWS_REGION: 'x',
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/x',
    });
    await started(launcher);
    const { argv, stdin } = told();
    assert.deepEqual(JSON.parse(stdin), { args: requestOf().args, env: requestOf().env });
    assert.equal(argv[argv.indexOf('--payload') + 1], 'file:///dev/stdin');
  });
});

async function written(
  t: TestContext,
  name: string,
): Promise<{ readonly folder: string; readonly module: Record<string, unknown> }> {
  const folder = temporaryFolder(t);
  const [, text] = blocks('js').find(([file]) => file === name) ?? assert.fail(name);
  writeFileSync(join(folder, name), text);
  return { folder, module: await import(pathToFileURL(join(folder, name)).href) };
}

test('the function of Lambda runs one worker, for one task', async (t) => {
  const { folder, module } = await written(t, 'lambda.mjs');
  const store = `sqlite:${join(folder, 'work.db')}`;
  const pushed = run(t, ['push', 'echo', '{"a":1}', '--store', store], { cwd: folder });
  assert.equal((await pushed.ended).code, 0);
  writeFileSync(join(folder, 'leasehold'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@" >/dev/null\n`, {
    mode: 0o755,
  });
  const old = process.env['PATH'];
  process.env['PATH'] = `${folder}${delimiter}${PATH}`;
  t.after(() => {
    process.env['PATH'] = old;
  });
  const handler = module['handler'] as (event: object) => Promise<{ status: number }>;
  const args = ['worker', '--once', '--queue', 'echo'];
  assert.deepEqual(await handler({ args, env: { LEASEHOLD_STORE: store, LEASEHOLD_DATA_DIR: join(folder, 'data') } }), {
    status: 0,
  });
  const shown = run(t, ['tasks', 'show', '1', '--store', store, '--json'], { cwd: folder });
  assert.equal((await shown.ended).code, 0);
  assert.match(shown.stdout, /"status": ?"completed"|"state": ?"completed"/);
});

describe('the receiver of webhooks', () => {
  type Launch = Pick<LaunchRequest, 'pool' | 'ticket'> & { readonly id: string };
  interface Receiver {
    launchOf(headers: object, body: string, key: string, now?: number): Launch | undefined;
    launchOnce(launch: Launch, start: (launch: Launch) => unknown): Promise<{ started: unknown }>;
  }

  async function receiving(
    t: TestContext,
  ): Promise<{ at: string; receiver: Receiver; starts: Launch[]; seen: [object, string][] }> {
    const receiver = (await written(t, 'receiver.mjs')).module as unknown as Receiver;
    const starts: Launch[] = [];
    const seen: [object, string][] = [];
    const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = (await request.setEncoding('utf8').toArray()).join('');
      seen.push([request.headers, body]);
      const launch = receiver.launchOf(request.headers, body, 'canary-key', NOW + 1000);
      if (launch === undefined) return void response.writeHead(401).end();
      response.end(JSON.stringify(await receiver.launchOnce(launch, (one) => `vm-${starts.push(one)}`)));
    };
    const server = createServer((request, response) => void receive(request, response));
    const { port } = await listening(t, server);
    return { at: `http://127.0.0.1:${port}/launch`, receiver, starts, seen };
  }

  const from = (url: string, key: string): Launcher =>
    launcherFor(
      { ...settings.find(([kind]) => kind === 'webhook')?.[1], kind: 'webhook', url },
      {},
      { secret: () => key },
    );

  test('what the launcher sends starts one worker, however often it is sent', async (t) => {
    const { at, starts } = await receiving(t);
    const launcher = from(at, 'canary-key');
    assert.deepEqual(await launcher.launch(requestOf()), { started: 'vm-1' });
    assert.deepEqual(await launcher.launch(requestOf()), { started: 'vm-1' });
    assert.deepEqual(await launcher.launch(requestOf({ ticketId: 'tk_2' })), { started: 'vm-2' });
    assert.deepEqual(
      starts.map(({ pool, ticket }) => [pool, ticket]),
      [
        ['papers', TICKET],
        ['papers', TICKET],
      ],
    );
  });

  test('what is signed with another key, changed or old starts nothing', async (t) => {
    const { at, receiver, starts, seen } = await receiving(t);
    await assert.rejects(from(at, 'other').launch(requestOf()), { code: 'HTTP_401' });
    await from(at, 'other canary-key').launch(requestOf());
    assert.equal(starts.length, 1);
    const [headers, body] = seen.at(-1) ?? assert.fail();
    const judged = (more: object, text = body, at = NOW): boolean =>
      receiver.launchOf({ ...headers, ...more }, text, 'canary-key', at) !== undefined;
    assert.equal(judged({}), true);
    assert.equal(judged({}, body.replace('papers', 'others')), false);
    assert.equal(judged({ 'x-leasehold-id': 'other' }), false);
    assert.equal(judged({}, body, NOW + 301_000), false);
    assert.equal(judged({}, body, NOW - 302_000), false);
    for (const signature of ['', 't=', 'v1=', 't=1614265330', 't=1614265330,v1=00', 't=x,v1=x', undefined])
      assert.equal(judged({ 'x-leasehold-signature': signature }), false, signature);
  });
});

test('the Job of the guide is one that a cluster takes', async (t) => {
  const api = await kubernetesApi(t);
  const cluster = { server: api.url, ca: undefined, namespace: 'work', token: async () => 'canary' };
  const given = settings.find(([kind]) => kind === 'kubernetes')?.[1] as LauncherSetting;
  const launcher = new LauncherKinds(remoteKinds({ environment: {}, allowHttp: [], cluster })).make(given, hostOf());
  assert.match((await launcher.launch(requestOf())).started, /^job\/work\/leasehold-papers-/);
});
