/**
 * `su nobody` on the host of a node and a worker: reads nothing of what they keep or run, and becomes nobody else. Who asks over
 * loopback has no user for a server, so what it may ask without a token is in doors.test.ts and tokens.test.ts.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { BIN, ROOT, type Running, run, SOURCE_BIN, temporaryFolder } from '../support/leasehold.ts';
import { asNobody, NOBODY, notRoot } from './nobody.ts';
import { until } from './scene.ts';

/** What nobody may see anywhere, besides tokens and secrets. */
const CARD = 'card-4711-0815';

interface House {
  readonly folder: string;
  readonly url: string;
  /** The folders of the node and of the worker, and where both would put temporary files. */
  readonly data: string;
  readonly there: string;
  readonly temporary: string;
  readonly pids: readonly number[];
  readonly secrets: readonly string[];
}

interface Ground {
  readonly umask: string;
  /** Before the node starts. */
  readonly before?: (data: string, there: string) => void;
}

/** A node and a worker that joined it, in a folder that everybody may look into; both have run a task with a secret in it. */
async function house(t: TestContext, { umask, before = () => {} }: Ground): Promise<House> {
  const folder = temporaryFolder(t);
  const [data, there, temporary] = ['.leasehold', 'there', 'tmp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  chmodSync(folder, 0o755);
  mkdirSync(temporary);
  chmodSync(temporary, 0o1777);
  before(data, there);
  const start = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Running =>
    run(t, ['-c', `umask ${umask}; exec "${process.execPath}" "${BIN}" "$@"`, 'sh', ...args], {
      cwd: folder,
      command: '/bin/sh',
      env: { TMPDIR: temporary, ...more },
    });
  const done = async (...args: readonly string[]): Promise<string> => {
    const command = start(args);
    assert.equal((await command.ended).code, 0, command.stderr);
    return command.stdout;
  };
  const node = start(['up', '--port', '0']);
  const url = await node.address();
  const { code } = JSON.parse(await done('workers', 'create', 'box', '--code', '--json')) as { code: string };
  const worker = start(['worker', '--join', url, '--data-dir', there], { LEASEHOLD_WORKER_CODE: code });
  await worker.says(/box/);
  await done('push', 'echo', JSON.stringify({ card: CARD }), '--only', 'box', '--follow');
  await done('push', 'shell', JSON.stringify({ command: 'cat', stdin: CARD }), '--follow');
  await done('backup', 'outside.db');
  const read = (path: string): string => readFileSync(path, 'utf8').trim();
  const { secret } = JSON.parse(read(join(there, 'worker.json'))) as { secret: string };
  return {
    folder,
    url,
    data,
    there,
    temporary,
    pids: [node, worker].flatMap(({ child }) => family(child.pid as number)),
    secrets: [CARD, code, secret, read(join(data, 'token')), read(join(data, 'cluster-secret'))],
  };
}

/** A process and its descendants. */
function family(pid: number): readonly number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((path) => readFileSync(path, 'utf8').split(' '));
  return [pid, ...children.filter((text) => text.trim() !== '').flatMap((text) => family(Number(text)))];
}

/** All paths below, and the folder itself. */
const below = (folder: string): readonly string[] => [
  folder,
  ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
];

function readsNoFile({ folder, data, there, temporary }: House): void {
  assert.equal(asNobody(`ls "${folder}"`).status, 0, 'the folder around it is open');
  const kept = [...below(data), ...below(there), join(folder, 'outside.db')];
  const names = kept.map((path) => path.slice(folder.length + 1));
  for (const name of ['leasehold.db-wal', 'leasehold.db-shm', 'token', 'cluster-secret', 'node.json'])
    assert.ok(names.includes(`.leasehold/${name}`), name);
  assert.ok(names.includes('there/worker.json'));
  assert.ok(
    names.some((name) => /^there\/spool\/.*\/ends$/.test(name)),
    String(names),
  );
  // Not only because of the folder above: each has its own mode.
  for (const path of kept) assert.equal(lstatSync(path).mode & 0o077, 0, path);
  const tries = '{ cat "$one" || ls "$one/" || test -r "$one" || test -w "$one"; } > /dev/null 2>&1';
  assert.equal(asNobody(`for one do ${tries} && echo "$one"; done; true`, kept).out, '');
  assert.equal(asNobody(`find "${temporary}" -type f -o -type s`).out, '', 'temporary files');
}

