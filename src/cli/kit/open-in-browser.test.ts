import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openerOf, openInBrowser, pageFor } from './open-in-browser.ts';

const URL = 'http://127.0.0.1:7420/ui/#code=x&y;$(z)';

test('each system opens a link with its own program, and no shell reads it', () => {
  assert.deepEqual(openerOf(URL, 'linux'), ['xdg-open', URL]);
  assert.deepEqual(openerOf(URL, 'darwin'), ['open', URL]);
  assert.deepEqual(openerOf(URL, 'win32'), ['rundll32', 'url.dll,FileProtocolHandler', URL]);
});

test('the opener is told no link but the address of a page that only its user can read', async () => {
  const folder = tempFolder('open-in-browser');
  writeFileSync(join(folder, 'login.html'), 'open to others');
  chmodSync(join(folder, 'login.html'), 0o666);
  // An opener that says what it was told.
  const told = join(folder, 'told');
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$@" > '${told}.new' && mv '${told}.new' '${told}'\n`, {
    mode: 0o700,
  });
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  try {
    assert.equal(await openInBrowser(URL, folder, 'linux'), true);
  } finally {
    process.env.PATH = before;
  }
  const heard = (): string | undefined => {
    try {
      return readFileSync(told, 'utf8').trim();
    } catch {
      return undefined;
    }
  };
  while (heard() === undefined) await new Promise((resolve) => void setImmediate(resolve));
  const page = heard() as string;
  assert.match(page, /^file:/);
  assert.doesNotMatch(page, /code/);
  assert.equal(statSync(fileURLToPath(page)).mode & 0o777, 0o600);
  assert.match(readFileSync(fileURLToPath(page), 'utf8'), /url=http:\/\/127\.0\.0\.1:7420\/ui\/#code=x&amp;y;\$\(z\)"/);
});

test('a link is text in the page, whatever is in it', () => {
  const page = pageFor('http://h/"><script>x</script>', tempFolder('open-in-browser'));
  assert.doesNotMatch(readFileSync(fileURLToPath(page), 'utf8'), /<script>/);
});
