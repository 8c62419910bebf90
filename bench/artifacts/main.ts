/**
 * `npm run bench:artifacts`: one large blob up and down through each store, in a process of its own, beside curl with the same file and the same server,
 * and beside cp. Then the same file through the whole product: a handler of a joined worker stores it and reads it back.
 *
 *     node bench/artifacts/main.ts [--size 2147483648] [--rounds 3] [--scene store|user|all] [--no-record]
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { installBundled } from '../../build/install.ts';
import { openBlobStore } from '../../src/artifacts/open-blob-store.ts';
import type { Content } from '../../src/core/artifact/artifact.ts';
import { blobKey } from '../../src/core/artifact/blob-key.ts';
import { BUCKET, CREDENTIALS } from '../../test/support/s3/s3-server.ts';
import { describe } from '../machine.ts';
import { appendResults } from '../results.ts';
import type { Job, Measured } from './child.ts';
import { PREFIX, removeLeft, type Transferred, UserPath } from './user-path.ts';

const { values: flags } = parseArgs({
  options: {
    size: { type: 'string', default: String(2 * 1024 ** 3) },
    rounds: { type: 'string', default: '3' },
    scene: { type: 'string', default: 'all' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const SIZE = Number(flags.size);
const ROUNDS = Number(flags.rounds);
const SCENES = flags.scene === 'all' ? ['store', 'user'] : [flags.scene];
if (!Number.isSafeInteger(SIZE) || SIZE < 1024) throw new Error('--size takes a number of bytes from 1024');

/** What the path of a user is measured beside. */
const BESIDE = {
  'bucket up': 'bucket, up: curl -T',
  'bucket down': 'bucket, down: curl -o',
  'folder up': 'folder, up: sha256sum, cp, sync',
  'folder down': 'folder, down: cp',
} as const;

const folder = mkdtempSync(join(tmpdir(), 'leasehold-bench-artifacts-'));
const file = join(folder, 'file');
const out = join(folder, 'out');
let server: ChildProcess | undefined;
/** The loop goes on: connections that others close must be seen to be closed. */
const program = promisify(execFile);
const ends: (() => Promise<void>)[] = [];
type OfEach = Transferred['rss'];
/** By row: seconds of each round, and the most memory of all. */
const rows = new Map<
  string,
  { readonly beside: string; readonly seconds: number[]; rss: number; of?: OfEach | undefined }
>();

