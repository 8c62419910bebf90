import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { hashing } from './hash-thread.ts';

const MIB = 2 ** 20;

test('files of every size have the hash that they have, also beside each other, and what is given is left alone', async () => {
  const bytes = randomBytes(3 * MIB);
  const before = createHash('sha256').update(bytes).digest('hex');
  const one = async (size: number, times: number): Promise<string> => {
    const hash = hashing(size);
    for (let n = 0; n < times; n++) await hash.update(bytes);
    const digest = await hash.digest();
    hash.drop();
    return digest;
  };
  const expected = (times: number): string => {
    const hash = createHash('sha256');
    for (let n = 0; n < times; n++) hash.update(bytes);
    return hash.digest('hex');
  };
  assert.equal(await one(3 * MIB, 1), expected(1));
  assert.deepEqual(
    await Promise.all([one(64 * MIB, 20), one(64 * MIB, 3), one(64 * MIB, 7)]),
    [20, 3, 7].map(expected),
  );
  const dropped = hashing(64 * MIB);
  await dropped.update(bytes);
  dropped.drop();
  assert.equal(await one(64 * MIB, 2), expected(2));
  assert.equal(createHash('sha256').update(bytes).digest('hex'), before);
});
