import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errorOf, eventually, fileOf, isAlive, open, processesOf, type Run, resultOf } from './process-trial.test.ts';

const LONG = { abortMs: 60_000, termMs: 60_000 };
const QUICK = { abortMs: 50, termMs: 50 };
const HARD = { abortMs: 0, termMs: 0 };

const HELPERS = `
  export const pid = task('pid', { run: () => process.pid });
  const forever = () => new Promise(() => setInterval(() => {}, 1000));
  /** Starts a command and says its pid once it has printed something. */
  const start = (command, options = {}) => new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'], ...options });
    child.stdout.once('data', (text) => { console.log('pids ' + process.pid + ' ' + child.pid + ' ' + String(text).trim()); resolve(child); });
  });
`;

/** The pids that a handler said by `start`. */
async function pidsOf(run: Run): Promise<readonly number[]> {
  const pids = (await run.recorded.until('pids ')).split(/\s+/).slice(1).map(Number);
  assert.ok(pids.length > 0 && pids.every(isAlive), 'they run before the stop');
  return pids;
}

test('a handler that heeds its signal ends by itself, hears why, and its process is used again', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('heeds', { run: (_, ctx) => new Promise((resolve) => {
      console.log('on');
      ctx.signal.addEventListener('abort', () => resolve({ pid: process.pid, name: ctx.signal.reason.name, why: ctx.signal.reason.why, message: ctx.signal.reason.message }));
    }) });`,
  });
  const heeds = run('heeds');
  await heeds.recorded.until('on');
  heeds.stop('timeout', LONG);
  const { pid, ...reason } = (await resultOf(heeds)) as { pid: number };
  assert.deepEqual(reason, { name: 'AbortError', why: 'timeout', message: 'the run timeout of the task has passed' });
  assert.deepEqual(heeds.recorded.of('system'), ['stop (timeout): abort signal']);
  assert.equal(await resultOf(run('pid')), pid);
});

test('what a handler throws when it is told to stop is how its run ended', async (t) => {
  const { run } = await open(t, {
    source: `export default task('throws', { run: async (_, ctx) => {
      console.log('on');
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      ctx.signal.throwIfAborted();
    } });`,
  });
  const throws = run('throws');
  await throws.recorded.until('on');
  throws.stop('cancelled', LONG);
  const { kind, name, message } = await errorOf(throws);
  assert.deepEqual([kind, name, message], ['failed', 'AbortError', 'the task was cancelled']);
});

test('a handler that ignores its signal is ended by SIGTERM, and another process takes its place', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('deaf', { run: () => { console.log('on'); return forever(); } });`,
  });
  const deaf = run('deaf');
  await deaf.recorded.until('on');
  deaf.stop('cancelled', { abortMs: 50, termMs: 60_000 });
  const { kind, name, code, message } = await errorOf(deaf);
  assert.deepEqual([kind, name, code], ['failed', 'Killed', 'KILLED']);
  assert.match(message, /was ended by SIGTERM after \d+ ms$/);
  const [abort, term, ...more] = deaf.recorded.of('system');
  assert.equal(abort, 'stop (cancelled): abort signal');
  const after = Number(/^stop \(cancelled\): SIGTERM after (\d+) ms$/.exec(term ?? '')?.[1]);
  assert.ok(after >= 50, `SIGTERM after ${after} ms`);
  assert.deepEqual(more, []);
  assert.ok(Number(await resultOf(run('pid'))) > 0);
});