/** Nothing of a process but its command line, and in that no secret. */
function readsNoProcess({ pids, secrets }: House): void {
  assert.ok(pids.length >= 5, `node, worker, guards and children: ${pids}`);
  const hidden = pids.flatMap((pid) =>
    ['environ', 'maps', 'mem', 'auxv', 'io', 'stack'].map((name) => `/proc/${pid}/${name}`),
  );
  const folders = pids.flatMap((pid) => ['fd', 'map_files', 'cwd/'].map((name) => `/proc/${pid}/${name}`));
  const quiet = '> /dev/null 2>&1 && echo "$one"';
  assert.equal(asNobody(`for one do head -c 1 "$one" ${quiet}; done; true`, hidden).out, '');
  assert.equal(asNobody(`for one do ls "$one" ${quiet}; done; true`, folders).out, '');
  assert.equal(asNobody(`for one do kill -0 "$one" ${quiet}; done; true`, pids.map(String)).out, '');
  const shown = pids.flatMap((pid) => ['cmdline', 'comm', 'status', 'stat'].map((name) => `/proc/${pid}/${name}`));
  const seen = asNobody('cat "$@" 2> /dev/null', shown).out;
  assert.match(seen, /leasehold-guard/);
  for (const secret of secrets) assert.ok(!seen.includes(secret), secret);
}

