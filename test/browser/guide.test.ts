import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SCREENS_FOLDER, shownInTheGuide } from './support/pictures.ts';

test('the guide shows every picture that is kept, each of them is there, and none is large', () => {
  const files = readdirSync(SCREENS_FOLDER);
  assert.deepEqual(files.toSorted(), [...shownInTheGuide()].map((name) => `${name}.png`).toSorted());
  for (const file of files) assert.ok(statSync(join(SCREENS_FOLDER, file)).size < 200_000, file);
});
