import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { closingTable, isOver } from './closing.ts';
import { idleFor } from './idle.ts';
import { type Job, runJob } from './job.ts';
import { cpuOfTree, runMeasured } from './measured.ts';
import { runStage, type StageResult } from './stage.ts';
import { dearness } from './yardstick.ts';

/** Files of tests with these texts, and the job that runs them. */
function written(t: TestContext, ...texts: readonly string[]): Job {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-tiers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = texts.map((text, i) => {
    const file = join(folder, `${i}.test.mjs`);
    writeFileSync(file, `import { test } from 'node:test';\n${text.replaceAll('HERE', JSON.stringify(folder))}`);
    return file;
  });
  return { name: files.join(' '), files };
}

async function quietly(t: TestContext, jobs: readonly Job[]): Promise<StageResult> {
  t.mock.method(console, 'log', () => {});
  return runStage({ name: 'trial', what: 'a trial', jobs, atOnce: 2 }, 'short');
}

const HOLDS = `test('holds', () => {});`;
const FAILS = `test('fails', () => { throw new Error('so it does'); });`;
const FAILS_ONCE = `import { existsSync, writeFileSync } from 'node:fs';
  test('holds at the second try', () => {
    const mark = HERE + '/mark';
    if (existsSync(mark)) return;
    writeFileSync(mark, '');
    throw new Error('not yet');
  });`;

test('what holds, fails and is skipped is counted', async (t) => {
  const skipped = `test('skipped', { skip: 'no moon' }, () => {});`;
  const { ok, pass, fail, skipped: left, skips } = await runJob(written(t, HOLDS + FAILS + skipped), 'short');
  assert.deepEqual({ ok, pass, fail, left, skips }, { ok: false, pass: 1, fail: 1, left: 1, skips: ['no moon'] });
});

test('a file that runs no test is a failure, in a process of its own and beside others', async (t) => {
  for (const texts of [['export {};'], [HOLDS, 'export {};']]) {
    const { ok, problem } = await runJob(written(t, ...texts), 'short');
    assert.equal(ok, false);
    assert.match(problem ?? '', /no test was run of .*\.test\.mjs/);
  }
});

test('a file that cannot be loaded is a failure, also beside one that holds', async (t) => {
  for (const texts of [[`throw new Error('not today');`], [HOLDS, `throw new Error('not today');`]]) {
    const { ok, fail } = await runJob(written(t, ...texts), 'short');
    assert.deepEqual({ ok, fail: fail > 0 }, { ok: false, fail: true });
  }
});

test('a process that ends before its tests do is a failure, whatever its status', async (t) => {
  const { ok, fail } = await runJob(written(t, `${HOLDS} test('gone', () => process.exit(0));`), 'short');
  assert.deepEqual({ ok, fail: fail > 0 }, { ok: false, fail: true });
});

test('a file that holds at the second try only is let through, and named', async (t) => {
  const job = written(t, FAILS_ONCE);
  const result = await quietly(t, [job, written(t, HOLDS)]);
  assert.deepEqual(
    { verdict: result.verdict, pass: result.pass, fail: result.fail, again: result.again },
    { verdict: 'passed', pass: 2, fail: 0, again: [job.name] },
  );
  const closing = closingTable({ name: 'trial', scale: 'short', stages: [] }, [result], {
    wallS: 1,
    cpuS: 1,
    dearness: 1,
  });
  assert.match(closing, /Held at the second try only: 1\n.*0\.test\.mjs/);
});

test('of files that share a process the failing one alone is tried again', async (t) => {
  const job = written(t, HOLDS, FAILS_ONCE);
  const { verdict, again } = await quietly(t, [job]);
  assert.deepEqual({ verdict, again }, { verdict: 'passed', again: [job.files?.[1]] });
});

test('a file that fails twice fails its stage', async (t) => {
  const { verdict, fail, again } = await quietly(t, [written(t, FAILS), written(t, HOLDS)]);
  assert.deepEqual({ verdict, fail, again }, { verdict: 'FAILED', fail: 1, again: [] });
});

test('a tool that fails is not tried again', async (t) => {
  const result = await quietly(t, [{ name: 'a tool', tool: ['node', '-e', 'process.exit(3)'] }]);
  assert.deepEqual({ verdict: result.verdict, fail: result.fail }, { verdict: 'FAILED', fail: 1 });
});

const BURN = 'while (process.cpuUsage().user < 300_000);';

