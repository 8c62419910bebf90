/** examples/paper-analysis as a user has it: the installed package, a table of papers, and workers that are processes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { installBundled } from '../../../build/install.ts';
import { PaperQueue } from '../../../examples/paper-analysis/paper-queue.ts';
import { completion, openAiServer } from '../../support/agents/openai-server.ts';
import { ROOT, temporaryFolder } from '../../support/leasehold.ts';

/** Each try is a process of its own: far more of them than it takes. */
const TRIES = 60;
const REAP = ['stale_worker_reaper', '--hooks', 'papers.hooks.ts'];

interface Row {
  readonly id: number;
  readonly title: string;
  readonly status: string;
  readonly attempts: number;
  readonly summary_path: string | null;
  readonly error: string | null;
}

const installed = temporaryFolder({ after });
const bin = await installBundled(installed);

async function rig(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const cwd = join(installed, `papers-${process.hrtime.bigint()}`);
  cpSync(join(ROOT, 'examples/paper-analysis'), cwd, { recursive: true });
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const env = { PATH: process.env['PATH'], HOME: cwd, ...settings };
  const node = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, args, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const machine = async (args: readonly string[], input: object = {}): Promise<Record<string, unknown>> =>
    JSON.parse(await node([bin, 'run', ...args, '--json', '--input', JSON.stringify(input)])) as Record<
      string,
      unknown
    >;
  const rows = (): readonly Row[] => {
    const db = new DatabaseSync(join(cwd, 'papers.sqlite'), { readOnly: true, timeout: 10_000 });
    try {
      return db.prepare('SELECT * FROM paper_queue ORDER BY id').all() as unknown as Row[];
    } finally {
      db.close();
    }
  };
  const until = async <T>(ask: () => Promise<T>, good: (answer: T) => boolean): Promise<T> => {
    for (let i = 0; i < TRIES; i++) {
      const answer = await ask();
      if (good(answer)) return answer;
    }
    return assert.fail(`it never came: ${JSON.stringify(rows())}`);
  };
  return { cwd, env, node, machine, rows, until };
}

test('papers are crawled once, workers are started for them and end, and each has a summary of its own words', async (t) => {
  const { cwd, node, machine, rows, until } = await rig(t);
  assert.equal(await node(['crawl.ts', 'papers']), '3 pending\n');
  assert.equal(await node(['crawl.ts', 'papers']), '3 pending\n');
  const check = (): Promise<Record<string, unknown>> => machine(['checker.yml'], { max_workers: 2 });
  const both = await Promise.all([check(), check()]);
  const spawned = both.flatMap(({ spawned: some }) => some as string[]);
  assert.ok(spawned.length >= 1 && spawned.length <= 2, 'two checkers together start no more than the most');
  await until(check, ({ queue_depth, active_workers }) => queue_depth === 0 && active_workers === 0);
  assert.equal(await node(['crawl.ts', 'papers']), '3 done\n');
  for (const { id, title, attempts, summary_path, error } of rows()) {
    assert.deepEqual([attempts, summary_path, error], [1, join(cwd, `summaries/${id}.json`), null]);
    const summary = JSON.parse(readFileSync(String(summary_path), 'utf8')) as Record<string, string[]>;
    assert.equal(summary['title'], title);
    assert.equal(summary['quotes']?.length, 3);
  }
  assert.equal(readdirSync(join(cwd, 'summaries')).length, 3);
});

