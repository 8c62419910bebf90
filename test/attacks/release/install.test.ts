/** What somebody can do who is, or sits before, the node that a worker is installed from. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { newReleaseKey } from '../../../src/worker/upgrade/release-key.ts';
import { temporaryFolder } from '../../support/leasehold.ts';
import { Host, INSTALL_SCRIPT } from '../../support/releases/installed-worker.ts';
import { makeRelease, type Release, ReleaseServer } from '../../support/releases/release-server.ts';

const KEY = newReleaseKey();
const OTHER = newReleaseKey();
/** Takes any code, as `leasehold worker --enrol` does. */
const FILES = {
  'bin/leasehold.js': `
    const fs = process.getBuiltinModule('node:fs');
    const data = process.argv[process.argv.indexOf('--data-dir') + 1];
    fs.writeFileSync(data + '/enrolled', JSON.stringify([process.argv.slice(2), process.env.LEASEHOLD_WORKER_CODE]));
  `,
  'updater.js': 'process.exit(0)',
};

interface Scene {
  readonly host: Host;
  readonly server: ReleaseServer;
  readonly install: (release: Release, args?: readonly string[]) => ReturnType<Host['install']>;
}

async function scene(t: TestContext): Promise<Scene> {
  const server = await ReleaseServer.start(t);
  const host = new Host(t, join(temporaryFolder(t), 'home'));
  const own = [
    '--server',
    server.url,
    '--key',
    KEY.key,
    '--node',
    process.execPath,
    '--code-file',
    host.codeFile('lh_code_x'),
  ];
  return {
    host,
    server,
    install: (release, args = []) => {
      server.release = release;
      return host.install(INSTALL_SCRIPT, [...own, ...args]);
    },
  };
}

const good = (): Release => makeRelease('0.2.0', FILES, KEY.pem);

test('a signed release is installed, with the code in no argument, no file and no output', async (t) => {
  const { host, install } = await scene(t);
  const { code, stdout, stderr } = await install(good(), ['--', '--slots', '3', '--tag', "a 'b' $(touch pwned)"]);
  assert.equal(code, 0, stderr);
  const [args, given] = JSON.parse(readFileSync(join(host.prefix, 'data/enrolled'), 'utf8')) as [string[], string];
  assert.equal(given, 'lh_code_x');
  assert.ok(!args.includes('lh_code_x'));
  assert.deepEqual(host.state(), { version: '0.2.0', newest: '0.2.0', floor: '0.0.1', failures: 0 });
  const written = readFileSync(join(host.prefix, 'install.json'), 'utf8');
  assert.deepEqual((JSON.parse(written) as { arguments: string[] }).arguments, [
    '--slots',
    '3',
    '--tag',
    "a 'b' $(touch pwned)",
  ]);
  assert.ok(![stdout, stderr, written].some((text) => text.includes('lh_code_x')));
  assert.equal(existsSync(join(host.prefix, '../pwned')), false);
  // Once more it is the updater's.
  assert.match((await install(good())).stderr, /there is a worker in .* already/);
});

const REFUSED: Readonly<Record<string, readonly [release: () => Release, because: RegExp]>> = {
  'of another key': [() => makeRelease('0.2.0', FILES, OTHER.pem), /not signed by the key that you gave/],
  'without a signature': [() => makeRelease('0.2.0', FILES, undefined), /not signed; --unsigned/],
  'that has expired': [() => makeRelease('0.2.0', FILES, KEY.pem, { expires: Date.now() - 1 }), /has expired/],
  'whose bundle was cut short': [
    () => ({ ...good(), bundle: good().bundle.subarray(0, -9) }),
    /not the one that was signed/,
  ],
  'whose bundle is another one': [
    () => ({ ...good(), bundle: makeRelease('0.2.0', { ...FILES, 'updater.js': 'evil' }, KEY.pem).bundle }),
    /not the one that was signed|larger than/,
  ],
  'whose manifest says another version': [
    () => {
      const { envelope, bundle } = good();
      return { bundle, envelope: { ...envelope, signed: envelope.signed.replace('0.2.0', '9.9.9') } };
    },
    /not signed by the key/,
  ],
  'with a path that leads out of the folder': [
    () => makeRelease('0.2.0', { ...FILES, '../../../.profile': 'evil' }, KEY.pem),
    /the bundle is not one/,
  ],
};

for (const [what, [release, because]] of Object.entries(REFUSED)) {
  test(`a release ${what} is not installed, and nothing is left of it`, async (t) => {
    const { host, install } = await scene(t);
    const { code, stderr } = await install(release());
    assert.equal(code, 1);
    assert.match(stderr, because);
    assert.equal(existsSync(join(host.prefix, 'updater.json')), false);
    assert.equal(existsSync(join(host.prefix, 'updater.js')), false);
    assert.equal(existsSync(join(host.prefix, 'data/enrolled')), false);
  });
}

