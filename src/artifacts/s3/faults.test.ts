/** What the store makes of a bucket that fails. Each test has a server and a gate of its own. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type Fate, S3Gate } from '../../../test/support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../../test/support/s3/s3-server.ts';
import { type EngineError, isEngineError } from '../../core/errors.ts';
import type { BlobStore } from '../blob-store.ts';
import { sampleOf, streamOf } from '../conformance/suite.ts';
import { openBlobStore } from '../open-blob-store.ts';
import type { RetryPolicy } from './retry.ts';

const MIB = 1024 * 1024;

interface Scene {
  readonly server: S3Server;
  readonly gate: S3Gate;
  readonly store: BlobStore;
}

async function scene(t: TestContext, retry: Partial<RetryPolicy> = {}, idleMs = 20_000): Promise<Scene> {
  const server = await S3Server.start(t);
  const gate = await S3Gate.start(t, server);
  const quick = { tries: 6, baseMs: 1, capMs: 20, ...retry };
  const store = await openBlobStore(`s3://${BUCKET}?endpoint=${gate.endpoint}`, {
    credentials: CREDENTIALS,
    retry: quick,
    idleMs,
  });
  t.after(() => store.close());
  return { server, gate, store };
}

async function roundTrip({ server, store }: Scene, size: number): Promise<void> {
  const { key, bytes, ...content } = sampleOf(size);
  await store.put(key, streamOf(bytes), content);
  assert.ok(bytes.equals(await buffer(await store.get(key))));
  assert.deepEqual(server.leftovers(), []);
}

/** The first so many of each kind of request have this fate. */
function atFirst(count: number, fate: Fate): S3Gate['fate'] {
  const met = new Map<string, number>();
  return ({ method, url }) => {
    const kind = `${method} ${url?.replace(/uploadId=[^&]+/, '')}`;
    met.set(kind, (met.get(kind) ?? 0) + 1);
    return (met.get(kind) ?? 0) <= count ? fate : 'through';
  };
}

const UNAVAILABLE = '<Error><Code>ServiceUnavailable</Code><Message>Reduce your rate</Message></Error>';
const PASSING: Readonly<Record<string, Fate>> = {
  'answers 503 for a while': { status: 503, text: UNAVAILABLE },
  'answers 500 without a word': { status: 500 },
  'asks for a pause': { status: 429, headers: { 'retry-after': '1' } },
  'has waited too long for a body': { status: 400, text: '<Error><Code>RequestTimeout</Code></Error>' },
  hangs: 'hang',
  'cuts the connection in mid-body': { cutBodyAfter: 1 },
  'cuts the answer in the middle': { cutAnswerAfter: 100_000 },
  'stalls in the middle of an answer': { stallAnswerAfter: 100_000 },
};

for (const [what, fate] of Object.entries(PASSING)) {
  test(`a server that ${what} costs time and nothing else`, async (t) => {
    // Whether it is silent or slow is known after this long, so it happens only once.
    const silent = fate === 'hang' || (typeof fate === 'object' && 'stallAnswerAfter' in fate);
    const there = await scene(t, {}, silent ? 1500 : undefined);
    for (const size of [MIB, 9 * MIB]) {
      // A cut of what never comes is none: requests without a body are left alone.
      const given = atFirst(silent ? 1 : 2, fate);
      there.gate.fate = (asked) => (silent && asked.method === 'POST' ? 'through' : given(asked));
      await roundTrip(there, size);
    }
  });
}

test('an answer that is lost is asked for again: what was done is found done', async (t) => {
  const there = await scene(t);
  const lost = atFirst(1, 'lost');
  // Beginning an upload twice leaves the first one until it is swept.
  there.gate.fate = (asked) => (asked.url?.endsWith('?uploads=') ? 'through' : lost(asked));
  await roundTrip(there, 10 * MIB);
  there.gate.fate = atFirst(1, 'lost');
  await roundTrip(there, 1000);
});