test('a worker is killed with its paper: the reaper gives it back, another worker does it, and the lost one counts as a try', async (t) => {
  const { cwd, env, node, machine, rows, until } = await rig(t);
  rmSync(join(cwd, 'papers/queues.md'));
  rmSync(join(cwd, 'papers/scaling.txt'));
  await node(['crawl.ts', 'papers']);
  const whole = readFileSync(join(cwd, 'extractive.mjs'), 'utf8');
  writeFileSync(join(cwd, 'extractive.mjs'), `console.error('asked'); setInterval(() => {}, 1000);`);
  const worker = readFileSync(join(cwd, 'worker.yml'), 'utf8');
  writeFileSync(join(cwd, 'worker.yml'), worker.replace('heartbeat_interval: 5', 'heartbeat_interval: 1'));
  const child = spawn(process.execPath, [bin, 'run', 'worker.yml', '--input', '{"worker_id": "one"}'], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  for await (const data of child.stderr) if (/agent analyst/.test(String(data))) break;
  process.kill(-(child.pid as number), 'SIGKILL');
  await once(child, 'close');
  assert.equal(rows()[0]?.status, 'processing');
  assert.equal((await machine(['worker.yml'], { worker_id: 'two' }))['status'], 'no_work_available');
  const reap = (): Promise<Record<string, unknown>> => machine(REAP, { pool_id: 'papers', stale_threshold_seconds: 1 });
  await until(reap, ({ reaped_count }) => reaped_count === 1);
  assert.deepEqual([rows()[0]?.status, rows()[0]?.error], ['pending', 'its worker was lost']);
  writeFileSync(join(cwd, 'extractive.mjs'), whole);
  await machine(['worker.yml'], { worker_id: 'three' });
  assert.deepEqual([rows()[0]?.status, rows()[0]?.attempts, rows()[0]?.error], ['done', 2, null]);
});

test('a paper that cannot be analysed is tried three times and keeps its error, and the others go on', async (t) => {
  const { cwd, node, machine, rows } = await rig(t);
  rmSync(join(cwd, 'papers'), { recursive: true });
  mkdirSync(join(cwd, 'papers'));
  writeFileSync(join(cwd, 'papers/broken.md'), '# Broken\n\nno sentence here\n');
  await node(['crawl.ts', 'papers']);
  // It would wait for two and for eight seconds before it asks again.
  const analysis = readFileSync(join(cwd, 'analysis.yml'), 'utf8');
  writeFileSync(join(cwd, 'analysis.yml'), analysis.replace(/^ *execution:.*$/m, ''));
  for (const status of ['pending', 'pending', 'failed']) {
    const { error } = await machine(['worker.yml'], { worker_id: 'one' });
    assert.match(String(error), /there is no whole sentence in it/);
    assert.equal(rows()[0]?.status, status);
    assert.match(String(rows()[0]?.error), /there is no whole sentence in it/);
  }
  assert.deepEqual([rows()[0]?.attempts, rows()[0]?.summary_path], [3, null]);
  assert.equal((await machine(['worker.yml'], { worker_id: 'one' }))['status'], 'no_work_available');
});

test('a model that invents a quote is told so, and what it mends is kept', async (t) => {
  const quote = 'The record and the effect must share one transaction';
  const answer = (quotes: readonly string[]) =>
    completion(
      JSON.stringify({ summary: 'Queues lose messages or repeat them.'.repeat(2), key_points: ['both'], quotes }),
    );
  const server = await openAiServer(t, answer(['Queues never fail.']), answer([quote]));
  const { cwd, node, machine, rows } = await rig(t, { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: 'sk-test' });
  rmSync(join(cwd, 'papers/leases.md'));
  rmSync(join(cwd, 'papers/scaling.txt'));
  await node(['crawl.ts', 'papers']);
  const profiles = readFileSync(join(cwd, 'profiles.yml'), 'utf8');
  writeFileSync(join(cwd, 'profiles.yml'), profiles.replace('# override', 'override'));
  await machine(['worker.yml'], { worker_id: 'one' });
  const [row] = rows();
  assert.deepEqual([row?.status, row?.attempts], ['done', 1]);
  assert.deepEqual(JSON.parse(readFileSync(String(row?.summary_path), 'utf8')).quotes, [quote]);
  assert.match(
    JSON.stringify(server.asked[1]?.body.messages),
    /Your last answer was wrong: the paper does not say .{1,4}Queues never fail/,
  );
});

test('a table that was there before keeps its rows, and a late result of a lost claim changes nothing', async (t) => {
  const file = join(temporaryFolder(t), 'papers.sqlite');
  const old = new DatabaseSync(file);
  old.exec(`CREATE TABLE paper_queue (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending', summary_path TEXT, error TEXT, added_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
    INSERT INTO paper_queue (path, title, status) VALUES ('/old', 'Old', 'done'), ('/new', 'New', 'pending')`);
  old.close();
  const [late, next] = [new PaperQueue(file), new PaperQueue(file)];
  t.after(() => Promise.all([late.close(), next.close()]));
  assert.equal(await late.size(), 1);
  const first = await late.claim('one');
  assert.equal(await next.claim('two'), null, 'one claim at a time');
  assert.equal(await next.releaseByWorker('one'), 1);
  const second = await next.claim('two');
  assert.deepEqual([first?.id, second?.id, second?.attempts], ['2', '2', 2]);
  await assert.rejects(late.complete(first as never, { summary_path: '/late' }), /belongs to another worker/);
  await assert.rejects(late.fail(first as never, 'late'), /belongs to another worker/);
  await next.complete(second as never, { summary_path: '/right' });
  const rows = new DatabaseSync(file, { readOnly: true }).prepare('SELECT status, summary_path FROM paper_queue').all();
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    [
      ['done', null],
      ['done', '/right'],
    ],
  );
});