test('an install script that was cut off anywhere does nothing', (t) => {
  const folder = temporaryFolder(t);
  const [prefix, script] = [join(folder, 'prefix'), join(folder, 'install.sh')];
  writeFileSync(script, INSTALL_SCRIPT);
  // A letter is a byte here.
  const text = readFileSync(script, 'latin1');
  const last = text.lastIndexOf('leasehold_install "$@"');
  const whole = text.length - 1;
  // A cut within a function or a program in it ends with an error of the shell, wherever it is: what counts are their edges, and the last line.
  const edges = [...text.matchAll(/^\S/gm)].flatMap(({ index }) => [index - 1, index, index + 1, index + 2]);
  const line = Array.from({ length: whole - last }, (_, n) => last + n);
  const spread = Array.from({ length: 100 }, (_, n) => Math.floor((n * last) / 100));
  const cuts = [...new Set([...edges, ...line, ...spread])].filter((cut) => cut > 0 && cut < whole);
  assert.ok(cuts.length > 200, String(cuts.length));
  const args = `--server http://127.0.0.1:1 --unsigned --prefix '${prefix}' --code-file /dev/null`;
  // The shell that the cut script runs in finds programs of nobody.
  const each = `for n in ${cuts.join(' ')}; do head -c $n '${script}' | env -i PATH=/nowhere /bin/sh -s -- ${args}; done`;
  const { stdout, stderr } = spawnSync('sh', ['-c', each], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  assert.equal(stdout, '');
  // One cut leaves a whole last word, without what it is to install.
  const said = stderr.split('\n').filter((one) => one.startsWith('install: '));
  assert.deepEqual([...new Set(said)], ['install: give the address of a node: --server URL']);
  assert.equal(existsSync(prefix), false);
});

test('the script is POSIX, and the same for everybody', () => {
  for (const shell of ['sh', 'dash']) {
    const { status, stderr, error } = spawnSync(shell, ['-n'], { input: INSTALL_SCRIPT, encoding: 'utf8' });
    if (error === undefined) assert.equal(status, 0, stderr);
  }
});

test('a secret does not travel in the clear, and an old Node is refused with what to do', async (t) => {
  const { host } = await scene(t);
  const args = ['--key', KEY.key, '--node', process.execPath, '--code-file', host.codeFile('x')];
  const clear = await host.install(INSTALL_SCRIPT, ['--server', 'http://10.0.0.1:7420', ...args]);
  assert.match(clear.stderr, /in the clear; use https:/);
  const none = await host.install(INSTALL_SCRIPT, [
    '--server',
    'https://127.0.0.1:1',
    '--key',
    KEY.key,
    '--node',
    '/nowhere',
  ]);
  assert.match(none.stderr, /is not a program/);
  const keyless = await host.install(INSTALL_SCRIPT, ['--server', 'https://127.0.0.1:1']);
  assert.match(keyless.stderr, /give the release key/);
  const codeless = await host.install(INSTALL_SCRIPT, [
    '--server',
    'https://127.0.0.1:1',
    ...args.slice(0, 4),
    '--code-file',
    '-',
  ]);
  assert.match(codeless.stderr, /no code on standard input/);
});

test('a unit of systemd is written from a fixed text: a path that would be more than a path is refused', async (t) => {
  const { host, install } = await scene(t);
  const evil = await install(good(), ['--systemd', '--prefix', join(host.prefix, '..', 'x\nExecStartPre=/bin/evil')]);
  assert.equal(evil.code, 1);
  assert.match(evil.stderr, /would not take [^;]* as one word/);
  const percent = await install(good(), ['--systemd', '--prefix', join(host.prefix, '..', '%h')]);
  assert.equal(percent.code, 1);
  const { code, stderr } = await install(good(), ['--systemd']);
  assert.equal(code, 0, stderr);
  const file = join(host.prefix, 'leasehold-worker.service');
  const unit = readFileSync(file, 'utf8');
  assert.equal(unit.match(/^Exec/gm)?.length, 1);
  assert.match(unit, /was not started/);
  const {
    error,
    status,
    stderr: said,
  } = spawnSync('systemd-analyze', ['verify', '--user', file], {
    encoding: 'utf8',
    // Without a session of the user it would say that there is no such folder, and check nothing.
    env: { ...process.env, XDG_RUNTIME_DIR: temporaryFolder(t) },
  });
  if (error !== undefined) t.diagnostic('there is no systemd-analyze here');
  else assert.equal(status, 0, said);
});
