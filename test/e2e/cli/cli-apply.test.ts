import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { place } from './cli-calls.ts';
import { server } from './cli-postgres-calls.ts';

const SETTINGS = `tags: [gpu]
limits:
  openai: { concurrent: 2 }
queues:
  papers: { paused: true }
workers:
  box: { tags: [gpu], priority: 2 }
schedules:
  clean: { queue: mail, daily: "03:30", placement: { requires: [tpu] } }
`;

test('a file is shown as a difference, made after --yes, and applied again it changes nothing', async (t) => {
  const { call, cwd } = place(t);
  writeFileSync(join(cwd, 'all.yml'), SETTINGS);
  const dry = await call(['apply', '-f', 'all.yml', '--dry-run', '--store', `sqlite:${join(cwd, 'a.db')}`]);
  assert.equal(dry.code, 3, 'a dry run makes no store');
  const asked = await call(['apply', '-f', 'all.yml']);
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /--yes/);
  const made = await call(['apply', '-f', 'all.yml', '--yes']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    made.stdout,
    /^\+ tags gpu\n\+ limits openai\n {4}concurrent: 2\n {4}strategy: "queue"\n~ queues papers\n/,
  );
  assert.match(made.stdout, /LEASEHOLD_WORKER_CODE=\S+ leasehold worker --join URL/);
  assert.match(made.stderr, /! schedule clean needs tag tpu, which no enabled worker has\./);
  const again = await call(['apply', '-f', 'all.yml', '--prune']);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /^Nothing to change: 5 as they should be\.\n/);

  writeFileSync(join(cwd, 'less.yml'), 'limits:\n  openai: { concurrent: 5 }\nschedules: {}\n');
  const [limit, schedule] = (await call(['apply', '-f', 'less.yml', '--prune', '--dry-run', '--json'])).objects();
  assert.deepEqual([limit?.['plan'], limit?.['fields']], ['change', [{ path: 'concurrent', from: 2, to: 5 }]]);
  assert.deepEqual([schedule?.['plan'], schedule?.['name']], ['remove', 'clean']);
  const wrong = await call(['apply', '-f', join(cwd, 'absent.yml')]);
  assert.equal(wrong.code, 3);
});

test('what is exported changes nothing where it came from, and makes the same on another store', async (t) => {
  const { call, cwd } = place(t);
  writeFileSync(join(cwd, 'all.yml'), SETTINGS);
  assert.equal((await call(['apply', '-f', 'all.yml', '--yes'])).code, 0);
  const text = (await call(['export'])).stdout;
  assert.doesNotMatch(text, /lh_/, 'no secret is in it');
  assert.equal((await call(['export', '--out', 'out.yml'])).code, 0);
  assert.equal(readFileSync(join(cwd, 'out.yml'), 'utf8'), text);
  assert.match((await call(['apply', '-f', 'out.yml', '--prune'])).stdout, /^Nothing to change/);
  const other = ['--store', `sqlite:${join(cwd, 'other.db')}`];
  assert.equal((await call(['apply', '-f', 'out.yml', '--yes', ...other])).code, 0);
  assert.equal((await call(['export', ...other])).stdout, text);
  assert.equal((await call(['export', '--dazflow', '--out', 'daz'])).code, 0);
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, 'daz', 'concurrency_groups.json'), 'utf8')), {
    openai: { limit: 2 },
  });
  assert.match((await call(['apply', '-f', 'daz', '--prune'])).stdout, /^Nothing to change/);
});

test('tags are made, listed, renamed and removed', async (t) => {
  const { call } = place(t);
  assert.equal((await call(['tags', 'create', 'gpu'])).stdout, 'Made the tag gpu.\n');
  assert.deepEqual((await call(['tags'])).lines, ['gpu\t0\t–\t–\t–\t–']);
  await call(['workers', 'tag', 'box', '--add', 'gpu']);
  assert.equal((await call(['tags', 'rename', 'gpu', 'cuda'])).stdout, 'gpu is cuda now: changed box.\n');
  const used = await call(['tags', 'remove', 'cuda']);
  assert.equal(used.code, 1);
  assert.match(used.stderr, /is used by worker box/);
  assert.match(
    (await call(['tags', 'remove', 'cuda', '--force'])).stdout,
    /^Removed the tag cuda\. It was taken from box\.\n/,
  );
  assert.equal((await call(['tags', 'remove', 'cuda'])).code, 3);
});

test('a key is made for its owner alone, never over another, and signs what a worker demands', async (t) => {
  const { call, cwd } = place(t);
  assert.equal((await call(['keys', 'make', 'my.key'])).code, 0);
  assert.equal(statSync(join(cwd, 'my.key')).mode & 0o777, 0o600);
  assert.equal((await call(['keys', 'make', 'my.key'])).code, 1);
  const command = (file: string): string => JSON.stringify({ argv: ['touch', join(cwd, file)] });
  await call(['push', 'shell', command('unsigned')]);
  await call(['push', 'shell', command('signed'), '--sign-key', 'my.key', '--sign-for', '1h']);
  const worker = ['worker', '--allow', 'shell', '--require-signed', 'my.key.pub', '--once'];
  assert.notEqual((await call(worker)).code, 0, 'the first is refused');
  assert.equal((await call(worker)).code, 0);
  assert.deepEqual([existsSync(join(cwd, 'signed')), existsSync(join(cwd, 'unsigned'))], [true, false]);
  const [failed] = (await call(['tasks', 'list', '--state', 'failed', '--json'])).objects();
  assert.equal((failed?.['error'] as { readonly code?: string } | undefined)?.code, 'TASK_NOT_SIGNED');
  const secret = await call(['worker', '--require-signed', 'my.key', '--once']);
  assert.match(secret.stderr, /key that signs/);
});

test('on Postgres and over a node the same file leads to the same', async (t) => {
  const { call, callWith, start, cwd } = await server(t);
  writeFileSync(join(cwd, 'all.yml'), SETTINGS);
  const up = start(['up', '--port', '0', '--name', 'builtin']);
  await up.says(/is up at http:\S+ on postgres:/);
  const made = await callWith(['apply', '-f', 'all.yml', '--yes']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    (await call(['apply', '-f', 'all.yml', '--prune', '--dry-run'])).stdout,
    /workers builtin|Nothing to change/,
  );
  const text = (await call(['export', '--kind', 'limits', '--kind', 'tags'])).stdout;
  assert.equal(text, 'tags:\n  - gpu\nlimits:\n  openai:\n    concurrent: 2\n    strategy: queue\n');
});