try {
  await main();
} finally {
  for (const end of ends) await end();
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const content = writeSample();
  mkdirSync(join(folder, 's3'));
  server = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../test/support/s3/server-child.ts'), join(folder, 's3')],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const [said] = (await once(server.stdout ?? process.stdin, 'data')) as [Buffer];
  const bucket = `s3://${BUCKET}?endpoint=${said.toString().trim()}`;
  const local = join(folder, 'local');
  const users = SCENES.includes('user') ? await openUserPaths(said.toString().trim()) : undefined;
  const s3 = await openBlobStore(bucket, { credentials: CREDENTIALS });
  for (let round = 0; round < ROUNDS; round++) {
    process.stderr.write(`round ${round + 1} of ${ROUNDS}\n`);
    // Each round has keys of its own: nothing is written over.
    const key = (n: number): string => blobKey(content.sha256, `art_${String(round * 10 + n).padStart(32, '0')}`);
    const signedPut = await s3.sign?.({ way: 'put', key: key(1), content, untilMs: 3_600_000 });
    const signedGet = await s3.sign?.({ way: 'get', key: key(1), untilMs: 3_600_000 });
    if (signedPut === undefined || signedGet === undefined) throw new Error('a bucket signs');
    const headers = Object.entries(signedPut.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const job = (how: Job['how'], place: string, n: number): Job => ({ how, place, key: key(n), content, file, out });

    const isStore = SCENES.includes('store');
    await timed('bucket, up: curl -T', '', () => curl(['-T', file, '-H', 'Expect:', ...headers, signedPut.url]));
    const there = await throughUser('bucket', 'up', users?.bucket, (path) => path.up(file));
    if (isStore) {
      await timed('bucket, up: signed address', 'bucket, up: curl -T', () => child(job('signed put', bucket, 2)));
      const put = await timed('bucket, up: put', 'bucket, up: curl -T', () => child(job('put', bucket, 3)));
      // The server copies all parts once more when it puts them together.
      await timed('– until its last part is there', 'bucket, up: curl -T', async () => ({
        seconds: put.sent,
        sent: 0,
        rss: 0,
      }));
    }
    await timed('bucket, down: curl -o', '', () => curl(['-o', out, signedGet.url]));
    await throughUser('bucket', 'down', users?.bucket, (path) => path.down(there?.task ?? '', out));
    if (isStore) await timed('bucket, down: get', 'bucket, down: curl -o', () => child(job('get', bucket, 3)));
    await timed('folder, up: sha256sum, cp, sync', '', () =>
      shell('sha256sum "$1" >/dev/null && cp "$1" "$2" && sync "$2"', [file, join(folder, 'copy')]),
    );
    const lies = await throughUser('folder', 'up', users?.folder, (path) => path.up(file));
    if (isStore) await timed('folder, up: put', 'folder, up: sha256sum, cp, sync', () => child(job('put', local, 4)));
    await timed('folder, down: cp', '', () => shell('cp "$1" "$2"', [join(folder, 'copy'), out]));
    await throughUser('folder', 'down', users?.folder, (path) => path.down(lies?.task ?? '', out));
    if (isStore) await timed('folder, down: get', 'folder, down: cp', () => child(job('get', local, 4)));
    removeLeft(folder);
    await s3.remove([key(1), key(2), key(3)]);
    await (await openBlobStore(local)).remove([key(4)]);
  }
  await s3.close();
  for (const path of Object.values(users ?? {})) await path.close();
  const table = tableOf();
  process.stdout.write(`${table}\n`);
  const title = `One artifact of ${(SIZE / 1024 ** 2).toFixed(0)} MiB, up and down`;
  if (flags.record) appendResults(title, describe(folder, 's3rver 3.7.1 in a process of its own'), table);
}

interface UserPaths {
  readonly bucket: UserPath;
  readonly folder: UserPath;
}

async function openUserPaths(endpoint: string): Promise<UserPaths> {
  const bin = await installBundled(join(folder, 'program'));
  const bucket = `s3://${BUCKET}/${PREFIX}?endpoint=${encodeURIComponent(endpoint)}`;
  const open = async (place: string, own: string): Promise<UserPath> => {
    const path = await UserPath.open({ bin, place, folder: join(folder, own) });
    ends.push(() => path.close());
    return path;
  };
  return { bucket: await open(bucket, 'node-bucket'), folder: await open(join(folder, 'node-local'), 'node-folder') };
}

async function throughUser<T extends Transferred>(
  place: keyof UserPaths,
  way: 'up' | 'down',
  path: UserPath | undefined,
  run: (path: UserPath) => Promise<T>,
): Promise<T | undefined> {
  if (path === undefined) return undefined;
  let told: T | undefined;
  await timed(`${place}, ${way}: handler of a worker`, BESIDE[`${place} ${way}`], async () => {
    told = await run(path);
    const { seconds, rss } = told;
    return { seconds, sent: 0, rss: 0, of: rss };
  });
  return told;
}

function writeSample(): Content {
  const hash = createHash('sha256');
  const fd = openSync(file, 'w');
  for (let left = SIZE; left > 0; ) {
    const chunk = randomBytes(Math.min(left, 4 * 1024 ** 2));
    hash.update(chunk);
    writeSync(fd, chunk);
    left -= chunk.length;
  }
  closeSync(fd);
  return { size: SIZE, sha256: hash.digest('hex') };
}

async function timed(
  row: string,
  beside: string,
  run: () => Promise<Measured & { readonly of?: OfEach }>,
): Promise<Measured> {
  const measured = await run();
  const { seconds, rss, of } = measured;
  const kept = rows.get(row) ?? { beside, seconds: [], rss: 0 };
  kept.seconds.push(seconds);
  kept.rss = Math.max(kept.rss, rss);
  // Peaks of processes that live on: the last ones are the highest.
  if (of !== undefined) kept.of = of;
  rows.set(row, kept);
  process.stderr.write(`  ${row.padEnd(32)} ${(SIZE / 1024 ** 2 / seconds).toFixed(0).padStart(6)} MiB/s\n`);
  return measured;
}

/** Timed by itself, so that its start does not count. */
async function curl(args: readonly string[]): Promise<Measured> {
  const { stdout } = await program('curl', ['-sS', '--fail', '--noproxy', '*', '-w', '\\n%{time_total}', ...args]);
  return { seconds: Number(stdout.trim().split('\n').at(-1)), sent: 0, rss: 0 };
}

async function shell(script: string, args: readonly string[]): Promise<Measured> {
  const begun = performance.now();
  await program('bash', ['-c', script, 'bash', ...args]);
  return { seconds: (performance.now() - begun) / 1000, sent: 0, rss: 0 };
}

async function child(job: Job): Promise<Measured> {
  const process_ = spawn(process.execPath, [join(import.meta.dirname, 'child.ts'), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  process_.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [status] = (await once(process_, 'close')) as [number];
  if (status !== 0) throw new Error(`${job.how} through ${job.place} failed`);
  return JSON.parse(said) as Measured;
}

function tableOf(): string {
  const mib = (seconds: number): string => (SIZE / 1024 ** 2 / seconds).toFixed(0);
  const memory = (rss: number, of: OfEach | undefined): string =>
    of === undefined
      ? rss === 0
        ? '–'
        : rss.toFixed(0)
      : `node ${of.node.toFixed(0)}, worker ${of.worker.toFixed(0)}, handler ${of.handler.toFixed(0)}`;
  const lines = [...rows].map(([row, { beside, seconds, rss, of }]) => {
    const other = rows.get(beside)?.seconds;
    const ratio =
      other === undefined ? '–' : median(seconds.map((own, i) => (other[i] ?? Number.NaN) / own)).toFixed(2);
    return `| ${row} | ${mib(median(seconds))} | ${ratio} | ${memory(rss, of)} |`;
  });
  return [`| ${ROUNDS} rounds | MiB/s | × curl or cp | most RSS, MiB |`, '|---|---|---|---|', ...lines].join('\n');
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
