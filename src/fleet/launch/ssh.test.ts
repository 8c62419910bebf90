import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  launcherOf,
  lives,
  PATH,
  problemsOf,
  refusalOf,
  requestOf,
  TICKET,
} from '../../../test/support/fleet/launching.ts';
import { noSshd, type Sshd, startSshd } from '../../../test/support/fleet/sshd.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { Launched, LaunchRequest } from '../launcher.ts';
import { argumentsOf, sshKind } from './ssh.ts';

const folder = tempFolder('launch-ssh');
const kind = sshKind({ environment: { PATH, HOME: folder }, killMs: 50 });

describe('a worker on another host', { skip: noSshd() }, () => {
  const ends: (() => void)[] = [];
  let sshd: Sshd;
  before(async () => {
    sshd = await startSshd({ after: (end) => void ends.push(end) }, folder);
  });
  after(() => ends.forEach((end) => end()));

  let pipes = 0;
  function meeting(): { readonly path: string; readonly said: () => Promise<string> } {
    const path = join(folder, `pipe-${++pipes}`);
    execFileSync('mkfifo', [path]);
    return { path, said: () => readFile(path, 'utf8') };
  }

  const settingsOf = (more: object): object => ({
    host: '127.0.0.1',
    user: sshd.user,
    port: sshd.port,
    identity_file: sshd.identity,
    known_hosts_file: sshd.knownHosts,
    config_file: '/dev/null',
    ...more,
  });
  const launch = (more: object = {}, request: Partial<LaunchRequest> = {}): Promise<Launched> =>
    launcherOf(kind, settingsOf(more)).launch(requestOf(request));
  const sh = (script: string, ...args: readonly string[]) => ({ command: ['sh', '-c', script, 'sh', ...args] });

  test('it is started with its arguments as they are, and goes on when the connection has ended', async () => {
    const pipe = meeting();
    const args = ['{args}', 'it\'s $(touch trapped); `id` "x"', '{pool}'];
    const { started } = await launch({
      ...sh('printf "%s\\n" "$@" $$ > "$PIPE"; exec sleep 60', ...args),
      env: { PIPE: pipe.path },
    });
    const said = (await pipe.said()).trimEnd().split('\n');
    const pid = Number(/^127\.0\.0\.1 pid (\d+)$/.exec(started)?.[1]);
    assert.deepEqual(said, [...requestOf().args, 'it\'s $(touch trapped); `id` "x"', 'papers', String(pid)]);
    assert.equal(lives(pid), true);
    process.kill(pid, 'SIGKILL');
  });

  test('it has the ticket in its environment, and no arguments have it on either host', async () => {
    const pipe = meeting();
    const look = 'ps -eo args= > "$PIPE.ps"; echo "$LEASEHOLD_TICKET $LEASEHOLD_POOL $LEASEHOLD_ALLOW $JOIN" > "$PIPE"';
    await launch({ ...sh(look), env: { PIPE: pipe.path, JOIN: 'https://node:7420/{pool}', LEASEHOLD_ALLOW: 'shell' } });
    assert.equal(await pipe.said(), `${TICKET} papers shell https://node:7420/papers\n`);
    const seen = readFileSync(`${pipe.path}.ps`, 'utf8');
    assert.ok(seen.includes('sshd') && !seen.includes(TICKET));
  });

  test('what it writes goes to a file of the host, if one is named', async () => {
    const pipe = meeting();
    const output = join(folder, 'worker.log');
    await launch({ ...sh('echo one; echo two >&2; echo > "$PIPE"'), env: { PIPE: pipe.path }, output_file: output });
    await pipe.said();
    assert.equal(readFileSync(output, 'utf8'), 'one\ntwo\n');
  });

  test('a program that is not there is said before anything is started', async () => {
    const { code, message } = await refusalOf(launch({ command: ['/opt/no such/leasehold', '{args}'] }));
    assert.equal(code, 'EXIT');
    assert.match(message, /there is no program \/opt\/no such\/leasehold on this host/);
  });

  test('a file that cannot be written is said as well', async () => {
    const { code } = await refusalOf(launch({ ...sh('true'), output_file: '/proc/none/worker.log' }));
    assert.equal(code, 'EXIT');
  });

  test('a host that is not known is refused, and so is a key that it does not know', async () => {
    const known = join(folder, 'empty');
    writeFileSync(known, '');
    const stranger = await refusalOf(launch({ ...sh('true'), known_hosts_file: known }));
    assert.equal(stranger.code, 'UNREACHABLE');
    assert.match(stranger.message, /ssh could not work on 127\.0\.0\.1\.\n.*Host key verification failed/s);
    const other = join(folder, 'other');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', other]);
    const denied = await refusalOf(launch({ ...sh('true'), identity_file: other }));
    assert.match(denied.message, /Permission denied/);
  });

  test('a host that is not there is named', async () => {
    const { code, message } = await refusalOf(launch({ ...sh('true'), port: 1 }));
    assert.equal(code, 'UNREACHABLE');
    assert.match(message, /refused/);
  });
});

test('a host that accepts and then says nothing is left at the deadline', { skip: noSshd() }, async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const stop = new AbortController();
  const settings = { host: '127.0.0.1', port, config_file: '/dev/null', connect_seconds: 300 };
  const launched = refusalOf(launcherOf(kind, settings).launch(requestOf({ signal: stop.signal })));
  const [socket] = (await once(server, 'connection')) as [import('node:net').Socket];
  const closed = once(socket, 'close');
  stop.abort();
  assert.equal((await launched).code, 'TIMEOUT');
  await closed;
});

test('a host that says nothing of a worker has started none', async () => {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'ssh'), '#!/bin/sh\ncat >/dev/null\necho "Welcome to the jump host"\n', { mode: 0o755 });
  const lying = sshKind({ environment: { PATH: `${bin}:${PATH}` } });
  const { code } = await refusalOf(launcherOf(lying, { host: 'gpu-1' }).launch(requestOf()));
  assert.equal(code, 'NOT_STARTED');
});

test('no question is asked, nothing is forwarded, and the host cannot be an option', () => {
  const args = argumentsOf({ host: 'gpu-1', user: 'work', port: 2222 });
  for (const option of [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'ConnectTimeout=10',
    'ForwardAgent=no',
    'ControlPath=none',
  ]) {
    assert.equal(args[args.indexOf(option) - 1], '-o', option);
  }
  assert.deepEqual(args.slice(-3), ['--', 'gpu-1', 'sh -s']);
});

test('every problem of the settings is listed with its place', () => {
  const problems = problemsOf(kind, {
    host: '-oProxyCommand=touch x',
    user: '-l',
    port: 0,
    identity_file: 'id',
    known_hosts_file: '/a b',
    config_file: '/a%h',
    command: ['leasehold', '{ticket}'],
    env: { SECRET: 'canary' },
    options: [],
  });
  assert.deepEqual(
    problems.map((problem) => problem.split(' ')[0]),
    [
      'launcher.options',
      'launcher.host',
      'launcher.user',
      'launcher.port',
      'launcher.identity_file',
      'launcher.known_hosts_file',
      'launcher.config_file',
      'launcher.command.1',
      'launcher.env.SECRET',
    ],
  );
  for (const host of ['a@b', 'a b', 'a;b', '', 'a/b', '$(id)', '%h', 'ssh://a', 'x'.repeat(300)]) {
    assert.notDeepEqual(problemsOf(kind, { host }), [], host);
  }
  for (const host of ['gpu-1', '10.0.0.8', 'fe80::1', '::1', 'a.b.example', 'GPU_1'])
    assert.deepEqual(problemsOf(kind, { host }), [], host);
});
