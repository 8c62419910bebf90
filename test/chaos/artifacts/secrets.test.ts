/** What anybody on the host of a worker can read of its processes while files of tasks travel: no key of the bucket, and no address that is signed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { UploadGate } from '../../support/files/upload-gate.ts';
import { S3Gate } from '../../support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../support/s3/s3-server.ts';
import { scratch } from '../children.ts';
import { Ground, SIZE, TASK } from './ground.ts';

const CANARY = 'canary-7d02b6c4-of-the-bucket';
/** The secret key, the key in an address that the bucket has signed, and the signature in either kind of address. */
const SECRETS = [CANARY, 'X-Amz-Signature', 'X-Amz-Credential', 'x-amz-signature', '&sig=', '?sig='];
const skip = !existsSync('/proc/self/task');

/** With a program of its own beside it, as a build has. */
const HANDLERS = (folder: string): string => `
import { spawn } from 'node:child_process';
import { task } from ${TASK};
export const build = task('build', {
  run: async (_input, { artifacts, id }) => {
    const beside = spawn('sleep', ['600']);
    try {
      await artifacts.put('out', { file: ${JSON.stringify(folder)} + '/app.bin' });
      return (await (await artifacts.get('out')).stream().then((bytes) => bytes.toArray())).length;
    } finally {
      beside.kill();
    }
  },
});
`;

function below(pid: number): readonly number[] {
  try {
    const own = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return [...own, ...own.flatMap(below)];
  } catch {
    return [];
  }
}

/** Which of these processes show a secret in their arguments or in their environment, and how many there were. */
function look(pids: readonly number[]): {
  readonly showing: readonly string[];
  readonly seen: number;
  readonly names: readonly string[];
} {
  const files = pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]);
  const read = (file: string): string => {
    try {
      return readFileSync(file, 'latin1');
    } catch {
      return '';
    }
  };
  const showing = files.filter((file) => SECRETS.some((secret) => read(file).includes(secret)));
  return { showing, seen: pids.length, names: pids.map((pid) => read(`/proc/${pid}/cmdline`).split('\0')[0] ?? '') };
}

function requireHidden(found: ReturnType<typeof look>): void {
  assert.deepEqual(found.showing, []);
  assert.ok(found.names.includes('sleep'), 'the worker, its handler and the program of the handler were looked at');
  assert.ok(found.seen >= 3, `${found.seen}`);
}

test('no process of a worker shows a key of the bucket or a signed address while bytes travel', { skip }, async (t) => {
  const bucket = await S3Gate.start(t, await S3Server.start(t));
  bucket.secret = CANARY;
  const place = `s3://${BUCKET}/a?endpoint=${encodeURIComponent(bucket.endpoint)}&region=us-east-1`;
  const env = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CANARY };
  const ground = new Ground(t, { flags: ['--artifact-store', place], env, handlers: HANDLERS });
  await ground.open();
  const worker = await ground.worker('first', ground.address);
  const found = new Map<string, ReturnType<typeof look>>();
  bucket.fate = ({ method = '', url = '' }) => {
    // What the node asks is signed in a header.
    if (url.includes('X-Amz-Signature')) found.set(method, look(processes(worker)));
    return 'through';
  };
  const id = await ground.push();
  await ground.so('it completes', async () => (await ground.stateOf(id)) === 'completed');
  assert.deepEqual([...found.keys()].toSorted(), ['GET', 'PUT']);
  for (const one of found.values()) requireHidden(one);
  assert.deepEqual(bucket.refused, []);
  assert.ok(!`${worker.stdout}${worker.stderr}`.includes(CANARY));
  requireSighted(t);
});

test('nor one that the node itself has signed', { skip }, async (t) => {
  const ground = new Ground(t, { flags: ['--artifact-store', scratch(t, 'place')], handlers: HANDLERS });
  await ground.open();
  const gate = await UploadGate.before(t, ground.address);
  const half = gate.holdNext(SIZE / 2);
  const worker = await ground.worker('first', gate.address);
  const id = await ground.push();
  await half;
  requireHidden(look(processes(worker)));
  gate.cut();
  await ground.so('it completes', async () => (await ground.stateOf(id)) === 'completed');
});

const processes = ({ child }: Awaited<ReturnType<Ground['worker']>>): readonly number[] =>
  child.pid === undefined ? [] : [child.pid, ...below(child.pid)];

/** This look finds what is there, in both places. */
function requireSighted(t: TestContext): void {
  const planted = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', CANARY], {
    env: { PATH: '/usr/bin:/bin', CANARY },
    stdio: 'ignore',
  });
  t.after(() => planted.kill());
  assert.ok(planted.pid !== undefined);
  assert.equal(look([planted.pid]).showing.length, 2);
}
