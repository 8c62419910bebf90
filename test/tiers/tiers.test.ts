import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { asksForScale, HELPERS, testFiles } from './files.ts';
import { ROOT } from './job.ts';
import { parts, SHARE_S, shares, shareTier } from './share.ts';
import { type Tier, tiers } from './tiers.ts';

const COMMIT = '80ef0ee41c0d5c2a8f1f6f9a1d4b7c3e2a5b6c7d';
const exclude = ['**/node_modules/**', '**/dist/**', 'test/lint/planted/**'];
const everyFile = globSync('**/*.test.{ts,tsx,js,mjs}', { cwd: ROOT, exclude })
  .filter((file) => !HELPERS.has(file))
  .toSorted();

function filesOf({ stages }: Tier): readonly string[] {
  return stages.flatMap(({ jobs }) => jobs.flatMap(({ files = [] }) => files)).toSorted();
}

const [inTest, inMerge, inAll] = ['test', 'merge', 'all'].map((name) => {
  const tier = tiers(COMMIT).find((one) => one.name === name);
  assert.ok(tier !== undefined, name);
  return filesOf(tier);
}) as [readonly string[], readonly string[], readonly string[]];

test('every file of tests of the repository runs in one of the tiers test and merge, and only in one', () => {
  assert.ok(everyFile.length > 400, 'the files are found');
  assert.deepEqual([...inTest, ...inMerge].toSorted(), everyFile);
});

test('what is named as a test and left out has no test', () => {
  for (const file of HELPERS) {
    assert.doesNotMatch(readFileSync(join(ROOT, file), 'utf8'), /^import (?!type ).*'node:test'|[cC]ontract\(/m, file);
  }
});

test('the tier all has every file', () => {
  assert.deepEqual(inAll, everyFile);
});

test('every file that does more at full length is in one share of CI, and all seeds and defects of the tier all are', () => {
  const dealt = shares().flatMap((share) => share.map(({ job }) => job.name));
  assert.deepEqual(
    dealt.toSorted(),
    parts()
      .map(({ job }) => job.name)
      .toSorted(),
  );
  const asking = testFiles().filter(({ file }) => asksForScale(file));
  assert.ok(asking.length > 20, 'files ask for the scale');
  for (const { file } of asking)
    assert.ok(
      dealt.some((name) => name.startsWith(file)),
      file,
    );
  const seeds = dealt.flatMap((name) => [...(/--seeds (\d+) --from (\d+)/.exec(name)?.slice(1) ?? [])].map(Number));
  assert.equal(
    seeds.filter((_, i) => i % 2 === 0).reduce((sum, count) => sum + count, 0),
    1000,
  );
});

test('a commit always chooses the same share, and each share is chosen by some commit', () => {
  assert.equal(shareTier(COMMIT).name, shareTier(COMMIT).name);
  const count = shares().length;
  const names = Array.from({ length: count }, (_, i) => shareTier(i.toString(16)).name.replace(/,.*/, ''));
  assert.equal(new Set(names).size, count);
});

test('a share has no more to do than its few minutes, but for a part that has more by itself', () => {
  for (const share of shares()) {
    const costS = share.reduce((sum, part) => sum + part.costS, 0);
    assert.ok(costS <= SHARE_S || share.length === 1, share.map(({ job }) => job.name).join(', '));
  }
});
