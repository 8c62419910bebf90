import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openerOf, pageFor } from './open-in-browser.ts';

const URL = 'http://127.0.0.1:7420/ui/#code=x&y;$(z)';

test('each system opens a link with its own program, and no shell reads it', () => {
  assert.deepEqual(openerOf(URL, 'linux'), ['xdg-open', URL]);
  assert.deepEqual(openerOf(URL, 'darwin'), ['open', URL]);
  assert.deepEqual(openerOf(URL, 'win32'), ['rundll32', 'url.dll,FileProtocolHandler', URL]);
});

test('the page with a link is for its user alone, also where something of that name was', () => {
  const folder = tempFolder('open-in-browser');
  const file = join(folder, 'login.html');
  writeFileSync(file, 'open to others');
  chmodSync(file, 0o666);
  assert.equal(fileURLToPath(pageFor(URL, folder)), file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(readFileSync(file, 'utf8'), /url=http:\/\/127\.0\.0\.1:7420\/ui\/#code=x&amp;y;\$\(z\)"/);
});

test('a link is text in the page, whatever is in it', () => {
  const page = pageFor('http://h/"><script>x</script>', tempFolder('open-in-browser'));
  assert.doesNotMatch(readFileSync(fileURLToPath(page), 'utf8'), /<script>/);
});
