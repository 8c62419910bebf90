import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { uiFolder } from './ui-folder.ts';

test('the web UI is taken from where it is built, then from the package, and is missing otherwise', () => {
  const folder = tempFolder('ui-folder');
  const [built, packed] = ['built', 'packed'].map((name) => join(folder, name)) as [string, string];
  const places = [built, packed];
  assert.equal(uiFolder(places), undefined);
  for (const place of [packed, built]) {
    mkdirSync(place);
    assert.notEqual(uiFolder(places), place, 'an empty folder is no build');
    writeFileSync(join(place, 'index.html'), '');
    assert.equal(uiFolder(places), place);
  }
});