/** Whatever a process has open, wherever that lies: stores, logs, shared memory, sockets with a name. */
function opensNothing({ pids }: House): void {
  const open = new Set(pids.flatMap((pid) => globSync(`/proc/${pid}/fd/*`).map(linkOf)));
  const files = [...open].filter((path) => path.startsWith('/') && !path.startsWith('/dev/') && existsSync(path));
  // A Node that starts may be reading the certificates of the host (NODE_EXTRA_CA_CERTS), which everybody may.
  const isPublic = (path: string): boolean => [ROOT, '/usr/', '/etc/ssl/certs/'].some((one) => path.startsWith(one));
  const ours = files.filter((path) => statSync(path).isFile() && !isPublic(path));
  assert.ok(ours.length >= 3, String(ours));
  assert.equal(asNobody('for one do cat "$one" > /dev/null 2>&1 && echo "$one"; done; true', ours).out, '');
  assert.deepEqual(
    [...open].filter((path) => path.startsWith('/dev/shm')),
    [],
  );
  const inodes = new Set([...open].flatMap((path) => /^socket:\[(\d+)\]$/.exec(path)?.[1] ?? []));
  const named = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
  assert.deepEqual(
    named.filter(([, , , , , , inode = '', path]) => inodes.has(inode) && path !== undefined),
    [],
  );
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** With everything that it can find out. */
async function becomesNobody({ url, pids, folder }: House): Promise<void> {
  const words = new Set(
    [`ls -laR "${folder}"`, ...pids.map((pid) => `tr '\\0' '\\n' < /proc/${pid}/cmdline`)].flatMap((command) =>
      asNobody(command).out.split(/\s+/),
    ),
  );
  const guesses = ['', 'admin', 'nobody', ...words].filter((word) => word.length < 400 && /^[\x21-\x7e]*$/.test(word));
  assert.ok(guesses.length > 20);
  const ask = async (path: string, init: RequestInit = {}): Promise<number> =>
    (await fetch(`${url}${path}`, init)).status;
  assert.equal(await ask('/api/v1/me'), 401);
  for (const guess of guesses) {
    assert.equal(await ask('/api/v1/me', { headers: { authorization: `Bearer ${guess}` } }), 401, guess);
    const cookie = `leasehold_session=${guess.replaceAll(/[;,]/g, '')}`;
    assert.equal(await ask('/api/v1/me', { headers: { cookie } }), 401, guess);
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
    for (const proof of [{ token: guess }, { code: guess }]) {
      const status = await ask('/ui/login', { ...json, body: JSON.stringify(proof) });
      assert.ok([400, 401, 422, 429].includes(status), `${status} ${guess}`);
    }
    const status = await ask('/api/v1/workers/enrol', { ...json, body: JSON.stringify({ code: guess }) });
    assert.ok(status >= 400 && status < 500, `${status} ${guess}`);
  }
}

describe('another user of the host', { skip: notRoot }, () => {
  const OLDER: Ground['before'] = (data, there) => {
    for (const folder of [data, there]) mkdirSync(folder);
    for (const name of ['leasehold.db', 'older.db']) writeFileSync(join(data, name), '');
    writeFileSync(join(there, 'worker.json'), '{}');
    for (const path of [...below(data), ...below(there)]) chmodSync(path, 0o777);
  };
  for (const [what, ground] of Object.entries({
    'where the umask takes nothing away': { umask: '000' },
    'under the usual umask': { umask: '022' },
    'in a folder that an older version left open': { umask: '022', before: OLDER },
  })) {
    test(`reads nothing and becomes nobody, ${what}`, async (t) => {
      const victim = await house(t, ground);
      readsNoFile(victim);
      readsNoProcess(victim);
      opensNothing(victim);
      await becomesNobody(victim);
    });
  }

  test('prepares no folder in which somebody starts a node, a worker or a command', async (t) => {
    const around = temporaryFolder(t);
    const elsewhere = join(around, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    const token = `lh_adm_${'p'.repeat(43)}`;
    const plants: Readonly<Record<string, string>> = {
      'a token': `mkdir .leasehold; echo ${token} > .leasehold/token`,
      'a secret of the cluster': `mkdir .leasehold; echo ${token} > .leasehold/cluster-secret`,
      'a store': 'mkdir .leasehold; : > .leasehold/leasehold.db',
      'an empty folder': 'mkdir .leasehold; chmod 777 .leasehold',
      'a link to a folder of its victim': `ln -s "${elsewhere}" .leasehold`,
    };
    chmodSync(around, 0o755);
    for (const [what, plant] of Object.entries(plants)) {
      const cwd = join(around, what.replaceAll(' ', '-'));
      mkdirSync(cwd);
      chmodSync(cwd, 0o1777);
      assert.equal(asNobody(`cd "$1"; ${plant}`, [cwd]).status, 0);
      const others = [
        ['dev', '--port', '0'],
        ['worker', '--once', '--idle-exit', '1ms'],
        ['push', 'echo', '1'],
      ];
      for (const args of [['up', '--port', '0'], ...(what === 'a store' ? others : [])]) {
        const refused = run(t, args, { cwd });
        assert.notEqual((await refused.ended).code, 0, `${what}: ${args}`);
        assert.match(refused.stderr, /belongs to another user/, `${what}: ${args}`);
      }
    }
    assert.deepEqual(readdirSync(elsewhere), []);
  });

  test('plants nothing in a folder of its victim that was open, and is not trusted for what it planted', async (t) => {
    for (const name of ['token', 'cluster-secret', 'leasehold.db', 'leasehold.db-wal']) {
      const cwd = temporaryFolder(t);
      chmodSync(cwd, 0o755);
      const data = join(cwd, '.leasehold');
      mkdirSync(data);
      chmodSync(data, 0o777);
      assert.equal(asNobody(`echo ${'p'.repeat(43)} > "${join(data, name)}"`).status, 0);
      for (const more of [[], ['--data-dir', data]]) {
        const refused = run(t, ['up', '--port', '0', ...more], { cwd });
        assert.notEqual((await refused.ended).code, 0, name);
        assert.match(refused.stderr, new RegExp(`${name} belongs to another user`));
      }
    }
  });

  test('is trusted with a folder that somebody names', async (t) => {
    const cwd = temporaryFolder(t);
    chmodSync(cwd, 0o777);
    assert.equal(asNobody('mkdir "$1"', [join(cwd, 'own')]).status, 0);
    const node = run(t, ['up', '--port', '0', '--no-worker', '--data-dir', 'own'], { cwd });
    await node.address();
  });

  test('cannot write to code that the next start runs, whatever the umask is', async (t) => {
    const installed = temporaryFolder(t);
    chmodSync(installed, 0o755);
    cpSync(SOURCE_BIN, join(installed, 'bin', 'leasehold.js'));
    symlinkSync(join(ROOT, 'src'), join(installed, 'src'));
    writeFileSync(join(installed, 'package.json'), readFileSync(join(ROOT, 'package.json')));
    const cache = join(installed, 'node_modules', '.cache', 'leasehold');
    const start = async (): Promise<void> => {
      // The tiers keep compiled code in a place of their own.
      const line = `unset NODE_COMPILE_CACHE; umask 000; exec "${process.execPath}" "${join(installed, 'bin', 'leasehold.js')}" --version`;
      const { code } = await run(t, ['-c', line], { cwd: installed, command: '/bin/sh' }).ended;
      assert.equal(code, 0);
      assert.ok(below(cache).length > 10, 'it is used');
      for (const path of [join(installed, 'node_modules'), ...below(cache)])
        assert.equal(statSync(path).mode & 0o022, 0, path);
    };
    await start();
    // As an older version has made it, with something of somebody else in it.
    chmodSync(cache, 0o777);
    asNobody(`mkdir "${join(cache, 'planted')}"`);
    assert.equal(statSync(join(cache, 'planted')).uid, NOBODY);
    await start();
    assert.ok(!existsSync(join(cache, 'planted')));
    // The tasks of "dev" are code, too.
    const dev = run(t, ['-c', `umask 000; exec "${process.execPath}" "${BIN}" dev --port 0`], {
      cwd: installed,
      command: '/bin/sh',
    });
    await until(async () => existsSync(join(installed, 'tasks', 'hello.ts')));
    for (const path of below(join(installed, 'tasks'))) assert.equal(statSync(path).mode & 0o022, 0, path);
    dev.child.kill('SIGKILL');
    await dev.ended;
  });
});
