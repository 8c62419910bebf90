import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeRelease, type Release, ReleaseServer } from '../../../test/support/releases/release-server.ts';
import { installedState, type UpdaterState } from '../../core/release/updater.ts';
import { type Install, InstallFolder } from './install-folder.ts';
import { newReleaseKey } from './release-key.ts';
import { Updater } from './updater.ts';

const KEY = newReleaseKey();
const OTHER = newReleaseKey();
const TERMS = { connectMs: 20_000, proveMs: 150, retryMs: 10, pinMs: 3_600_000 };

/** Connects, writes down that it ran, and goes on as it is told. */
const program = (version: string, then: string, connects = true): Readonly<Record<string, string>> => ({
  'bin/leasehold.js': `
    const fs = process.getBuiltinModule('node:fs');
    const folder = process.argv[process.argv.indexOf('--data-dir') + 1];
    fs.appendFileSync(folder + '/ran', '${version} ');
    ${connects ? "process.send('leasehold: connected');" : ''}
    const starts = fs.readFileSync(folder + '/ran', 'utf8').split('${version}').length - 1;
    ${then}
  `,
});
const UPGRADES = 'process.exit(42)';
/** Long enough to be proven. */
const STAYS = 'setTimeout(() => process.exit(0), 600)';
const CRASHES = 'process.exit(1)';

interface Scene {
  readonly server: ReleaseServer;
  readonly folder: InstallFolder;
  /** Runs until the worker ends for another reason than an upgrade. */
  readonly run: () => Promise<{ readonly status: number; readonly ran: string; readonly state: UpdaterState }>;
}

async function scene(t: TestContext, oldThen: string, install: Partial<Install> = {}): Promise<Scene> {
  const server = await ReleaseServer.start(t);
  const path = mkdtempSync(join(tmpdir(), 'leasehold-updater-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, 'data'));
  mkdirSync(join(path, 'releases'));
  const written: Install = { urls: [server.url], keys: [KEY.key], terms: TERMS, ...install };
  writeFileSync(join(path, 'install.json'), JSON.stringify(written));
  const folder = new InstallFolder(path);
  folder.unpack({ version: '0.1.0', files: program('0.1.0', oldThen) });
  folder.write(installedState('0.1.0', '0.0.1'));
  return {
    server,
    folder,
    run: async () => {
      const updater = new Updater({ folder, now: () => Date.now(), node: process.versions.node, say: () => {} });
      const status = await updater.run();
      return { status, ran: readFileSync(join(path, 'data/ran'), 'utf8').trim(), state: folder.state() };
    },
  };
}

/** Ends to be upgraded until it has been started so often, and then for good. */
const upgradesTimes = (times: number): string => `process.exit(starts <= ${times} ? 42 : 0)`;

test('a worker that ends with 42 goes on as the newer release, and the older one is kept to go back to', async (t) => {
  const { server, folder, run } = await scene(t, UPGRADES);
  server.release = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem, { minVersion: '0.1.0' });
  const { status, ran, state } = await run();
  assert.deepEqual([status, ran], [0, '0.1.0 0.2.0']);
  assert.deepEqual(state, { version: '0.2.0', newest: '0.2.0', floor: '0.1.0', failures: 0 });
  assert.deepEqual(readdirSync(join(folder.path, 'releases')).toSorted(), ['0.1.0', '0.2.0']);
});

test('any other status is passed on', async (t) => {
  const { run, server } = await scene(t, 'process.exit(7)');
  assert.equal((await run()).status, 7);
  assert.deepEqual(server.asked, []);
});

const REFUSED: Readonly<Record<string, { readonly release: () => Release; readonly because: RegExp }>> = {
  'an older release': {
    release: () => makeRelease('0.0.9', program('0.0.9', STAYS), KEY.pem),
    because: /not newer than 0\.1\.0/,
  },
  'the same release once more': {
    release: () => makeRelease('0.1.0', program('0.1.0', STAYS), KEY.pem),
    because: /not newer/,
  },
  'a release that another key has signed': {
    release: () => makeRelease('0.2.0', program('0.2.0', STAYS), OTHER.pem),
    because: /not signed by a key that is pinned/,
  },
  'a release whose manifest was changed after it was signed': {
    release: () => {
      const { envelope, bundle } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
      return { bundle, envelope: { ...envelope, signed: envelope.signed.replace('0.2.0', '0.3.0') } };
    },
    because: /not signed by a key that is pinned/,
  },
  'an unsigned release': {
    release: () => makeRelease('0.2.0', program('0.2.0', STAYS), undefined),
    because: /is not signed/,
  },
  'a release whose time is over': {
    release: () => makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem, { expires: Date.now() - 1 }),
    because: /has expired/,
  },
  'a release for another Node': {
    release: () => makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem, { node: '>=99' }),
    because: /needs Node >=99/,
  },
  'a bundle with another hash': {
    release: () => {
      const { envelope } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
      const { bundle } = makeRelease('0.2.0', program('0.2.0', CRASHES), KEY.pem);
      return { envelope, bundle };
    },
    because: /not the one that was signed|larger than/,
  },
  'a bundle that was cut short': {
    release: () => {
      const { envelope, bundle } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
      return { envelope, bundle: bundle.subarray(0, bundle.length - 7) };
    },
    because: /not the one that was signed/,
  },
  'a bundle with more behind it': {
    release: () => {
      const { envelope, bundle } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
      return { envelope, bundle: Buffer.concat([bundle, Buffer.from('more')]) };
    },
    because: /larger than/,
  },
  'a bundle of another version than its manifest says': {
    release: () => {
      const { bundle } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
      return { ...makeRelease('0.3.0', program('0.2.0', STAYS), KEY.pem, hashOf(bundle)), bundle };
    },
    because: /is another release/,
  },
};

