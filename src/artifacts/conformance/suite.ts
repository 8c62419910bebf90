/** What every blob store keeps, whatever the bytes lie in. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Content } from '../../core/artifact/artifact.ts';
import { blobKey } from '../../core/artifact/blob-key.ts';
import { isEngineError } from '../../core/errors.ts';
import type { BlobStore } from '../blob-store.ts';

export interface BlobScene {
  readonly store: BlobStore;
  /** What lies in the place and is no whole blob. */
  leftovers(): readonly string[];
}

interface Sample extends Content {
  readonly bytes: Buffer;
  readonly key: string;
}

/** Small, and larger than a part: S3 stores go another way for them. */
const SIZES: readonly number[] = [0, 1, 65_537, 8 * 1024 * 1024, 19_000_001];

export function sampleOf(size: number): Sample {
  const bytes = randomBytes(size);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, size, sha256, key: blobKey(sha256, `art_${randomBytes(16).toString('hex')}`) };
}

/** In pieces that fit no buffer. */
export function streamOf(bytes: Uint8Array, piece = 70_001): Readable {
  return Readable.from(
    (function* () {
      for (let from = 0; from < bytes.length; from += piece) yield bytes.subarray(from, from + piece);
    })(),
    { objectMode: false },
  );
}

const MISMATCH = (error: unknown): boolean => isEngineError(error, 'ARTIFACT_MISMATCH');
const NOT_FOUND = (error: unknown): boolean => isEngineError(error, 'NOT_FOUND');

