import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/leasehold.ts';

/** Pages that say which test shows what. */
const PAGES = ['docs/guides/a-pool-that-scales.md', 'test/e2e/acceptance.md', 'test/e2e/acceptance-trust.md'];

interface Named {
  readonly file: string;
  readonly name: string;
}

/** In each line of a table a file, then the names of tests in it; "the same file" is that of the line before. */
function namedIn(page: string): readonly Named[] {
  const found: Named[] = [];
  let file = '';
  for (const line of readFileSync(join(ROOT, page), 'utf8').split('\n')) {
    if (!line.startsWith('|')) continue;
    for (const [, given, name] of line.matchAll(/`([\w./-]+\.ts)`|"([^"]+)"/g)) {
      if (given !== undefined) file = given;
      else if (file !== '') found.push({ file, name: name as string });
    }
  }
  return found;
}

/** A page may leave out the end of a name, or what changes in it: "…". */
function isThere({ file, name }: Named): boolean {
  const path = [file, join('src', file), join('test/e2e', file)].find((one) => existsSync(join(ROOT, one)));
  if (path === undefined) return false;
  const text = readFileSync(join(ROOT, path), 'utf8').replaceAll("\\'", "'");
  return text.includes((name.split('…')[0] as string).trimEnd());
}

for (const page of PAGES) {
  test(`each test that ${page} names is there`, () => {
    const named = namedIn(page);
    assert.ok(named.length > 10, 'the page names tests');
    assert.deepEqual(
      named.filter((one) => !isThere(one)),
      [],
    );
  });
}