function hashOf(bundle: Buffer): { sha256: string; size: number } {
  const { envelope } = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
  const { sha256 } = JSON.parse(envelope.signed) as { sha256: string };
  return { sha256, size: bundle.length };
}

for (const [what, { release, because }] of Object.entries(REFUSED)) {
  test(`${what} is refused: the old one goes on, and nothing of it is kept`, async (t) => {
    const { server, folder, run } = await scene(t, upgradesTimes(1));
    server.release = release();
    const { ran, state } = await run();
    assert.equal(ran, '0.1.0 0.1.0');
    assert.deepEqual([state.version, state.trial, state.failures], ['0.1.0', undefined, 1]);
    assert.match(state.problem ?? '', because);
    assert.deepEqual(readdirSync(join(folder.path, 'releases')), ['0.1.0']);
  });
}

test('an unsigned release is taken where the installer was told so, and one with a wrong signature is not', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(2), { unsigned: true, keys: [] });
  server.release = makeRelease('0.2.0', program('0.2.0', UPGRADES), OTHER.pem);
  const refused = await run();
  assert.match(refused.state.problem ?? '', /not signed by a key that is pinned/);
  const open = await scene(t, upgradesTimes(1), { unsigned: true, keys: [] });
  open.server.release = makeRelease('0.2.0', program('0.2.0', STAYS), undefined);
  assert.equal((await open.run()).state.version, '0.2.0');
});

test('a release that crashes, or does not connect, is left once; after three failures the old one is pinned', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(3));
  server.release = makeRelease('0.2.0', program('0.2.0', CRASHES, false), KEY.pem);
  const { ran, state } = await run();
  assert.equal(ran, '0.1.0 0.2.0 0.1.0 0.2.0 0.1.0 0.2.0 0.1.0');
  assert.deepEqual([state.version, state.pinned], ['0.1.0', true]);
  assert.match(state.problem ?? '', /release 0\.2\.0: it did not connect/);
  assert.ok((state.notBefore ?? 0) > Date.now() + TERMS.pinMs / 2);
});

test('a release that hangs before it has connected is ended and left', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(1), { terms: { ...TERMS, connectMs: 300 } });
  server.release = makeRelease('0.2.0', program('0.2.0', 'setInterval(() => {}, 1000)', false), KEY.pem);
  const { ran, state } = await run();
  assert.equal(ran, '0.1.0 0.2.0 0.1.0');
  assert.match(state.problem ?? '', /did not connect/);
});

