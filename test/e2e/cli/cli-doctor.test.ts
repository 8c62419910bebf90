import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

test('the doctor makes no store, and says how to get one', async (t) => {
  const { call, cwd } = place(t);
  const answer = await call(['doctor']);
  assert.equal(answer.code, 1);
  assert.match(answer.stdout, /^fail store +there is none at .*\n +→ "leasehold up"/m);
  assert.equal(existsSync(join(cwd, '.leasehold')), false);
});

test('on a store with a node everything is fine, one finding a line', async (t) => {
  const { call, cwd } = place(t);
  const up = run(t, ['up', '--port', '0'], { cwd });
  await up.says(/duties: stager, reaper, cron, pruner, auditor/);
  const answer = await call(['doctor', '--json']);
  assert.equal(answer.code, 0, answer.stdout);
  const findings = answer.objects();
  assert.ok(findings.every(({ check, verdict, says }) => check !== '' && verdict !== 'fail' && says !== ''));
  assert.match(String(findings.find(({ check }) => check === 'duties')?.says), /held by \S+$/);
  up.child.kill('SIGINT');
  await up.ended;
  const after = await call(['doctor']);
  assert.equal(after.code, 0, 'without a node there is something to look at, and nothing that fails');
  assert.match(after.stdout, /^warn duties +nobody does the housekeeping.*\n +→ Start a node: leasehold up\.$/m);
  assert.match(after.stdout, /\n\d+ fine, \d+ to look at, 0 failed\.\n$/);
});

test('a damaged store fails', async (t) => {
  const { call, cwd } = place(t);
  writeFileSync(join(cwd, 'junk.db'), 'this is not a database, and it is long enough to be looked at'.repeat(100));
  const answer = await call(['doctor', '--store', 'sqlite:junk.db']);
  assert.equal(answer.code, 1);
  assert.match(answer.stdout, /^fail store +The store holds data that cannot be right/m);
});
