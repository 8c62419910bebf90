/** The bucket lies on a disk that is full: through a node and a worker, as somebody who runs tasks meets it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { S3Child } from '../../support/s3/s3-child.ts';
import { CREDENTIALS } from '../../support/s3/s3-server.ts';
import { Ground, TASK } from './ground.ts';

const MIB = 2 ** 20;
const KEYS = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };

/** Stores so many bytes. */
const HANDLERS = (): string => `
import { task } from ${TASK};
export const store = task('store', {
  run: async ({ bytes }, { artifacts }) => (await artifacts.put('out', Buffer.alloc(bytes, 'x'))).size,
});
`;

/** Undefined: it may not be mounted here. */
function smallDisk(t: TestContext): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'leasehold-full-'));
  t.after(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'leasehold', disk]);
  return status === 0 ? disk : undefined;
}

test('a bucket without room fails the task at once and says what to do, and takes a smaller file', {
  timeout: 120_000,
}, async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip('needs the right to mount a tmpfs');
  const s3 = await S3Child.start(t, disk);
  const ground = new Ground(t, { flags: ['--artifact-store', s3.place], env: KEYS, handlers: HANDLERS });
  await ground.open();
  await ground.worker('first', ground.address);
  const store = (bytes: number): Promise<string> => ground.push('store', { input: { bytes }, maxAttempts: 1 });
  const ends = async (id: string, state: string): Promise<void> =>
    ground.so(`${id} has ${state}`, async () => {
      const now = await ground.stateOf(id);
      assert.ok(!['completed', 'failed'].includes(now) || now === state, `${id} has ${now}`);
      return now === state;
    });

  const large = await store(20 * MIB);
  await ends(large, 'failed');
  const { error } = await ground.ask<{ readonly error: { readonly [part: string]: unknown } }>(`/tasks/${large}`);
  assert.equal(error['code'], 'ARTIFACT_FAILED', JSON.stringify(error));
  assert.match(String(error['message']), /out.*(?:full|no room|507)/);
  assert.match(JSON.stringify(error), /[Mm]ake room/);
  assert.deepEqual(await ground.artifacts(large), []);

  await ends(await store(MIB), 'completed');
  writeFileSync(join(disk, 'filler'), Buffer.alloc(6 * MIB));
  await ends(await store(3 * MIB), 'failed');
  rmSync(join(disk, 'filler'));
  const again = await store(3 * MIB);
  await ends(again, 'completed');
  const [file, ...more] = await ground.artifacts(again);
  assert.equal((file && (await ground.read(file)))?.length, 3 * MIB);
  assert.deepEqual(more, []);
  assert.ok(readdirSync(disk).length > 0);
});
