/** "Secrets" and "Upgrade the fleet", command by command, beside a real node; what is typed there comes from a pipe here. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { blocksOf, Clone } from './guide-pages.ts';

const NPX = { '\nleasehold ': '\nnpx leasehold ' };
const VALUE = 'canary-of-the-guide';

/** The commands of a page, and a terminal beside a node in which they are said. */
async function reading(t: TestContext): Promise<Clone> {
  const clone = new Clone(t);
  const node = clone.start('npx leasehold up --port 0 --no-worker');
  await node.says(/is up at/);
  return clone;
}

test('the commands of "Secrets" do what the page says', async (t) => {
  const piped = {
    'credentials set github --worker builder\n': 'credentials set github --worker builder <.value\n',
    'credentials remove github\n': 'credentials remove github --yes\n',
  };
  const [set, grant, gone, ...more] = blocksOf('secrets.md', { ...NPX, ...piped });
  assert.deepEqual(more, []);
  const clone = await reading(t);
  clone.write('.value', `${VALUE}\n`);
  assert.match(await clone.say(set?.text ?? ''), /^github: a text, version 1\n {2}may hold {3}builder\n/);
  assert.match(await clone.say(grant?.text ?? ''), /builder, all with the tag ci[^]*^builder\twanted/m);
  const shown = await clone.say(gone?.text ?? '');
  assert.match(shown, /may hold {3}all with the tag ci[^]*^Removed github\./m);
  assert.equal(await clone.say('npx leasehold credentials list'), '');
  assert.ok(!(await clone.say('npx leasehold audit --json')).includes('canary'));
});

test('the commands of "Upgrade the fleet" do what the page says', async (t) => {
  const [make, send, ...more] = blocksOf('upgrade-the-fleet.md', {
    ...NPX,
    // The build is that of the tests of installs.
    '\nLEASEHOLD_RELEASE_KEY=~/keys/release.pem npm run build\n': '\nls ~/keys/release.pem\n',
  });
  assert.deepEqual(more, []);
  const clone = await reading(t);
  assert.match(
    await clone.say(`HOME=${join(clone.cwd, 'home')}; mkdir ~\n${make?.text}`),
    /^ed25519:[\w-]{43}\n.*release\.pem\n$/,
  );
  assert.deepEqual((await clone.say(send?.text ?? '')).trimEnd().split('\n'), [
    'No worker is sent to another release. Of the next one 10 % would be.',
    'Older workers go to release 0.2.0, 10 % of them.',
    'Older workers go to release 0.2.0, 10 % of them.',
    'Older workers go to release 0.2.0.',
  ]);
});
