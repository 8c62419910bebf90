import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

const LINK = /(http:\S+)\/ui\/#code=(lh_login_[\w-]{43})/;

/** Whom a code lets in; undefined: nobody. */
async function enter(address: string, code: string): Promise<string | undefined> {
  const answer = await fetch(`${address}/ui/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return answer.status === 200 ? ((await answer.json()) as { role: string }).role : undefined;
}

test('login prints a link that lets a browser in once; up in a pipe says how to get one, and has none in its output', async (t) => {
  const here = place(t);
  const none = await here.call(['login']);
  assert.equal(none.code, 3, none.stderr);
  assert.match(none.stderr, /leasehold up/);
  const node = run(t, ['up', '--port', '0', '--no-worker'], { cwd: here.cwd });
  await node.says(/Web UI: http:\S+\/ui\/ \("leasehold login" prints a link/);
  assert.doesNotMatch(node.stdout + node.stderr, /lh_login_/);
  const address = await node.address();
  const first = await here.call(['login']);
  const code = LINK.exec(first.stdout)?.[2] ?? '';
  assert.equal(await enter(address, code), 'admin');
  assert.equal(await enter(address, code), undefined);
  const printed = await here.call(['login']);
  assert.equal(printed.code, 0, printed.stderr);
  const [, where = '', fresh = ''] = LINK.exec(printed.stdout) ?? [];
  assert.equal(printed.stdout, `${where}/ui/#code=${fresh}\n`);
  assert.equal(where, address);
  assert.equal(await enter(address, fresh), 'admin');
  const json = await here.call(['login', '--json']);
  const { url, expiresAt } = JSON.parse(json.stdout) as { url: string; expiresAt: number };
  assert.match(url, LINK);
  assert.ok(expiresAt > Date.now());
});

test('login --open tells the opener no link, but a page that only its user can read', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { cwd } = place(t);
  const node = run(t, ['up', '--port', '0', '--no-worker'], { cwd });
  await node.says(/Web UI/);
  // An opener that says what it was told, to whoever waits for it.
  const told = join(cwd, 'told');
  execFileSync('mkfifo', [told]);
  writeFileSync(join(cwd, 'xdg-open'), `#!/bin/sh\necho "$@" > '${told}'\n`, { mode: 0o700 });
  const opening = run(t, ['login', '--open'], { cwd, env: { PATH: `${cwd}:${process.env.PATH}` } });
  const page = (await readFile(told, 'utf8')).trim();
  assert.equal((await opening.ended).code, 0, opening.stderr);
  assert.match(page, /^file:\S+$/);
  assert.doesNotMatch(page, /lh_login_/);
  const file = fileURLToPath(page);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(readFileSync(file, 'utf8').includes(opening.stdout.trim()));
});

test('as objects no line has a link', async (t) => {
  const here = place(t);
  const node = run(t, ['up', '--port', '0', '--no-worker', '--json'], { cwd: here.cwd });
  const [line] = await node.says(/^\{"event":"started".*$/m);
  assert.equal((JSON.parse(line) as { ui: string }).ui, `${await node.address()}/ui/`);
  assert.doesNotMatch(node.stdout + node.stderr, /lh_login_/);
});
