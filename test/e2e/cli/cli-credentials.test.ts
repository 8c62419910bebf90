/** Credentials, the policy of upgrades and releases at the command line. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { packBundle } from '../../../src/worker/upgrade/bundle-file.ts';
import { run } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

const VALUE = 'canary-5d1c-of-the-command-line';

test('a credential is set from standard input or a file, shown, given, taken away and removed, and its value is printed by nothing', async (t) => {
  const { call, cwd } = place(t);
  await run(t, ['up', '--port', '0', '--no-worker'], { cwd }).address();
  const said: string[] = [];
  const say = async (
    args: readonly string[],
    input = '',
  ): Promise<{ code: number | null; out: string; err: string }> => {
    const { code, stdout, stderr } = await call(['credentials', ...args], input);
    said.push(stdout, stderr);
    return { code, out: stdout, err: stderr };
  };
  const made = await say(['set', 'hub', '--worker', 'box', '--level', 'keyring'], `${VALUE}\n`);
  assert.equal(made.code, 0, made.err);
  assert.match(
    made.out,
    /^hub: a text, version 1\n {2}may hold {3}box\n {2}kept by {4}keyring at least\n {2}holders {4}1 wanted\n$/,
  );
  writeFileSync(join(cwd, 'fields.json'), JSON.stringify({ user: 'u', password: VALUE }));
  const fields = await say(['set', 'hub', '--fields', '--type', 'login', '--file', 'fields.json']);
  assert.match(fields.out, /^hub: fields \(login\), version 2\n/);
  assert.match((await say(['set', 'pin'], '1234')).err, /below 8 characters is not hidden/);
  assert.doesNotMatch(made.err, /hidden/);
  assert.match((await say(['grant', 'hub', '--tag', 'ci', '--level', 'any'])).out, /box, all with the tag ci/);
  assert.match((await say(['revoke', 'hub', '--worker', 'box'])).out, /may hold {3}all with the tag ci/);
  assert.match((await say(['show', 'hub'])).out, /^box\tremoving\t/m);
  assert.match((await say(['list'])).out, /^hub\t2\tfields\tany\tall with the tag ci\t1 removing\t.*\npin\t1\ttext\t/);
  for (const [args, input, because] of [
    [['set', 'Hub'], VALUE, /"Hub" is not 1 to 63/],
    [['set', 'hub'], '', /it is empty/],
    [['set', 'hub', '--fields'], VALUE, /a JSON object of texts/],
    [['set', 'hub', VALUE], '', /takes no argument|does not take/],
    [['grant', 'hub'], '', /Name workers/],
    [['remove', 'hub'], '', /There is no terminal to ask on/],
  ] as const) {
    const { code, err } = await say(args, input);
    assert.equal(code, 2, args.join(' '));
    if (!(args as readonly string[]).includes(VALUE)) assert.match(err, because);
  }
  assert.equal((await say(['grant', 'nobody', '--worker', 'box'])).code, 3);
  assert.match(
    (await say(['remove', 'hub', '--dry-run'])).out,
    /^Would remove hub, version 2\. Its holders: 1 removing\./,
  );
  assert.match((await say(['remove', 'hub', '--yes'])).out, /^Removed hub\. Its holders were: 1 removing;/);
  assert.match((await say(['remove', 'pin', '--yes'])).out, /^Removed pin, which nobody had\.$/m);
  assert.equal((await say(['remove', 'pin', '--yes'])).code, 3);
  const audit = await call(['audit', '--json']);
  assert.deepEqual(
    audit
      .objects()
      .filter(({ outcome, target }) => outcome === 'done' && target === 'hub')
      .map(({ action }) => action),
    ['removeCredential', 'revokeCredential', 'grantCredential', 'setCredential', 'setCredential'],
  );
  assert.ok(audit.objects().every(({ by }) => by === userInfo().username));
  // An argument that is none is quoted back to whoever typed it, and nowhere else.
  const told = said.filter((text) => !/takes? no/.test(text)).join('') + audit.stdout;
  assert.ok(!told.includes('canary'), told);
});

test('the policy of upgrades is edited word by word, and what makes no sense is refused', async (t) => {
  const { call, cwd } = place(t);
  await run(t, ['up', '--port', '0', '--no-worker'], { cwd }).address();
  const upgrade = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await call(['upgrade', ...args]);
    return code === 0 ? stdout.trimEnd() : `${code} ${stderr}`;
  };
  assert.equal(await upgrade('canary', '10'), 'No worker is sent to another release. Of the next one 10 % would be.');
  assert.equal(await upgrade('to', '0.3.0'), 'Older workers go to release 0.3.0, 10 % of them.');
  assert.match(await upgrade('pin', 'box'), / box stays\.$/);
  assert.match(await upgrade('refuse', '0.2.9'), / No work for release 0\.2\.9\.$/);
  assert.match(
    await upgrade('status'),
    /^Older workers go to release 0\.3\.0, 10 % of them\. box stays\. No work for release 0\.2\.9\.$/,
  );
  assert.match(await upgrade('refuse', '0.3.0'), /^2 .*release 0\.3\.0 is refused/);
  assert.match(await upgrade('refuse', 'banana'), /^2 /);
  assert.match(await upgrade('canary', '101'), /^2 /);
  for (const undo of [
    ['unpin', 'box'],
    ['allow', '0.2.9'],
    ['canary', '100'],
  ])
    await upgrade(...undo);
  assert.equal(await upgrade('to', 'none'), 'No worker is sent to another release.');
});

test('a release is signed and checked, and what stands in the way is said without a trace', async (t) => {
  const { call, cwd } = place(t);
  const release = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await call(['release', ...args]);
    assert.doesNotMatch(stderr, /\n {4}at /);
    return code === 0 ? stdout.trimEnd() : `${code} ${stderr}`;
  };
  assert.match(await release('key', 'nowhere/release.pem'), /^2 .*cannot be written \(ENOENT\)/);
  const key = await release('key', 'release.pem');
  assert.match(key, /^ed25519:[\w-]{43}$/);
  assert.equal(statSync(join(cwd, 'release.pem')).mode & 0o777, 0o600);
  assert.match(await release('key', 'release.pem'), /there is a file release\.pem already/);
  const other = await release('key', 'other.pem');
  assert.match(await release('verify', 'r', key), /^3 .*manifest\.json/);
  assert.match(await release('sign', 'r', '--key-file', 'release.pem'), /^3 .*worker\.bundle/);
  mkdirSync(join(cwd, 'r'));
  const bundle = join(cwd, 'r/worker.bundle');
  writeFileSync(bundle, packBundle({ version: '0.2.0', files: { 'bin/leasehold.js': '', 'updater.js': '' } }));
  assert.match(await release('sign', 'r', '--key-file', 'none.pem'), /none\.pem cannot be read/);
  assert.match(await release('sign', 'r', '--key-file', 'release.pem'), /0\.2\.0/);
  assert.match(await release('verify', 'r', key), /0\.2\.0/);
  assert.match(await release('verify', 'r', other), /not signed by this key/);
  // The line that installs it names the node and the key, however its address was typed.
  const url = await run(t, ['up', '--port', '0', '--no-worker', '--release', 'r'], { cwd }).address();
  const { lines } = await call(['workers', 'create', 'box', '--install', `${url}/`]);
  assert.equal(lines[1], `  curl -fsSL ${url}/install.sh | sh -s -- --server ${url} --key ${key}`);
  const nowhere = await call(['workers', 'create', 'other', '--install', 'not an address']);
  assert.equal(nowhere.code, 2);
  writeFileSync(bundle, readFileSync(bundle).subarray(1));
  assert.match(await release('verify', 'r', key), /not the one that was signed/);
});
