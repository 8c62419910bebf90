import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gitServer } from '../../test/support/git/git-server.ts';
import { git, scratchRepository, TIMERS, until, writeFiles } from '../../test/support/git/scratch.ts';
import type { CredentialValue } from '../core/credential/value.ts';
import type { RepoProtocol } from '../core/workspace/repo-address.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { WorkspaceResolver } from './resolver.ts';

const temp = realpathSync(tempFolder('credential'));
const CANARY = 'canary-5e1f0c9a-that-nobody-shows';
const server = await gitServer(join(temp, 'server'), { user: 'ada', password: CANARY });
const url = server.publish('private', scratchRepository(join(temp, 'source')));
let number = 0;

function worker(value: CredentialValue, protocols: readonly RepoProtocol[] = ['http'], knownHosts?: string) {
  const folder = join(temp, `worker${(number += 1)}`);
  const asked: string[] = [];
  const credential = async (name: string) => {
    asked.push(name);
    return value;
  };
  const resolver = new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols,
    hosts: ['127.0.0.1'],
    knownHosts,
    credential,
    clock: { wall: () => Date.now() },
    timers: TIMERS,
  });
  return { folder, asked, resolver };
}

const ADA: CredentialValue = { type: 'login', fields: { username: 'ada', password: CANARY } };

/** What any user of this host can read of processes, and of files below a folder. */
function shown(folder: string): readonly string[] {
  const processes = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid));
  const files = globSync('**/*', { cwd: folder }).map((name) => join(folder, name));
  return [...processes.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]), ...files];
}

function holds(path: string): boolean {
  try {
    return (path.startsWith('/proc') || statSync(path).isFile()) && readFileSync(path, 'latin1').includes(CANARY);
  } catch {
    // It has ended, or it is not ours.
    return false;
  }
}

test('the password of a private repository is in no argument, no environment and no file while git uses it', {
  skip: !existsSync('/proc'),
}, async () => {
  const { folder, resolver, asked } = worker(ADA);
  let [looked, gits]: [readonly string[] | undefined, number] = [undefined, 0];
  server.hold = async () => {
    const all = shown(folder);
    gits = all.filter((path) => path.endsWith('cmdline') && readable(path).includes('remote-http')).length;
    looked ??= all.filter(holds);
  };
  const workspace = await resolver.prepare(
    { source: 'git', repo: url, branch: 'run/a', publish: 'push', credential: 'forge' },
    { task: 't', attempt: 1 },
  );
  writeFiles(workspace.path, { a: 'a' });
  await workspace.commitAll('A');
  assert.equal((await workspace.publish()).how, 'pushed');
  server.hold = undefined;
  assert.deepEqual([looked, gits > 0, [...new Set(asked)]], [[], true, ['forge']]);
  assert.deepEqual(
    globSync('**/*', { cwd: folder }).filter((name) => holds(join(folder, name))),
    [],
  );
  assert.deepEqual(globSync('private/access-*', { cwd: folder }), [], 'the program that git asks is gone');
  assert.ok(!git(workspace.path, 'config', '--list').includes(CANARY));
  const planted = spawn('sleep', ['60'], { env: { PATH: '/usr/bin:/bin', CANARY } });
  after(() => planted.kill());
  await until('the environment of the other process', () => holds(`/proc/${planted.pid}/environ`));
  await workspace.close('completed');
});

const readable = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

test('a wrong password fails without a question, and is not told', async () => {
  const wrong = `${CANARY}-wrong`;
  const { resolver } = worker({ value: wrong });
  await assert.rejects(
    resolver.prepare({ source: 'git', repo: url, credential: 'forge' }, { task: 't', attempt: 1 }),
    (error: Error) => {
      assert.match(error.message, /Authentication failed/);
      return !error.message.includes(CANARY);
    },
  );
  await assert.rejects(worker(ADA).resolver.prepare({ source: 'git', repo: url }, { task: 't', attempt: 1 }), {
    code: 'WORKSPACE_FAILED',
  });
});

test('what was read with a credential is not given to a task that names none', async () => {
  const { resolver } = worker(ADA);
  const first = await resolver.prepare({ source: 'git', repo: url, credential: 'forge' }, { task: 'a', attempt: 1 });
  const other = resolver.prepare({ source: 'git', repo: url, commit: first.commit }, { task: 'b', attempt: 1 });
  await assert.rejects(other, { code: 'WORKSPACE_FAILED' });
  await first.close('completed');
});