test('what ignores SIGTERM as well is ended by SIGKILL, with its whole group', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('stubborn', { run: async () => {
      process.on('SIGTERM', () => console.log('not me'));
      await start('trap "" TERM; sleep 1000 & echo $!; wait');
      return forever();
    } });`,
  });
  const stubborn = run('stubborn');
  const pids = await pidsOf(stubborn);
  stubborn.stop('timeout', QUICK);
  const { name, message } = await errorOf(stubborn);
  assert.deepEqual(pids.filter(isAlive), []);
  assert.equal(name, 'Killed');
  assert.match(message, /was ended by SIGKILL after \d+ ms$/);
  assert.match(stubborn.recorded.of('system')[2] ?? '', /^stop \(timeout\): SIGKILL after \d+ ms$/);
  assert.deepEqual(stubborn.recorded.of('stdout').slice(-1), ['not me']);
});

test('a handler that blocks its loop is ended as well', async (t) => {
  const { run } = await open(t, {
    source: `export default task('blocks', { run: () => { process.on('SIGTERM', () => {}); fs.writeSync(1, 'on\\n'); for (;;); } });`,
  });
  const blocks = run('blocks');
  await blocks.recorded.until('on');
  blocks.stop('lost', QUICK);
  assert.match((await errorOf(blocks)).message, /SIGKILL/);
});

test('a handler that ends itself on SIGTERM gives its own end, and its process goes all the same', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('tidy', { run: () => new Promise((resolve) => {
      process.once('SIGTERM', () => resolve(process.pid));
      console.log('on');
    }) });`,
  });
  const tidy = run('tidy');
  await tidy.recorded.until('on');
  tidy.stop('shutdown', { abortMs: 20, termMs: 60_000 });
  const pid = (await resultOf(tidy)) as number;
  assert.equal(isAlive(pid), false);
  assert.notEqual(await resultOf(run('pid')), pid);
});

test('processes have their time after SIGTERM even when the child that started them is gone at once', async (t) => {
  const done = fileOf('cleaned');
  const { run } = await open(t, {
    source: `${HELPERS} export default task('parent', { run: async (file) => {
      await start('trap "sleep 0.2; echo clean > ' + file + '; exit" TERM; echo $$; while :; do sleep 0.01; done');
      return forever();
    } });`,
  });
  const parent = run('parent', done);
  await pidsOf(parent);
  parent.stop('shutdown', { abortMs: 0, termMs: 60_000 });
  assert.match((await errorOf(parent)).message, /SIGTERM/);
  assert.equal(readFileSync(done, 'utf8'), 'clean\n');
});

test('a second stop may only make it steeper', async (t) => {
  const { run } = await open(t, {
    source: `export default task('stubborn', { run: () => { process.on('SIGTERM', () => {}); console.log('on'); return new Promise(() => {}); } });`,
  });
  const stubborn = run('stubborn');
  await stubborn.recorded.until('on');
  stubborn.stop('shutdown', LONG);
  stubborn.stop('shutdown', HARD);
  assert.match((await errorOf(stubborn)).message, /SIGKILL/);
});

const LEAVERS = {
  'called setsid': `await start('setsid sh -c "trap \\\\"\\\\" TERM; echo \\\\$\\\\$; sleep 1000 & wait" & wait');`,
  'called setsid and lost their parent': `await start('(setsid sh -c "echo \\\\$\\\\$; sleep 1000; :" &) ; sleep 1000; :');`,
  'cleared their environment': `await start('echo $$; sleep 1000; :', { env: {} });`,
  'cleared their environment and called setsid': `await start('echo $$; sleep 1000; :', { env: {}, detached: true });`,
  'made a group of their own': `reportGroup((await start('echo $$; trap "" TERM; sleep 1000; :', { detached: true })).pid);`,
};

for (const [how, leave] of Object.entries(LEAVERS)) {
  const source = `${HELPERS} export default task('leave', { run: async (how) => { ${leave} if (how === 'stay') return forever(); if (how === 'exit') process.exit(7); return process.pid; } });`;

  test(`processes that ${how} are ended with a task that is killed`, async (t) => {
    const { run } = await open(t, { source });
    const leave = run('leave', 'stay');
    const pids = await pidsOf(leave);
    leave.stop('timeout', HARD);
    await leave.ended;
    assert.deepEqual(pids.filter(isAlive), []);
    if (how.includes('setsid'))
      assert.match(
        leave.recorded.of('system').at(-1) ?? '',
        /^stop \(timeout\): \d+ process(es)? that had left the group (was|were) ended$/,
      );
  });

  test(`processes that ${how} are ended with a task that ends well, and its child is used again`, async (t) => {
    const { run } = await open(t, { source });
    const leave = run('leave', 'end');
    const child = await resultOf(leave);
    const pids = (await leave.recorded.until('pids ')).split(/\s+/).slice(1).map(Number);
    assert.ok(pids.length >= 3 && pids.includes(child as number));
    assert.deepEqual(pids.filter(isAlive), [child]);
    assert.match(leave.recorded.of('system').join(), /\d+ process(es)? that the task had left behind (was|were) ended/);
    assert.equal(await resultOf(run('pid')), child);
  });

  // Nothing tells whose they were when both the mark and the parent are gone.
  const traceless = how === 'cleared their environment and called setsid';
  test(`processes that ${how} are ended with a task whose process dies`, { skip: traceless }, async (t) => {
    const { run } = await open(t, { source });
    const leave = run('leave', 'exit');
    const { kind, name, code, message } = await errorOf(leave);
    assert.deepEqual([kind, name, code], ['failed', 'ChildDied', 'CHILD_DIED']);
    assert.equal(message, 'the process of the task ended with exit code 7');
    const pids = (await leave.recorded.until('pids ')).split(/\s+/).slice(1).map(Number);
    assert.ok(pids.length >= 3);
    assert.deepEqual(pids.filter(isAlive), []);
  });
}

