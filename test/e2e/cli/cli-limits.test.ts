import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../support/leasehold.ts';
import { place, workAt } from './cli-calls.ts';

test('a limit is made, changed, listed, shown, paused, resumed and removed, and its history tells who did it', async (t) => {
  const { call } = place(t);
  const made = await call([
    'limits',
    'set',
    'openai',
    '--concurrent',
    '2',
    '--per-key',
    '1',
    '--rate',
    '600/1m',
    '--by',
    'ada',
  ]);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(made.lines, [
    'Made openai: at most 2 at once, 1 at once per key, 600 starts in 1m (burst 60); more tasks wait.',
  ]);
  const changed = await call(['limits', 'set', 'openai', '--concurrent', '4', '--rate', 'none', '--by', 'bob']);
  assert.deepEqual(changed.lines, [
    'Changed openai.',
    '  was  at most 2 at once, 1 at once per key, 600 starts in 1m (burst 60); more tasks wait',
    '  is   at most 4 at once, 1 at once per key; more tasks wait',
  ]);
  assert.match(
    (await call(['limits', 'set', 'openai', '--concurrent', '4'])).stdout,
    /so already.*Nothing was changed/,
  );

  assert.equal((await call(['push', 'echo', '--limit', 'openai:alice', '--count', '3'])).code, 0);
  const [row = ''] = (await call(['limits', 'list'])).lines;
  assert.deepEqual(row.split('\t').toSpliced(9, 1), ['openai', '4', '1', '–', '–', 'queue', '–', '0', '3', 'bob']);
  const [listed] = (await call(['limits', 'list', '--json'])).objects();
  assert.deepEqual([listed?.name, listed?.concurrent, listed?.waiting], ['openai', 4, 3]);

  assert.match(
    (await call(['limits', 'pause', 'openai', '--key', 'alice', '--for', '5m'])).stdout,
    /^Paused openai for alice until /,
  );
  const [shown] = (await call(['limits', 'show', 'openai', '--json'])).objects();
  assert.ok(shown);
  const [key] = shown.keys as [{ key: string; used: number; cap: number; pausedUntil: number }];
  assert.deepEqual([key.key, key.used, key.cap], ['alice', 0, 1]);
  assert.ok(key.pausedUntil > Date.now() + 200_000);
  assert.deepEqual(
    (shown.history as { by: string }[]).map(({ by }) => by),
    ['bob', 'ada'],
  );
  const page = await call(['limits', 'show', 'openai']);
  assert.match(
    page.stdout,
    /in use +0 of 4, 3 tasks wait[^]*alice +0 of 1 +paused until[^]*ada +2 at once, 1 per key, rate 600\/1m/,
  );
  assert.deepEqual((await call(['limits', 'resume', 'openai', '--key', 'alice'])).lines, [
    'Resumed openai for alice: 3 tasks wait for openai.',
  ]);

  assert.match(
    (await call(['limits', 'remove', 'openai'])).stdout,
    /^Removed openai; it was: at most 4 .* 3 ready tasks wait for it no longer\.\n$/,
  );
  assert.deepEqual((await call(['limits', 'list'])).lines, []);
});

test('what finds no room in a limit that refuses is refused, and what was taken is told', async (t) => {
  const { call } = place(t);
  await call(['limits', 'set', 'db', '--concurrent', '1', '--strategy', 'refuse']);
  const refused = await call(['push', 'echo', '--limit', 'db', '--count', '3']);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /^1 task was pushed before this error and stays\.\nThe limit db takes no more tasks now/,
  );
});

test('a task that waits says why, and says it to programs in the shape of the API', async (t) => {
  const { call, url } = place(t);
  await call(['limits', 'set', 'openai', '--concurrent', '1']);
  const { engine, worker } = await workAt(t, url);
  const [held = ''] = (await call(['push', 'mail', '--limit', 'openai'])).lines;
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  const [id = ''] = (await call(['push', 'mail', '--limit', 'openai', '--never', 'tester', '--fair', 'alice'])).lines;
  const page = await call(['tasks', 'explain', id]);
  assert.equal(page.code, 0, page.stderr);
  assert.match(
    page.stdout,
    /\n\nThe limit openai is full: 1 of 1 are in use\.\n\n {2}limits\n {4}✗ {2}openai {2}1 of 1 in use; held by task_/,
  );
  assert.match(page.stdout, /\n {2}workers\n {4}✗ {2}tester {2}is excluded by the task\n$/);
  const [why] = (await call(['tasks', 'explain', id, '--json'])).objects();
  assert.deepEqual(
    [why?.taskId, why?.state, why?.runnable, why?.limits],
    [id, 'ready', false, [{ name: 'openai', used: 1, cap: 1, holders: [held], open: false }]],
  );
  const shown = await call(['tasks', 'show', id]);
  assert.match(shown.stdout, /state +○ ready\n +why +The limit openai is full/);
  assert.match(shown.stdout, /place +never tester\n +limits +openai\n +fair +alice\n/);
  assert.match(shown.stdout, new RegExp(`\nNext: leasehold tasks explain ${id}\n`));
  assert.doesNotMatch((await call(['tasks', 'show', held])).stdout, / why /, 'it runs');
  const [task] = (await call(['tasks', 'show', id, '--json'])).objects();
  assert.deepEqual([task?.summary, task?.runnable], [why?.summary, false]);
});