test('an upload whose completion ends in an error after its 200 is completed again', async (t) => {
  const there = await scene(t);
  let answered = 0;
  there.gate.fate = ({ method, url }) =>
    method === 'POST' && url?.includes('uploadId=') && answered++ < 2
      ? { status: 200, text: '<Error><Code>InternalError</Code></Error>' }
      : 'through';
  await roundTrip(there, 10 * MIB);
  assert.equal(answered, 3);
});

test('a server that is away for a while is waited for, in the middle of an upload and of a download', async (t) => {
  const there = await scene(t, { tries: 1000, withinMs: 20_000 });
  const { server, gate, store } = there;
  const { key, bytes, ...content } = sampleOf(20 * MIB);
  const away = (after: number): ((bytes: number) => void) => {
    let gone = false;
    return (now) => {
      if (gone || now < after) return;
      gone = true;
      void gate.down().then(() => setTimeout(() => void gate.up(), 300));
    };
  };
  await store.put(key, streamOf(bytes), content, { onProgress: away(10 * MIB) });
  assert.ok(bytes.equals(await buffer(await store.get(key, { onProgress: away(10 * MIB) }))));
  assert.deepEqual(server.leftovers(), []);
});

test('a server that stays away is named with what was tried, in time', async (t) => {
  const { gate, store } = await scene(t);
  const { key, bytes, ...content } = sampleOf(10 * MIB);
  await gate.down();
  for (const call of [
    () => store.put(key, streamOf(bytes), content),
    () =>
      store.put(key, streamOf(bytes.subarray(0, 5)), { ...content, ...sampleOf(0), size: 5 }).catch((error) => {
        assert.ok(isEngineError(error, 'ARTIFACT_MISMATCH'));
        return store.size(key);
      }),
    () => store.get(key),
    () => store.size(key),
    () => store.remove([key]),
    () => store.check(),
  ])
    await assert.rejects(call, (error: EngineError) => {
      assert.equal(error.code, 'ARTIFACT_FAILED');
      assert.match(error.message, /failed \d times in \d+ s: .*ECONNREFUSED/);
      return true;
    });
});

test('tries end by time, too', async (t) => {
  const { gate, store } = await scene(t, { tries: 1_000_000, withinMs: 200 });
  gate.fate = () => ({ status: 503 });
  const begun = performance.now();
  await assert.rejects(store.size(sampleOf(1).key), (error) => isEngineError(error, 'ARTIFACT_FAILED'));
  assert.ok(performance.now() - begun < 5000);
});

test('an upload that fails for good leaves no parts, and sends none any more', async (t) => {
  const { server, gate, store } = await scene(t);
  const { key, bytes, ...content } = sampleOf(33 * MIB);
  gate.fate = ({ url }) =>
    url?.includes('partNumber=3&') ? { status: 403, text: '<Error><Code>AccessDenied</Code></Error>' } : 'through';
  await assert.rejects(store.put(key, streamOf(bytes), content), (error: EngineError) => {
    assert.equal(error.code, 'ARTIFACT_FAILED');
    assert.match(error.message, /sending part 3.*403 AccessDenied/);
    assert.match(error.hint ?? '', /access key/);
    return true;
  });
  assert.deepEqual(server.leftovers(), []);
  assert.equal(await store.size(key), undefined);
  assert.match(gate.seen.filter((line) => !line.startsWith('HEAD')).at(-1) ?? '', /^DELETE .*uploadId=/);
});

test('an abort ends an upload that hangs, and leaves no parts', async (t) => {
  const { server, gate, store } = await scene(t, {}, 60_000);
  const { key, bytes, ...content } = sampleOf(20 * MIB);
  const stop = new AbortController();
  const reason = new Error('no longer needed');
  gate.fate = ({ url }) => {
    if (!url?.includes('partNumber=2&')) return 'through';
    setImmediate(() => stop.abort(reason));
    return 'hang';
  };
  await assert.rejects(store.put(key, streamOf(bytes), content, { signal: stop.signal }), (error) => error === reason);
  assert.deepEqual(server.leftovers(), []);
});

