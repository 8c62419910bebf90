/**
 * A1, A39, A40 at the node: a value goes in by the command line and over HTTP, to a worker, into a task, through an update, a refusal and a
 * removal. It is in no dump, log, event, answer, entry of the audit or list of processes, in no encoded form.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { formsOf } from '../../../src/worker/redaction/forms.ts';
import {
  completed,
  digest,
  type Ground,
  ground,
  node,
  pushNeeding,
  untilHeld,
  worker,
} from '../../support/credentials/ground.ts';
import { BIN, temporaryFolder } from '../../support/leasehold.ts';
import type { RealNode } from '../../support/real-node.ts';

const CANARY = 'canary/ü 9d41 "quoted" value & more';

/** `leasehold ARGS` with this text on its standard input; answers what it printed and what processes were there meanwhile. */
function command(
  args: readonly string[],
  input: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<string> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { PATH: process.env['PATH'], ...env } });
  let said = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('close', (code) => (code === 0 ? resolve(said) : reject(new Error(said))));
  });
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => textOf(join(entry.parentPath, entry.name)));
}

/** A worker that removes a value replaces files meanwhile. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Every row of every table, as text. */
async function dump({ store, folder }: Ground): Promise<string> {
  if (store.startsWith('sqlite:')) return filesIn(folder).join('\n');
  const client = new Client({ connectionString: store });
  await client.connect();
  try {
    const { rows } = await client.query<{ table_schema: string; table_name: string }>(
      `SELECT table_schema, table_name FROM information_schema.tables
        WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    );
    let text = '';
    for (const { table_schema: schema, table_name: table } of rows) {
      const found = await client.query(`SELECT t::text AS row FROM "${schema}"."${table}" t`);
      text += found.rows.map(({ row }: { row: string }) => row).join('\n');
    }
    assert.match(text, /credential/);
    return text;
  } finally {
    await client.end();
  }
}

async function assertNowhere(places: Readonly<Record<string, string>>): Promise<void> {
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 0, place);
    for (const form of formsOf([CANARY])) {
      const latin = Buffer.from(form).toString('latin1');
      assert.ok(!text.includes(form) && !text.includes(latin), `${place} has ${form}`);
    }
  }
}

async function everythingSaid(hub: RealNode): Promise<string> {
  const paths = ['/credentials', '/credentials/db', '/audit', '/workers', '/tasks', '/events/page?after=0', '/upgrade'];
  const answers = await Promise.all(paths.map((path) => hub.ask('GET', path)));
  return JSON.stringify(answers);
}

for (const kind of ['sqlite', 'postgres'] as const)
  test(`a value is nowhere but in the hands of its worker: ${kind}`, async (t: TestContext) => {
    const at = await ground(t, kind);
    const hub = await node(t, at);
    const folder = temporaryFolder(t);
    const box = await worker(t, hub, 'box', [], folder);
    const env = { ...at.env, LEASEHOLD_TOKEN: hub.token };
    const printed = await command(
      ['credentials', 'set', 'db', '--worker', 'box', '--server', hub.url],
      `${CANARY}\n`,
      env,
      folder,
    );
    await untilHeld(hub, 'db', 'box', 1);
    const id = await pushNeeding(hub, 'db');
    assert.equal((await completed(hub, id)).digest, digest(CANARY));
    const lines = (await hub.lines(id)).join('\n');
    // A program says it in every way that it can, and fails with it.
    const say = 'cat "$SECRET"; echo; base64 < "$SECRET"; od -An -tx1 < "$SECRET" | tr -d " \\n"; cat "$SECRET" >&2';
    const input = { command: `${say}; exit 3`, credentials: { db: { as: 'file', name: 'SECRET' } } };
    const blab = await hub.push({
      queue: 'work',
      handler: 'shell',
      input,
      placement: { credentials: ['db'] },
      maxAttempts: 1,
    });
    await hub.until(async () => (await hub.task(blab)).state === 'failed', 'it has said it');
    const blabbed = JSON.stringify([await hub.task(blab), await hub.call('GET', `/tasks/${blab}/attempts`)]);
    const blabbedLines = (await hub.lines(blab)).join('\n');
    assert.ok((blabbedLines.match(/\*\*\*/g)?.length ?? 0) >= 4, blabbedLines);
    // By the other way in, as a field, and in requests that are refused.
    await hub.call('POST', '/credentials', { name: 'db', fields: { password: CANARY }, type: 'login' });
    await untilHeld(hub, 'db', 'box', 2);
    const refused = [
      await hub.ask('POST', '/credentials', { name: 'Not A Name', value: CANARY }),
      await hub.ask('POST', '/credentials', { name: 'db', value: CANARY, fields: { a: CANARY } }),
      await hub.ask('POST', '/credentials', { name: 'db', value: CANARY, level: 'none' }),
      await hub.ask('POST', '/credentials', { name: 'db', value: CANARY, [CANARY.slice(0, 3)]: 1 }),
      await hub.ask('POST', '/credentials', { name: 'db', value: { nested: CANARY } }),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      [400, 400, 400, 400, 400],
    );
    const open = await dump(at);
    const said = await everythingSaid(hub);
    await hub.call('DELETE', '/credentials/db');
    await hub.until(async () => !(await hub.worker('box')).tags.includes('credential:db'), 'its label is gone');
    await assertNowhere({
      printed,
      said,
      lines: `${lines} `,
      'what it says': blabbedLines,
      'how it ended': blabbed,
      refused: JSON.stringify(refused),
      'the store': open,
      'the store after its removal': await dump(at),
      'the output of the node': `${hub.process.stdout}${hub.process.stderr}`,
      'the output of the worker': `${box.stdout}${box.stderr}`,
      'the folder of the worker': filesIn(folder).join('\n'),
    });
  });
