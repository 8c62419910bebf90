import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { BIN, ROOT, type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';

const PAGE = join(ROOT, 'docs/guides/three-nodes.md');
/** What a loaded host may take until the last look shows what the page says. */
const PATIENCE_MS = 120_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

test('three nodes go as the guide says, also when the leader is killed', { timeout: 400_000 }, async (t) => {
  const cwd = temporaryFolder(t);
  const env = { DB: await freshDatabase('guide') };
  let page = readFileSync(PAGE, 'utf8');
  for (const port of [7421, 7422, 7423]) page = page.replaceAll(String(port), String(await freePort()));
  const npx = `set -e\nnpx() { shift; '${process.execPath}' '${BIN}' "$@"; }\n`;
  const start = (text: string): Running => run(t, ['-c', npx + text], { cwd, env, command: 'sh', group: true });
  const say = async (text: string): Promise<string> => {
    const shell = start(text);
    assert.equal((await shell.ended).code, 0, `${text}\n${shell.stdout}${shell.stderr}`);
    return shell.stdout;
  };
  const blocks = [...page.matchAll(/^```sh(?: ([\w-]+))?\n(.*?)^```$/gms)];
  assert.deepEqual(
    blocks.map(([, where = '']) => where),
    ['server', 'node-1', 'node-2', 'node-3', '', 'worker', '', 'later', ''],
  );
  const said: string[] = [];
  for (const [, where = '', text = ''] of blocks) {
    if (where === 'server') continue; // the tests have one
    if (where.startsWith('node')) await start(text).says(/is up at/);
    else if (where === 'worker') await start(text).says(/^Worker /);
    else if (where === '') said.push(await say(text));
    else {
      const looks = (): Promise<string> => say(text);
      let shown = await looks();
      for (const deadline = performance.now() + PATIENCE_MS; !isOver(shown); shown = await looks()) {
        assert.ok(performance.now() < deadline, shown);
      }
    }
  }
  const [first = '', , roles = ''] = said;
  assert.deepEqual(rolesOf(first), { 'node-1': 'leader', 'node-2': 'worker', 'node-3': 'worker' });
  assert.match(
    roles,
    /^node-3 is asked to be an observer\.\nnode-3 has the role again that it was started with: auto\.\n$/,
  );
});

function rolesOf(status: string): Readonly<Record<string, string>> {
  const rows = status.split('\n').map((line) => line.split('\t'));
  return Object.fromEntries(rows.filter(([id]) => id?.startsWith('node-')).map(([id, , role]) => [id, role]));
}

/** Another one leads, and all forty have ended. */
function isOver(shown: string): boolean {
  const { 'node-1': _dead, ...others } = rolesOf(shown);
  const ended = shown.split('\n').some((line) => line.startsWith('echo\t') && line.split('\t').includes('40'));
  return Object.values(others).includes('leader') && ended;
}