test('a release that connects and then crashes is left as well', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(1));
  server.release = makeRelease('0.2.0', program('0.2.0', CRASHES), KEY.pem);
  const { ran, state } = await run();
  assert.equal(ran, '0.1.0 0.2.0 0.1.0');
  assert.match(state.problem ?? '', /it ended with status 1/);
});

test('a node that is away does not count against a release', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(1));
  server.instead = (_, response) => response.writeHead(503).end() !== undefined;
  const { state } = await run();
  assert.deepEqual([state.version, state.failures, state.pinned], ['0.1.0', 0, undefined]);
  assert.match(state.problem ?? '', /answers 503/);
});

test('an address that leads elsewhere is not followed', async (t) => {
  const elsewhere = await ReleaseServer.start(t);
  elsewhere.release = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
  const { server, run } = await scene(t, upgradesTimes(1));
  server.instead = ({ url }, response) =>
    response.writeHead(302, { location: `${elsewhere.url}${url}` }).end() !== undefined;
  assert.equal((await run()).state.version, '0.1.0');
  assert.deepEqual(elsewhere.asked, []);
});

test('an answer without an end is cut off at the bound of a manifest', async (t) => {
  const { server, run } = await scene(t, upgradesTimes(1));
  server.instead = (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
    return true;
  };
  assert.match((await run()).state.problem ?? '', /larger than/);
});

test('what an updater that was killed has left is neither started nor in the way', async (t) => {
  const { server, folder, run } = await scene(t, UPGRADES);
  const releases = join(folder.path, 'releases');
  // Killed while it unpacked, and killed after that, before it has written down that the release is there.
  mkdirSync(join(releases, '.0.2.0.4711/bin'), { recursive: true });
  mkdirSync(join(releases, '0.2.0/bin'), { recursive: true });
  writeFileSync(join(releases, '0.2.0/bin/leasehold.js'), 'process.exit(99)');
  writeFileSync(join(folder.path, 'updater.json.4711'), '{"version":');
  server.release = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
  assert.deepEqual((await run()).status, 0);
  assert.deepEqual(readdirSync(releases).toSorted(), ['0.1.0', '0.2.0']);
});

test('a trial that was cut short goes on with the next start, and not for ever', async (t) => {
  const { folder, run } = await scene(t, 'process.exit(0)');
  folder.unpack({ version: '0.2.0', files: program('0.2.0', STAYS) });
  const trial = { version: '0.2.0', newest: '0.1.0', floor: '0.0.1', failures: 0 };
  folder.write({ ...trial, trial: { previous: '0.1.0', starts: 1 } });
  assert.deepEqual((await run()).state.version, '0.2.0');

  folder.write({ ...trial, trial: { previous: '0.1.0', starts: 3 } });
  const { ran, state } = await run();
  assert.equal(ran, '0.2.0 0.1.0');
  assert.match(state.problem ?? '', /started three times/);
});

test('an updater that is told to stop passes it on to the worker, and starts nothing more', async (t) => {
  const { folder, server } = await scene(
    t,
    "process.on('SIGTERM', () => process.exit(42)); fs.writeFileSync(folder + '/up', ''); setInterval(() => {}, 1000);",
  );
  server.release = makeRelease('0.2.0', program('0.2.0', STAYS), KEY.pem);
  const updater = new Updater({ folder, now: () => Date.now(), node: process.versions.node, say: () => {} });
  const running = updater.run();
  while (!existsSync(join(folder.data, 'up'))) await new Promise((resolve) => setTimeout(resolve, 10));
  updater.stop('SIGTERM');
  assert.equal(await running, 42);
  assert.deepEqual(server.asked, []);
});

test('what is no installation is refused', async (t) => {
  const { folder } = await scene(t, STAYS);
  const file = join(folder.path, 'install.json');
  for (const install of [
    {},
    { urls: [], keys: [] },
    { urls: ['x'], keys: ['nonsense'] },
    { urls: 'x', keys: [] },
    null,
  ]) {
    writeFileSync(file, JSON.stringify(install));
    assert.throws(() => folder.install());
  }
  for (const state of [
    {},
    { version: '../../x' },
    { ...installedState('0.1.0', '0.0.1'), trial: { previous: '..' } },
  ]) {
    writeFileSync(folder.stateFile, JSON.stringify(state));
    assert.throws(() => folder.state());
  }
});