test('an abort ends the pause between tries', async (t) => {
  const { gate, store } = await scene(t, { baseMs: 100_000, capMs: 100_000, withinMs: 1_000_000 });
  const stop = new AbortController();
  const reason = new Error('no longer needed');
  gate.fate = () => {
    setTimeout(() => stop.abort(reason), 20);
    return { status: 503 };
  };
  await assert.rejects(store.size(sampleOf(1).key, { signal: stop.signal }), (error) => error === reason);
});

test('what a bucket refuses is told with what to do, and not tried again', async (t) => {
  const { gate, store } = await scene(t);
  const { key } = sampleOf(10);
  const refused = async (answer: Fate, message: RegExp, hint: RegExp): Promise<void> => {
    gate.seen.length = 0;
    gate.fate = () => answer;
    await assert.rejects(store.get(key), (error: EngineError) => {
      assert.equal(error.code, 'ARTIFACT_FAILED');
      assert.match(error.message, message);
      assert.match(error.hint ?? '', hint);
      return true;
    });
    // Besides the look for half uploads, which goes along with every start.
    assert.equal(gate.seen.filter((line) => !line.includes('?uploads=')).length, 1);
  };
  await refused(
    { status: 403, text: '<Error><Code>SignatureDoesNotMatch</Code></Error>' },
    /403 SignatureDoesNotMatch/,
    /access key/,
  );
  await refused({ status: 403, text: '<Error><Code>RequestTimeTooSkewed</Code></Error>' }, /Skewed/, /clock/);
  await refused({ status: 404, text: '<Error><Code>NoSuchBucket</Code></Error>' }, /NoSuchBucket/, /Make the bucket/);
  await refused(
    { status: 301, headers: { location: 'http://127.0.0.1:1/', 'x-amz-bucket-region': 'eu-north-1' } },
    /HTTP 301/,
    /It is in eu-north-1/,
  );
  await refused({ status: 501 }, /HTTP 501/, /./);
  await refused(
    { status: 200, text: 'x'.repeat(10), headers: { 'transfer-encoding': 'chunked' } },
    /does not speak S3/,
    /./,
  );
});

test('an answer of megabytes in place of an error is not taken in', async (t) => {
  const { gate, store } = await scene(t);
  gate.fate = () => ({ status: 400, text: 'x'.repeat(10 * MIB) });
  await assert.rejects(store.get(sampleOf(1).key), /says too much/);
});

test('a failure carries no secret and no signature', async (t) => {
  const { gate, store } = await scene(t);
  gate.fate = () => ({ status: 503 });
  await assert.rejects(store.check(), (error: EngineError) => {
    const said = JSON.stringify(error) + String(error.cause) + error.stack;
    assert.doesNotMatch(said, /Signature=|AWS4-HMAC|S3RVER/);
    return true;
  });
});

test('a server whose disk is full is a clear failure, and a server with room takes the same blob', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'leasehold-s3-full-'));
  t.after(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'leasehold', disk]).status !== 0)
    return t.skip('needs the right to mount a tmpfs');
  // Of its own: a write that fails ends it.
  const program = join(import.meta.dirname, '../../../test/support/s3/server-child.ts');
  const child = spawn(process.execPath, [program, disk], { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const retry = { tries: 3, baseMs: 1, capMs: 20 };
  const url = `s3://${BUCKET}?endpoint=${said.toString().trim()}`;
  const store = await openBlobStore(url, { credentials: CREDENTIALS, retry, idleMs: 5000 });
  t.after(() => store.close());
  const small = sampleOf(MIB);
  await store.put(small.key, streamOf(small.bytes), small);
  const { key, bytes, ...content } = sampleOf(12 * MIB);
  await assert.rejects(store.put(key, streamOf(bytes), content), (error: EngineError) => {
    assert.equal(error.code, 'ARTIFACT_FAILED');
    assert.match(error.message, /no room left.*507 XMinioStorageFull/);
    return true;
  });
  await roundTrip(await scene(t), 12 * MIB);
});