test('a credential goes to no host that the worker does not list, and to none where it lists nothing', async () => {
  let asked = 0;
  const credential = async () => {
    asked += 1;
    return ADA;
  };
  for (const hosts of [undefined, ['github.com'], []]) {
    const resolver = new WorkspaceResolver({
      folder: join(temp, `hosts${(number += 1)}`),
      roots: new Map(),
      protocols: ['http'],
      hosts,
      credential,
      clock: { wall: () => 0 },
      timers: TIMERS,
    });
    await assert.rejects(
      resolver.prepare({ source: 'git', repo: url, credential: 'forge' }, { task: 't', attempt: 1 }),
      ({ code }: Error & { readonly code: string }) => code === 'WORKSPACE_FAILED' || code === 'INVALID_INPUT',
    );
  }
  assert.equal(asked, 0);
});

test('a credential that nobody gives, or that is none for a repository, is refused', async () => {
  const folder = join(temp, 'none');
  const none = new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols: ['http'],
    hosts: ['127.0.0.1'],
    clock: { wall: () => 0 },
    timers: TIMERS,
  });
  await assert.rejects(none.prepare({ source: 'git', repo: url, credential: 'forge' }, { task: 't', attempt: 1 }), {
    code: 'CREDENTIAL_MISSING',
  });
  for (const value of [{ value: 'two\nlines' }, { type: 'x', fields: { other: 'x' } }, { value: 'x'.repeat(5000) }])
    await assert.rejects(
      worker(value).resolver.prepare({ source: 'git', repo: url, credential: 'forge' }, { task: 't', attempt: 1 }),
      { code: 'WORKSPACE_FAILED' },
    );
});

const SSHD = '/usr/sbin/sshd';

test('a key of ssh is a private file for as long as a call takes, and only known hosts are believed', {
  skip: !existsSync(SSHD),
}, async () => {
  const home = join(temp, 'ssh');
  mkdirSync(home, { mode: 0o700 });
  for (const name of ['host', 'user', 'other'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, name)]);
  const port = await freePort();
  writeFileSync(join(home, 'keys'), readFileSync(join(home, 'user.pub')), { mode: 0o600 });
  const settings = [
    'Port',
    `${port}`,
    'ListenAddress',
    '127.0.0.1',
    'HostKey',
    join(home, 'host'),
    'AuthorizedKeysFile',
    join(home, 'keys'),
    'StrictModes',
    'no',
    'UsePAM',
    'no',
    'PidFile',
    'none',
  ];
  const config = Array.from(
    { length: settings.length / 2 },
    (_, at) => `${settings[2 * at]} ${settings[2 * at + 1]}\n`,
  ).join('');
  writeFileSync(join(home, 'config'), config);
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const sshd = spawn(SSHD, ['-D', '-e', '-f', join(home, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  after(() => sshd.kill());
  let said = '';
  sshd.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await until('sshd', () => said.includes('listening') || sshd.exitCode !== null);
  assert.equal(sshd.exitCode, null, said);
  const repo = `ssh://127.0.0.1:${port}${join(temp, 'server', 'private.git')}`;
  const key: CredentialValue = { type: 'ssh', fields: { private_key: readFileSync(join(home, 'user'), 'utf8') } };
  const hostKey = readFileSync(join(home, 'host.pub'), 'utf8');
  writeFileSync(join(home, 'known'), `[127.0.0.1]:${port} ${hostKey}`);
  writeFileSync(join(home, 'unknown'), `[127.0.0.1]:${port} ${readFileSync(join(home, 'other.pub'), 'utf8')}`);
  const spec = { source: 'git', repo, credential: 'forge' } as const;
  const known = worker(key, ['ssh'], join(home, 'known'));
  const workspace = await known.resolver.prepare(spec, { task: 't', attempt: 1 });
  assert.equal(readFileSync(join(workspace.path, 'README.md'), 'utf8'), 'shop\n');
  assert.deepEqual(globSync('private/*', { cwd: known.folder }), []);
  await assert.rejects(worker(key, ['ssh'], join(home, 'unknown')).resolver.prepare(spec, { task: 't', attempt: 1 }), {
    code: 'WORKSPACE_FAILED',
  });
  const first = worker(key, ['ssh']);
  await (await first.resolver.prepare(spec, { task: 't', attempt: 1 })).close('completed');
  assert.match(
    readFileSync(join(first.folder, 'private', 'known_hosts'), 'utf8'),
    /127\.0\.0\.1/,
    'the first key is kept',
  );
});

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => listening.once('listening', done));
  const { port } = listening.address() as { readonly port: number };
  await new Promise((done) => listening.close(done));
  return port;
}
