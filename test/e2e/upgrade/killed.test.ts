/** An updater that is killed while it upgrades: the next start goes on with the old release or the new one, and ends with the new one. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installedState } from '../../../src/core/release/updater.ts';
import { InstallFolder } from '../../../src/worker/upgrade/install-folder.ts';
import { newReleaseKey } from '../../../src/worker/upgrade/release-key.ts';
import { MANIFEST_PATH } from '../../../src/worker/upgrade/take-release.ts';
import { ROOT, type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { makeRelease, ReleaseServer } from '../../support/releases/release-server.ts';

const KEY = newReleaseKey();
const UPDATER = join(ROOT, 'src/worker/upgrade/main.ts');
/** The old one asks to be upgraded, the new one proves itself and ends. */
const OLD = { 'bin/leasehold.js': 'process.exit(42)' };
const NEW = {
  'bin/leasehold.js':
    "process.send('leasehold: connected'); console.log('new'); setTimeout(() => process.exit(0), 400)",
  // Long enough for a kill to come while it is unpacked.
  ...Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`dist/${n}.js`, 'x'.repeat(2000)])),
};

const POINTS = [
  'the manifest was asked for',
  'half of the bundle was sent',
  'the bundle was sent',
  'the new one is in its place',
];

for (const point of POINTS) {
  test(`an updater that is killed when ${point} leaves a worker that starts, and upgrades`, async (t) => {
    const server = await ReleaseServer.start(t);
    const folder = new InstallFolder(temporaryFolder(t));
    for (const name of ['data', 'releases']) mkdirSync(join(folder.path, name));
    const terms = { connectMs: 30_000, proveMs: 100, retryMs: 10, pinMs: 1000 };
    writeFileSync(join(folder.path, 'install.json'), JSON.stringify({ urls: [server.url], keys: [KEY.key], terms }));
    folder.unpack({ version: '0.1.0', files: OLD });
    folder.write(installedState('0.1.0', '0.0.1'));
    server.release = makeRelease('0.2.0', NEW, KEY.pem);
    const start = (): Running => run(t, [folder.path], { cwd: folder.path, program: UPDATER });

    const killed = start();
    const kill = (): boolean => killed.child.kill('SIGKILL');
    server.instead = ({ url }, response) => {
      const isManifest = url === MANIFEST_PATH;
      if (point === POINTS[0] && isManifest) return kill();
      if (point === POINTS[1] && !isManifest) {
        const { bundle } = server.release as NonNullable<typeof server.release>;
        response.write(bundle.subarray(0, bundle.length / 2));
        return kill();
      }
      // It unpacks from the moment on that it has everything.
      if (point === POINTS[2] && !isManifest) response.once('close', kill);
      return false;
    };
    if (point === POINTS[3])
      killed.child.stderr.on('data', (text: string) => void (text.includes('takes the place') && kill()));
    assert.equal((await killed.ended).signal, 'SIGKILL');

    server.instead = undefined;
    const state = folder.state();
    assert.ok(['0.1.0', '0.2.0'].includes(state.version));
    assert.ok(readFileSync(folder.program(state.version), 'utf8').length > 0);
    const next = start();
    assert.deepEqual(await next.ended, { code: 0, signal: null }, next.stderr);
    assert.match(next.stdout, /new/);
    assert.deepEqual(folder.state(), { version: '0.2.0', newest: '0.2.0', floor: '0.0.1', failures: 0 });
  });
}
