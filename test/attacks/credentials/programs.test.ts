/**
 * A38 to A40: a real worker is given credentials and runs programs with them. The value is in no argument, in no environment unless that was
 * asked for, and in nothing that the worker writes or says.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { formsOf } from '../../../src/worker/redaction/forms.ts';
import { CredentialNode } from '../../support/credentials/node.ts';
import { type Running, run, temporaryFolder } from '../../support/leasehold.ts';

const CANARY = 'canary/ü 7f3a "quoted" value';
const credentials = ['db'];

interface Scene {
  readonly node: CredentialNode;
  readonly worker: Running;
  readonly dataDir: string;
}

async function scene(t: TestContext): Promise<Scene> {
  const node = await CredentialNode.start(t);
  const dataDir = temporaryFolder(t);
  const args = ['worker', '--join', node.url, '--name', 'box', '--data-dir', dataDir, '--allow', 'shell'];
  const env = { LEASEHOLD_WORKER_SECRET: 'x'.repeat(40), CREDENTIALS_DIRECTORY: '', PATH: '/usr/bin:/bin' };
  const worker = run(t, [...args, '--vault-level', 'file'], { env, cwd: dataDir });
  const ack = await node.give('box', 'db', 1, { value: CANARY });
  assert.deepEqual([ack.status, ack.level], ['stored', 'file']);
  return { node, worker, dataDir };
}

/** Runs a line of shell, and answers with what it printed. */
async function shell({ node }: Scene, command: string, as?: 'file' | 'fd' | 'env', more: object = {}): Promise<string> {
  const wish = as === undefined ? {} : { credentials: { db: { as, name: 'DB' } } };
  const end = await node.run({ handler: 'shell', input: { command, ...wish, ...more }, credentials });
  assert.equal(end.type, 'task_complete', JSON.stringify(end));
  return (JSON.parse(end['result'] as string) as { stdout: string }).stdout;
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function assertUntold({ node, dataDir, worker }: Scene): void {
  const written = [dataDir].flatMap(filesIn).map((path) => readFileSync(path, 'utf8'));
  const all = [...node.heard, ...written, worker.stdout, worker.stderr].join('\n');
  for (const form of formsOf([CANARY])) assert.ok(!all.includes(form), form);
}

/** How often the value stands in files of `/proc`, counted by a program that reads it from a file. */
const count = (files: string): string => `cat ${files} 2>/dev/null | tr '\\0' '\\n' | grep -acFf "$DB" || true`;

test('a program has the value by a file or a descriptor, and nothing that is said or written has it', async (t) => {
  const at = await scene(t);
  for (const as of ['file', 'fd'] as const) {
    assert.equal((await shell(at, `cat "$DB" | wc -c`, as)).trim(), String(Buffer.byteLength(CANARY)), as);
    assert.equal(await shell(at, `cat "$DB"; echo; cat "$DB" | base64; cat "$DB" >&2`, as), '***\n***\n', as);
  }
  const path = (await shell(at, 'echo $DB', 'file')).trim();
  assert.equal(existsSync(dirname(path)), false, 'the file is gone with the attempt');
  assertUntold(at);
});

test('it is in no command line and in no environment, unless that is asked for', async (t) => {
  const at = await scene(t);
  assert.equal((await shell(at, count('/proc/[0-9]*/cmdline'), 'file')).trim(), '0');
  assert.equal((await shell(at, count('/proc/[0-9]*/environ'), 'file')).trim(), '0');
  assert.equal((await shell(at, `printf %s "$DB" | wc -c`, 'env')).trim(), String(Buffer.byteLength(CANARY)));
  assert.equal(await shell(at, 'env | grep ^DB', 'env'), 'DB=***\n');
  assert.equal(await shell(at, 'env | grep -c -e CREDENTIALS_DIRECTORY -e LEASEHOLD_WORKER_SECRET || true'), '0\n');
  assertUntold(at);
});

test('a program with a credential, and the worker that keeps it, write no core file', async (t) => {
  const at = await scene(t);
  assert.equal(await shell(at, 'ulimit -c', 'file'), '0\n');
  const limit = readFileSync(`/proc/${at.worker.child.pid}/limits`, 'utf8');
  assert.match(limit, /^Max core file size\s+0\s+0/m);
});

test('a value that comes in pieces, that is cut, or that is in an error is hidden too', async (t) => {
  const at = await scene(t);
  const pieces = `v=$(cat "$DB"); for i in 1 2 3; do printf %s "\${v%value}"; sleep 0.1; printf 'value\\n'; done`;
  assert.equal(await shell(at, pieces, 'file'), '***\n***\n***\n');
  const long = `head -c 16374 /dev/zero | tr '\\0' x; cat "$DB"; head -c 9000 /dev/zero | tr '\\0' y`;
  await shell(at, long, 'file');
  const command = 'cat "$DB" >&2; exit 3';
  const input = { command, credentials: { db: { as: 'file', name: 'DB' } } };
  const end = await at.node.run({ handler: 'shell', input, credentials });
  assert.match(end['error'] as string, /exit code 3.*\*\*\*/);
  assertUntold(at);
  assert.ok(!at.node.heard.join('\n').includes('canary'), 'not its beginning either');
});

test('what the task does not name is not handed out, and a removed credential is gone', async (t) => {
  const at = await scene(t);
  const input = { command: 'true', credentials: { db: { as: 'file', name: 'DB' } } };
  const unnamed = await at.node.run({ handler: 'shell', input });
  assert.match(unnamed['error'] as string, /CREDENTIAL_MISSING/);
  at.node.order('box', { name: 'db', version: 1, removed: true });
  await at.node.until(() => at.node.acks.some(({ status }) => status === 'removed'));
  const removed = await at.node.run({ handler: 'shell', input, credentials });
  assert.match(removed['error'] as string, /CREDENTIAL_MISSING/);
  assertUntold(at);
});