export function blobStoreContract(name: string, open: () => BlobScene | Promise<BlobScene>): void {
  const contract = (guarantee: string, check: (scene: BlobScene) => Promise<void>): void =>
    void test(`${name}: ${guarantee}`, async () => {
      const scene = await open();
      await check(scene);
      assert.deepEqual(scene.leftovers(), [], 'half of something is left');
    });

  for (const size of SIZES) {
    contract(`${size} bytes come back as they went, and nobody saw them before`, async ({ store }) => {
      const { key, bytes, ...content } = sampleOf(size);
      await store.remove([key]); // that of no bytes is the same in every test
      assert.equal(await store.size(key), undefined);
      await assert.rejects(store.get(key), NOT_FOUND);
      await store.put(key, streamOf(bytes), content);
      assert.equal(await store.size(key), size);
      assert.ok(bytes.equals(await buffer(await store.get(key))));
    });

    contract(
      `${size} bytes with another hash, too few or too many are refused and leave nothing`,
      async ({ store }) => {
        const { key, bytes, size: announced, sha256 } = sampleOf(size);
        await store.remove([key]);
        const wrong: readonly (readonly [Buffer, Content])[] = [
          [bytes, { size: announced, sha256: sha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }],
          [bytes, { size: announced + 1, sha256 }],
          [Buffer.concat([bytes, Buffer.from('x')]), { size: announced, sha256 }],
        ];
        for (const [given, content] of wrong) {
          await assert.rejects(store.put(key, streamOf(given), content), MISMATCH);
          assert.equal(await store.size(key), undefined);
        }
      },
    );

    contract(
      `${size} bytes whose stream fails or is aborted leave nothing, and the reason is told`,
      async ({ store }) => {
        const { key, bytes, ...content } = sampleOf(size);
        await store.remove([key]);
        const reason = new Error('the sender is gone');
        const broken = (): Readable =>
          Readable.from(
            (async function* () {
              yield* streamOf(bytes);
              throw reason;
            })(),
            { objectMode: false },
          );
        await assert.rejects(store.put(key, broken(), content), (error) => error === reason);
        const stop = new AbortController();
        const stalled = new Readable({ read() {} });
        stalled.push(bytes.subarray(0, -1));
        const put = store.put(key, stalled, content, { signal: stop.signal });
        setImmediate(() => stop.abort(reason));
        await assert.rejects(put, (error) => error === reason);
        await assert.rejects(
          store.put(key, streamOf(bytes), content, { signal: stop.signal }),
          (error) => error === reason,
        );
        assert.equal(await store.size(key), undefined);
      },
    );
  }

  contract('a stream that gives more than was said is refused at once, and read no further', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(100_000);
    let given = 0;
    const endless = new Readable({
      read() {
        given += 65_536;
        this.push(Buffer.alloc(65_536));
      },
    });
    await assert.rejects(store.put(key, endless, content), MISMATCH);
    assert.ok(given < bytes.length + 8 * 65_536, `${given} bytes were taken`);
    assert.equal(endless.destroyed, false, 'its sender can still be answered');
    endless.destroy();
  });

  contract('any range is what a slice would be', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(300_000);
    await store.put(key, streamOf(bytes), content);
    const borders = [0, 1, 65_535, 65_536, 150_000, 299_999, 300_000, 300_001, 10_000_000];
    for (const start of borders) {
      assert.ok(bytes.subarray(start).equals(await buffer(await store.get(key, { start }))), `from ${start}`);
      for (const end of borders.filter((border) => border >= start))
        assert.ok(
          bytes.subarray(start, end).equals(await buffer(await store.get(key, { start, end }))),
          `${start} to ${end}`,
        );
    }
    for (const [start, end] of [
      [5, 4],
      [-1, 4],
      [0.5, 4],
      [0, Number.NaN],
    ] as const)
      await assert.rejects(store.get(key, { start, end }), (error) => isEngineError(error, 'INVALID_INPUT'));
    for (const range of [{ start: 5, end: 5 }, { start: 1 }])
      await assert.rejects(store.get(sampleOf(10).key, range), NOT_FOUND);
  });

  contract('a whole blob stays while another put of it fails, and after one that does not', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(100_000);
    await store.put(key, streamOf(bytes), content);
    await assert.rejects(store.put(key, streamOf(bytes.subarray(1)), content), MISMATCH);
    assert.ok(bytes.equals(await buffer(await store.get(key))));
    await store.put(key, streamOf(bytes), content);
    assert.ok(bytes.equals(await buffer(await store.get(key))));
  });

  contract('many puts of the same bytes at once end well', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(100_000);
    await Promise.all(Array.from({ length: 8 }, () => store.put(key, streamOf(bytes), content)));
    assert.ok(bytes.equals(await buffer(await store.get(key))));
  });

  contract('the same bytes under another key are another blob', async ({ store }) => {
    const { key, bytes, size, sha256 } = sampleOf(1000);
    const own = blobKey(sha256, `art_${'5'.repeat(32)}`);
    await store.put(own, streamOf(bytes), { size, sha256 });
    assert.equal(await store.size(key), undefined);
    await store.put(key, streamOf(bytes), { size, sha256 });
    await store.remove([own]);
    assert.equal(await store.size(own), undefined);
    assert.equal(await store.size(key), size);
  });

  contract('what is removed is gone, and may be removed again', async ({ store }) => {
    const samples = Array.from({ length: 20 }, (_, n) => sampleOf(n + 1));
    for (const { key, bytes, ...content } of samples) await store.put(key, streamOf(bytes), content);
    const keys = samples.map(({ key }) => key);
    await store.remove([...keys.slice(0, 15), sampleOf(99).key]);
    await store.remove(keys.slice(0, 15));
    const sizes = await Promise.all(keys.map((key) => store.size(key)));
    assert.deepEqual(sizes, [...Array.from({ length: 15 }, () => undefined), 16, 17, 18, 19, 20]);
  });

  contract('a reader that leaves early leaves nothing open', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(3_000_000);
    await store.put(key, streamOf(bytes), content);
    for (let n = 0; n < 50; n++) (await store.get(key)).destroy();
    for await (const _ of await store.get(key)) break;
    const stop = new AbortController();
    const stream = await store.get(key, { signal: stop.signal });
    stop.abort();
    await assert.rejects(buffer(stream), { name: 'AbortError' });
    assert.ok(bytes.equals(await buffer(await store.get(key))));
  });

  contract('progress grows to the size, up and down', async ({ store }) => {
    const { key, bytes, ...content } = sampleOf(17_000_000);
    const seen: number[] = [];
    const onProgress = (now: number): void => {
      assert.ok(now > (seen.at(-1) ?? 0));
      seen.push(now);
    };
    await store.put(key, streamOf(bytes), content, { onProgress });
    assert.equal(seen.at(-1), content.size);
    assert.ok(seen.length > 1);
    seen.length = 0;
    await buffer(await store.get(key, { onProgress }));
    assert.equal(seen.at(-1), content.size);
  });

  contract('what is not the form of a key is refused by every call, before anything is done', async ({ store }) => {
    const { sha256, key, bytes, ...content } = sampleOf(10);
    const two = sha256.slice(0, 2);
    const hostile = [
      '',
      '.',
      '..',
      '/',
      'sha256',
      sha256,
      `/${key}`,
      `${key}/`,
      `${key}.`,
      `${key}\n`,
      `${key}\0`,
      `${key}/../x`,
      `./${key}`,
      `../${key}`,
      `sha256/../${sha256}`,
      `sha256/${two}/../../etc/passwd`,
      `sha256/${two}/${sha256.toUpperCase().replace(/^\d/, 'A')}`,
      `sha256/${two}/${sha256}x`,
      `sha256/${two}/${sha256}`,
      `sha256/${two}/${sha256}-`,
      `sha256/${two}/${sha256}-${'0'.repeat(33)}`,
      `sha256/${two}/${sha256}-../../../../../../../x`,
      `sha256\\${two}\\${sha256}`,
      `sha256/${two}%2f${sha256}`,
      `sha256/${two}/%2e%2e`,
      `sha256/${two === '00' ? '01' : '00'}/${sha256}`,
      `sha512/${two}/${sha256}`,
      `uploads/${'0'.repeat(32)}`,
      'CON',
      'x'.repeat(4096),
      'sha256/ab/…',
    ];
    const invalid = (error: unknown): boolean => isEngineError(error, 'INVALID_INPUT');
    for (const bad of hostile) {
      await assert.rejects(store.put(bad, streamOf(bytes), { ...content, sha256 }), invalid, bad);
      await assert.rejects(store.get(bad), invalid, bad);
      await assert.rejects(store.size(bad), invalid, bad);
      await assert.rejects(store.remove([bad]), invalid, bad);
      if (store.sign !== undefined)
        await assert.rejects(store.sign({ way: 'get', key: bad, untilMs: 1000 }), invalid, bad);
    }
  });

  contract('a place that works passes its check, which leaves nothing', async ({ store }) => {
    await store.check();
    await store.check();
  });
}