test('the processes of other tasks are left alone', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('long', { run: async () => { await start('setsid sh -c "echo \\\\$\\\\$; sleep 1000; :" & wait'); return forever(); } });`,
    slots: 2,
  });
  const [one, two] = [run('long'), run('long')];
  const [first, second] = [await pidsOf(one), await pidsOf(two)];
  one.stop('cancelled', HARD);
  await one.ended;
  assert.deepEqual(first.filter(isAlive), []);
  assert.deepEqual(second.filter(isAlive), second);
});

test('what a module started for itself when it was loaded lives as long as its child', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} const helper = spawn('sleep', ['1000'], { stdio: 'ignore' });
    export const helps = task('helps', { run: () => { spawnSync('true'); return helper.pid; } });
    export const exits = task('exits', { run: () => process.exit(1) });`,
    spares: 0,
  });
  const helper = (await resultOf(run('helps'))) as number;
  assert.equal(isAlive(helper), true);
  assert.equal(await resultOf(run('helps')), helper);
  await errorOf(run('exits'));
  assert.equal(isAlive(helper), false);
});

test('a process that is ended by a signal says which', async (t) => {
  const { run } = await open(t, {
    source: `export default task('crash', { run: (signal) => { process.kill(process.pid, signal); return new Promise(() => setInterval(() => {}, 1000)); } });`,
  });
  for (const signal of ['SIGSEGV', 'SIGKILL']) {
    const { kind, code, message } = await errorOf(run('crash', signal));
    assert.deepEqual([kind, code], ['failed', 'CHILD_DIED']);
    assert.ok(message.startsWith(`the process of the task was ended by ${signal}`), message);
  }
});

test('a process that runs out of memory fails its own task and no other', async (t) => {
  const { run } = await open(t, {
    source: `${HELPERS} export default task('greedy', { run: () => { const all = []; for (;;) all.push(new Array(1e5).fill(Math.random())); } });
    export const calm = task('calm', { run: (_, ctx) => new Promise((resolve) => { console.log('on'); ctx.signal.addEventListener('abort', () => resolve('calm')); }) });`,
    slots: 2,
    execArgv: ['--max-old-space-size=64'],
  });
  const calm = run('calm');
  await calm.recorded.until('on');
  const { kind, code } = await errorOf(run('greedy'));
  assert.deepEqual([kind, code], ['failed', 'CHILD_DIED']);
  calm.stop('cancelled', LONG);
  assert.equal(await resultOf(calm), 'calm');
});

test('a child that dies before it took the task leaves the task unstarted', async (t) => {
  const { run } = await open(t, { source: HELPERS });
  const pid = (await resultOf(run('pid'))) as number;
  // Stopped, it cannot take the job that is sent to it next.
  process.kill(pid, 'SIGSTOP');
  const next = run('pid');
  process.kill(pid, 'SIGKILL');
  const { kind, message } = await errorOf(next);
  assert.equal(kind, 'unstarted');
  assert.match(message, /before it took the task/);
});

test('a killed child is replaced by one that has started long before', async (t) => {
  const loaded = fileOf('loaded');
  const { run, incarnation } = await open(t, {
    source: `${HELPERS} fs.appendFileSync(${JSON.stringify(loaded)}, '.'); export default task('deaf', { run: () => { console.log('on'); return forever(); } });`,
  });
  const deaf = run('deaf');
  await deaf.recorded.until('on');
  await eventually(() => readFileSync(loaded, 'utf8') === '..', 'the spare has started');
  const present = processesOf(incarnation);
  deaf.stop('timeout', HARD);
  await deaf.ended;
  assert.ok(present.includes((await resultOf(run('pid'))) as number));
});