test('CPU of grandchildren is counted', async () => {
  const child = `require('node:child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(BURN)}])`;
  const before = cpuOfTree();
  const { status, cpuS } = await runMeasured([process.execPath, '-e', child], {
    cwd: tmpdir(),
    env: process.env,
    atMostMs: 60_000,
  });
  assert.equal(status, 0);
  assert.ok(cpuS > 0.29, `${cpuS} s`);
  const after = cpuOfTree();
  if (before !== undefined && after !== undefined) assert.ok(after - before > 0.28, `${after - before} s`);
});

test('what hangs is ended with everything that it has started', async () => {
  const { status } = await runMeasured(['sleep', '600'], { cwd: tmpdir(), env: process.env, atMostMs: 200 });
  assert.equal(status, 'nothing after 0.2 s');
});

test('a test that fails and leaves its process waiting for ever does not hold up the tier', async (t) => {
  const { ok, problem, failedFiles } = await runJob(written(t, `${FAILS} setInterval(() => {}, 1000);`), 'short', 500);
  assert.deepEqual({ ok, problem }, { ok: false, problem: 'ended with no end after its last test' });
  assert.equal(failedFiles.length, 1);
});

test('a tier that uses more CPU than its budget says so', () => {
  const tier = { name: 'trial', scale: 'short', stages: [], cpuBudgetS: 100 } as const;
  assert.equal(isOver({ wallS: 1, cpuS: 100, dearness: 1 }, 100), false);
  assert.equal(isOver({ wallS: 1, cpuS: 101, dearness: 1 }, 100), true);
  assert.match(
    closingTable(tier, [], { wallS: 1, cpuS: 101, dearness: 1 }),
    /That is more CPU than the tier may use \(100 s, × 1\.00 for this machine today;/,
  );
  assert.doesNotMatch(closingTable(tier, [], { wallS: 1, cpuS: 99, dearness: 1 }), /more CPU/);
});

test('a budget grows with what a fixed piece of work costs meanwhile, and never shrinks', () => {
  assert.equal(isOver({ wallS: 1, cpuS: 149, dearness: 1.5 }, 100), false);
  assert.equal(isOver({ wallS: 1, cpuS: 151, dearness: 1.5 }, 100), true);
  assert.equal(dearness([900, 18, 18, 9, 1]), 2);
  assert.equal(dearness([4]), 1);
  assert.equal(dearness([]), 1);
});

/** Writes down how many of these files are at work at the same time, itself included, for a second or until one has seen so many. */
const COUNTS = `import { appendFileSync, readdirSync, readFileSync, writeFileSync, rmSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  test('counts', async () => {
    const { AT_WORK, SEEN, WANTED } = process.env;
    writeFileSync(AT_WORK + '/' + process.pid, '');
    for (let i = 0; i < (WANTED === '1' ? 20 : 1000) && !readFileSync(SEEN, 'utf8').includes('<' + WANTED + '>'); i++) {
      const count = readdirSync(AT_WORK).length;
      if (count > 1) appendFileSync(SEEN, '<' + count + '>');
      await sleep(50);
    }
    rmSync(AT_WORK + '/' + process.pid);
  });`;

for (const [idle, most] of [
  [1, 3],
  [0, 1],
] as const)
  test(`a stage of one job at once has ${idle === 1 ? 'two more while cores are idle' : 'no more while they are busy'}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-tiers-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const env = { AT_WORK: join(folder, 'at-work'), SEEN: join(folder, 'seen'), WANTED: String(most) };
    mkdirSync(env.AT_WORK);
    writeFileSync(env.SEEN, '');
    const jobs = Array.from({ length: 4 }, () => ({ ...written(t, COUNTS), env }));
    t.mock.method(console, 'log', () => {});
    const look = (): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(idle), 20));
    const result = await runStage({ name: 'trial', what: 'a trial', jobs, atOnce: 1, more: 2 }, 'short', look);
    const seen = [...readFileSync(env.SEEN, 'utf8').matchAll(/\d+/g)].map(Number);
    assert.deepEqual([result.verdict, result.pass, Math.max(1, ...seen)], ['passed', 4, most]);
  });

test('a core that computes is not idle', async () => {
  const busy = idleFor(300);
  const until = performance.now() + 280;
  while (performance.now() < until);
  assert.ok((await busy) <= 1 - 0.5 / availableParallelism());
});