test('workers are disabled, enabled, tagged and ranked by name, also before they come', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'mail']);
  const nobody = ' No worker of this name is here; it holds for the next one that comes.';
  assert.deepEqual((await call(['workers', 'disable', 'tester', 'gpu-1'])).lines, [
    `tester is disabled.${nobody}`,
    `gpu-1 is disabled.${nobody}`,
  ]);
  assert.deepEqual((await call(['workers', 'tag', 'tester', '--add', 'gpu=nvidia'])).lines, [
    `tester is given gpu=nvidia.${nobody}`,
  ]);
  assert.deepEqual((await call(['workers', 'priority', 'tester', '-5'])).lines, [`tester has priority -5.${nobody}`]);
  const { engine, worker } = await workAt(t, url);
  const [row = ''] = (await call(['workers', 'list'])).lines;
  const cells = row.split('\t');
  assert.deepEqual(
    [cells[0], cells[1], cells.length, ...cells.slice(8, 10)],
    ['tester', 'starting,disabled', 14, '-5', 'gpu=nvidia'],
  );
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  assert.deepEqual((await call(['workers', 'enable', 'tester'])).lines, ['tester is enabled.']);
  assert.deepEqual((await call(['workers', 'tag', 'tester', '--add', 'eu', '--remove', 'gpu=nvidia'])).lines, [
    'tester carries eu.',
  ]);
  const [set] = (await call(['workers', 'priority', 'tester', '7', '--json'])).objects();
  assert.deepEqual(set, {
    name: 'tester',
    enabled: true,
    priority: 7,
    tags: ['eu'],
    workers: 1,
    running: 0,
  });
});

test('a drain ends when the last task of the worker has ended', async (t) => {
  const { call, url, cwd } = place(t);
  await call(['push', 'mail', '--count', '2']);
  const { engine, worker } = await workAt(t, url);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  const draining = run(t, ['workers', 'drain', 'tester'], { cwd });
  await draining.says(/tester takes nothing more; 1 task of it runs on\.\n/);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  await engine.complete(grant);
  assert.equal((await draining.ended).code, 0);
  assert.match(draining.stdout, /tester is drained: it has no task, and takes none\.\n$/);

  await call(['workers', 'enable', 'tester']);
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  const again = run(t, ['workers', 'drain', 'tester', '--json'], { cwd });
  await again.says(/"running":1.*"drained":false/);
  again.child.kill('SIGINT');
  assert.equal((await again.ended).code, 130, 'the waiting ends, and the worker stays disabled');
  assert.equal((await call(['workers', 'list', '--json'])).objects()[0]?.enabled, false);
});

test('tags show what the fleet has and what it lacks', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'papers', '--require', 'gpu', '--require', 'memory_gb>=16']);
  await workAt(t, url);
  await call(['workers', 'tag', 'tester', '--add', 'memory_gb=32']);
  assert.deepEqual((await call(['tags'])).lines, [
    'memory_gb=32\t1\tpapers\ttester\ttester\t–',
    'gpu\t0\tpapers\t–\t–\t–',
  ]);
  const [, missing] = (await call(['tags', '--json'])).objects();
  const nobody = { workers: 0, names: [], givenTo: [], usedBy: [] };
  assert.deepEqual(missing, { tag: 'gpu', ...nobody, wantedBy: ['papers'], made: false, missing: true });
});

test('wrong usage of limits, workers and placement has status 2 and says what would be right, 3 what is not there', async (t) => {
  const { call } = place(t);
  await call(['limits', 'set', 'api', '--concurrent', '1']);
  for (const [args, code, says] of [
    [['limits', 'set', 'api'], 2, /does not say what the limit should be\.\nGive at least one of --concurrent/],
    [['limits', 'set', 'api', '--rate', '100'], 2, /"100" is not a number and a time, such as 100\/1m/],
    [['limits', 'set', 'api', '--rate-burst', '5'], 2, /give --rate too/],
    [['limits', 'set', 'api', '--cost', 'none', '--cost-per-key'], 2, /--cost none leaves no cost/],
    [['limits', 'set', 'api', '--strategy', 'wait'], 2, /is not one of queue, refuse, cancel_oldest, replace_pending/],
    [['limits', 'set', 'Not A Name', '--concurrent', '1'], 2, /limit name is not valid/],
    [['limits', 'pause', 'api'], 2, /--for is not valid: it must be given, such as --for 5m/],
    [['limits', 'pause', 'api', '--for', '5m', '--key', 'alice'], 3, /no key of the limit api: alice/],
    [['limits', 'show', 'nope'], 3, /There is no limit nope\.\n"leasehold limits list"/],
    [['limits', 'remove', 'nope'], 3, /There is no limit nope/],
    [['push', 'q', '--limit', 'nope'], 3, /"leasehold limits set nope" makes it/],
    [['push', 'q', '--limit', 'api:'], 2, /"api:" is not NAME, NAME:KEY/],
    [['push', 'q', '--cost', '5'], 2, /none is given with --limit/],
    [['push', 'q', '--require', 'gpu>x'], 2, /compares numbers/],
    [['workers', 'tag', 'box'], 2, /does not say which tags\.\nGive --add TAG or --remove TAG/],
    [['workers', 'tag', 'box', '--add', 'a', '--remove', 'a'], 2, /"a" is to be added as well/],
    [['workers', 'disable', 'box', 'Not A Name'], 2, /worker name is not valid/],
    [['workers', 'priority', 'box', 'high'], 2, /"high" is not a whole number/],
    [['tasks', 'explain', '99'], 3, /There is no task 99/],
  ] as const) {
    const answer = await call(args);
    assert.equal(answer.code, code, `${args.join(' ')}: ${answer.stderr}`);
    assert.match(answer.stderr, says);
    assert.equal(answer.stdout, '');
  }
  assert.deepEqual((await call(['workers', 'list', '--json'])).lines, []);
});
