import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { open } from '../../../src/app/open.ts';
import { connectRuntimeDb, getRun, queueRun } from '../../../src/compat/index.ts';
import { Nursery, scratch } from '../children.ts';
import { newStore, STORES } from './compat-stores.ts';

// Universal Agent's matrix of kills: what a run has done is recorded once, and what nobody knows of is looked up and not done again.

interface Case {
  readonly what: string;
  readonly dieAt: string;
  /** Effects, in their order. */
  readonly effects: readonly string[];
  readonly found?: string;
}

const CASES: readonly Case[] = [
  {
    what: 'a step that only reads is simply repeated',
    dieAt: 'in read',
    effects: ['read', 'read', 'research', 'upload', 'email'],
  },
  {
    what: 'another agent that was begun is abandoned, and started once more',
    dieAt: 'in research',
    effects: ['read', 'research', 'abandoned', 'research', 'upload', 'email'],
    found: 'found by the second',
  },
  {
    what: 'an upload before it is not repeated, and the email after it is sent once',
    dieAt: 'before email',
    effects: ['read', 'research', 'upload', 'email'],
  },
  {
    what: 'an email that was sent and not recorded is found, and not sent again',
    dieAt: 'in email',
    effects: ['read', 'research', 'upload', 'email'],
  },
];

for (const kind of STORES) {
  for (const one of CASES)
    test(`${kind}, killed ${one.dieAt}: ${one.what}`, async (t) => killed(t, await newStore(kind), one));
}

async function killed(t: TestContext, url: string, { dieAt, effects, found = 'found' }: Case): Promise<void> {
  const diary = join(scratch(t, 'mission'), 'diary');
  const conn = await connectRuntimeDb(url);
  t.after(() => conn.close());
  await queueRun(conn, { run_id: 'mission_1', prompt: 'read, look, upload, tell' });
  const nursery = new Nursery(t);
  const start = (at: string) => nursery.start(new URL('./mission-child.ts', import.meta.url), [url, diary, at]);
  const first = start(dieAt);
  await first.ended;
  assert.equal(first.process.signalCode, 'SIGKILL', first.errors);
  const second = start('');
  const app = await open(url, { housekeeping: false });
  t.after(() => app.close({ drainMs: 0 }));
  const run = await app.runs.get('mission_1');
  assert.ok(run);
  const output = (await app.handle(run.id).result()) as { readonly messages: unknown; readonly receipt: string };
  const lines = readFileSync(diary, 'utf8').trim().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split(' ')[0]),
    effects,
  );
  const email = lines.find((line) => line.startsWith('email ')) as string;
  assert.deepEqual(output, { messages: ['a paper', found], receipt: `sent ${email.split(' ')[1]}` });
  const after = await getRun(conn, 'mission_1');
  assert.deepEqual([after?.status, after?.attempts, after?.result], ['completed', 2, output]);
  // Nothing that must happen once has a key that is there twice.
  const once = lines.filter((line) => /^(upload|email) /.test(line));
  assert.equal(new Set(once).size, once.length);
  const keys = (await app.engine.journal(app.engine.parseId(run.id))).map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
  second.tell({ word: 'stop' });
  await second.ended;
}
