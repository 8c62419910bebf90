import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import {
  errorOf,
  eventually,
  fileOf,
  isAlive,
  moduleOf,
  open,
  prepare,
  processesOf,
  resultOf,
} from './process-trial.test.ts';

const BASICS = `
  export const echo = task('echo', { run: (input, { signal, log, progress, ...ctx }) => ({ input, ctx, aborted: signal.aborted }) });
  export const pid = task('pid', { run: () => process.pid });
  export const gate = task('gate', { run: (file, ctx) => new Promise((resolve) => {
    ctx.log('at the gate');
    const look = setInterval(() => { if (fs.existsSync(file)) { clearInterval(look); resolve(process.pid); } }, 5);
  }) });
`;

test('a handler gets its input and its context, and its result comes back', async (t) => {
  const { run } = await open(t, { source: BASICS });
  const first = run('echo', { a: [1, 'ü'] }, { attempt: 4, tries: 2, maxTries: 5 });
  const ctx = { id: first.request.id, queue: 'q', attempt: 4, fence: 4, tries: 2, maxAttempts: 5 };
  assert.deepEqual(await resultOf(first), { input: { a: [1, 'ü'] }, ctx, aborted: false });
});

test('the handlers are known when the runner has started, and their processes are apart from the worker', async (t) => {
  const { runner, run } = await open(t, { source: BASICS });
  assert.deepEqual([...runner.handlers].sort(), ['echo', 'gate', 'pid']);
  assert.equal(runner.isolates, true);
  assert.notEqual(await resultOf(run('pid')), process.pid);
});

test('what handlers take is known when the runner has started, of those that can say it', async (t) => {
  const { runner } = await open(t, {
    source: `
      const said = (jsonSchema) => ({ '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }), jsonSchema } });
      export const one = task('one', { input: said({ input: () => ({ type: 'string' }) }), run: () => 1 });
      export const two = task('two', { input: said({ input: () => { throw new Error('no'); } }), run: () => 2 });
      export const three = task('three', { input: said(undefined), run: () => 3 });
      export const four = task('four', { run: () => 4 });`,
  });
  const schemas = ['one', 'two', 'three', 'four', 'toString'].map((name) => runner.schemaOf(name));
  assert.deepEqual(schemas, ['{"type":"string"}', undefined, undefined, undefined, undefined]);
});

test('every kind of outcome crosses between the processes', async (t) => {
  const { run } = await open(t, {
    source: `
      export default task('kinds', { run: (kind) => {
        if (kind === 'nothing') return;
        if (kind === 'done') return done({ n: 1 });
        if (kind === 'later') return retryAfter('2s', new RangeError('busy'));
        if (kind === 'never') return giveUp(new Error('no use'));
        if (kind === 'text') throw 'just a text';
        throw Object.assign(new TypeError('broken'), { code: 'E_BROKEN' });
      } });`,
  });
  assert.deepEqual(await run('kinds', 'nothing').ended, { kind: 'done' });
  assert.deepEqual(await run('kinds', 'done').ended, { kind: 'done', result: { n: 1 } });
  const later = await run('kinds', 'later').ended;
  assert.ok(later.kind === 'retryAfter');
  assert.equal(later.delayMs, 2000);
  assert.equal((later.reason as Error).message, 'busy');
  const never = await errorOf(run('kinds', 'never'));
  assert.deepEqual([never.kind, never.message], ['giveUp', 'no use']);
  assert.deepEqual(await run('kinds', 'text').ended, { kind: 'failed', error: 'just a text' });
  const { stack, ...error } = await errorOf(run('kinds', 'error'));
  assert.deepEqual(error, { kind: 'failed', name: 'TypeError', message: 'broken', code: 'E_BROKEN' });
  assert.match(stack ?? '', /module-\d+\.mjs/);
});

test('a result that JSON cannot hold gives the task up, and the child goes on', async (t) => {
  const { run } = await open(t, {
    source: `
      export const cycle = task('cycle', { run: () => { const a = {}; a.a = a; return a; } });
      export const big = task('big', { run: () => 5n });
      ${BASICS}`,
  });
  const before = await resultOf(run('pid'));
  for (const handler of ['cycle', 'big']) {
    const { kind, code } = await errorOf(run(handler));
    assert.deepEqual([kind, code], ['giveUp', 'INVALID_INPUT']);
  }
  assert.equal(await resultOf(run('pid')), before);
});

test('an input that the schema refuses gives the task up', async (t) => {
  const { run } = await open(t, {
    source: `
      const validate = (value) => value > 3 ? { value: value * 2 } : { issues: [{ message: 'too small' }] };
      export default task('checked', { input: { '~standard': { version: 1, vendor: 'test', validate } }, run: (input) => input });`,
  });
  assert.equal(await resultOf(run('checked', 4)), 8);
  const { kind, message } = await errorOf(run('checked', 3));
  assert.equal(kind, 'giveUp');
  assert.match(message, /too small/);
});

test('a handler that nobody has is not started', async (t) => {
  const { run } = await open(t, { source: BASICS });
  const { kind, message } = await errorOf(run('nobody'));
  assert.equal(kind, 'unstarted');
  assert.match(message, /nobody/);
});

test('one child runs one task after the other, warm', async (t) => {
  const { run } = await open(t, { source: `let count = 0; export default task('count', { run: () => ++count });` });
  for (let n = 1; n <= 20; n++) assert.equal(await resultOf(run('count')), n);
});

test('as many run at once as there are slots, and the next one waits for the first that ends', async (t) => {
  const { run } = await open(t, { source: BASICS, slots: 2 });
  const gates = [fileOf('gate'), fileOf('gate'), fileOf('gate')] as const;
  const [first, second, third] = gates.map((file) => run('gate', file));
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  await Promise.all([first.recorded.until('at the gate'), second.recorded.until('at the gate')]);
  writeFileSync(gates[0], '');
  const pid = await resultOf(first);
  await third.recorded.until('at the gate');
  writeFileSync(gates[1], '');
  writeFileSync(gates[2], '');
  assert.notEqual(await resultOf(second), pid);
  assert.equal(await resultOf(third), pid);
});

test('a task that must be alone gets a process that serves nobody before and after it', async (t) => {
  const { run } = await open(t, { source: BASICS });
  const used = new Set<unknown>();
  for (let n = 0; n < 3; n++) used.add(await resultOf(run('pid')));
  const alone = await resultOf(run('pid', null, { alone: true }));
  const alsoAlone = await resultOf(run('pid', null, { alone: true }));
  assert.equal(used.has(alone), false);
  assert.notEqual(alone, alsoAlone);
  for (let n = 0; n < 3; n++) {
    const pid = await resultOf(run('pid'));
    assert.ok(pid !== alone && pid !== alsoAlone);
  }
  await eventually(() => !isAlive(alone as number) && !isAlive(alsoAlone as number), 'both have ended');
});

test('a task that must be alone is not kept waiting by children that were all used', async (t) => {
  const { run } = await open(t, { source: BASICS, spares: 0 });
  const used = await resultOf(run('pid'));
  assert.notEqual(await resultOf(run('pid', null, { alone: true })), used);
});

test('a child makes room for a new one after its number of runs', async (t) => {
  const { run } = await open(t, { source: BASICS, maxRunsPerChild: 2 });
  const pids: unknown[] = [];
  for (let n = 0; n < 6; n++) pids.push(await resultOf(run('pid')));
  const runs = [...Map.groupBy(pids, (pid) => pid).values()].map((group) => group.length);
  assert.deepEqual(runs, [2, 2, 2]);
});

test('children that have been idle for long are ended, all but the next one and the spare', async (t) => {
  const { run, incarnation } = await open(t, { source: BASICS, slots: 4, idleMs: 300 });
  const gate = fileOf('gate');
  const runs = Array.from({ length: 4 }, () => run('gate', gate));
  await Promise.all(runs.map(({ recorded }) => recorded.until('at the gate')));
  assert.ok(processesOf(incarnation).length >= 4);
  writeFileSync(gate, '');
  await Promise.all(runs.map(resultOf));
  await eventually(() => processesOf(incarnation).length === 2, 'two children are left');
  assert.ok(Number(await resultOf(run('pid'))) > 0);
});

test('a child that dies while it is idle is replaced', async (t) => {
  const { run, incarnation } = await open(t, { source: BASICS });
  const pid = (await resultOf(run('pid'))) as number;
  process.kill(pid, 'SIGKILL');
  await eventually(() => processesOf(incarnation).filter((other) => other !== pid).length === 2, 'another has started');
  assert.notEqual(await resultOf(run('pid')), pid);
});

test('a module that does not load is refused with its name and the cause', async (t) => {
  const module = moduleOf(`throw new TypeError('no such luck');`);
  const { runner, incarnation } = prepare(t, { modules: [moduleOf(BASICS), module] });
  await assert.rejects(runner.start(), (error) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.ok(error.message.includes(module));
    assert.match(error.message, /TypeError: no such luck/);
    return true;
  });
  assert.deepEqual(processesOf(incarnation), []);
});

test('a module that ends the process, or never loads, is refused by name', async (t) => {
  const exits = moduleOf(`process.exit(7);`);
  await assert.rejects(prepare(t, { modules: [exits] }).runner.start(), (error: Error) => {
    assert.match(error.message, /exit code 7/);
    return error.message.includes(exits);
  });
  const hangs = moduleOf(`await new Promise(() => setInterval(() => {}, 1000));`);
  await assert.rejects(prepare(t, { modules: [hangs], startMs: 500 }).runner.start(), (error: Error) => {
    assert.match(error.message, /did not load within 500 ms/);
    return error.message.includes(hangs);
  });
});

test('two tasks of one name are refused', async (t) => {
  const [one, two] = [moduleOf(BASICS), moduleOf(`export default task('pid', { run: () => 0 });`)];
  await assert.rejects(prepare(t, { modules: [one, two] }).runner.start(), (error: Error) => {
    assert.match(error.message, /second task named pid/);
    return isEngineError(error, 'INVALID_INPUT') && error.message.includes(two);
  });
});

test('children that die before they are ready are not started for ever, and who waits is told why', async (t) => {
  const [broken, count] = [fileOf('broken'), fileOf('count')];
  const source = `
    fs.appendFileSync(${JSON.stringify(count)}, '.');
    if (fs.existsSync(${JSON.stringify(broken)})) process.exit(9);
    ${BASICS} export const exit = task('exit', { run: () => process.exit(1) });`;
  const { run } = await open(t, { source, spares: 0, backoffMs: 60_000 });
  await eventually(() => readFileSync(count, 'utf8') === '.', 'the only child has started');
  writeFileSync(broken, '');
  assert.equal((await errorOf(run('exit'))).kind, 'failed');
  const { kind, message } = await errorOf(run('pid'));
  assert.equal(kind, 'unstarted');
  assert.match(message, /no child process starts.*exit code 9/);
  assert.equal((await errorOf(run('pid'))).kind, 'unstarted');
  assert.equal(readFileSync(count, 'utf8'), '....');
});

test('after the rest that follows a crash loop children are started again', async (t) => {
  const broken = fileOf('broken');
  const source = `
    if (fs.existsSync(${JSON.stringify(broken)})) process.exit(9);
    ${BASICS} export const exit = task('exit', { run: () => { fs.writeFileSync(${JSON.stringify(broken)}, ''); process.exit(1); } });`;
  const { run } = await open(t, { source, spares: 0, backoffMs: 50 });
  await errorOf(run('exit'));
  assert.equal((await errorOf(run('pid'))).kind, 'unstarted');
  rmSync(broken);
  await eventually(async () => (await run('pid').ended).kind === 'done', 'a child takes a run');
});

test('what runs when the runner is closed is ended hard, what waits is not started, and nothing is left', async (t) => {
  const { runner, run, incarnation } = await open(t, {
    source: `export default task('busy', { run: (_, ctx) => { spawn('sleep', ['1000']); console.log('on'); setTimeout(() => { for (;;); }, 1); return new Promise(() => {}); } });`,
  });
  const running = run('busy');
  await running.recorded.until('on');
  const waiting = run('busy');
  await runner.close();
  const error = await errorOf(running);
  assert.deepEqual([error.kind, error.code], ['failed', 'KILLED']);
  assert.equal((await errorOf(waiting)).kind, 'unstarted');
  assert.deepEqual(processesOf(incarnation), []);
  assert.equal((await errorOf(run('busy'))).kind, 'unstarted');
});

test('closing in the midst of short runs ends each of them one way or the other', async (t) => {
  const { runner, run } = await open(t, { source: BASICS, slots: 2 });
  const ends: string[] = [];
  const runs = Array.from({ length: 200 }, async () => {
    ends.push((await run('pid').ended).kind);
    if (ends.length === 50) await runner.close();
  });
  await Promise.all(runs);
  assert.ok(ends.slice(0, 50).every((kind) => kind === 'done'));
  assert.ok(ends.includes('unstarted'));
});

test('a runner that was closed while it started does not start', async (t) => {
  const { runner, incarnation } = prepare(t, { source: BASICS });
  const started = assert.rejects(runner.start(), /was closed/);
  await runner.close();
  await started;
  assert.deepEqual(processesOf(incarnation), []);
});

test('a run that is stopped while it waits is not started', async (t) => {
  const { run } = await open(t, { source: BASICS });
  const gate = fileOf('gate');
  const first = run('gate', gate);
  const second = run('pid');
  second.stop('cancelled', { abortMs: 1000, termMs: 1000 });
  assert.equal((await errorOf(second)).kind, 'unstarted');
  writeFileSync(gate, '');
  await resultOf(first);
});

test('the modules may be named by task, and then only those are served', async (t) => {
  const module = moduleOf(BASICS);
  const { runner, run } = await open(t, { modules: { pid: module } });
  assert.deepEqual(runner.handlers, ['pid']);
  assert.equal((await errorOf(run('echo'))).kind, 'unstarted');
  await assert.rejects(prepare(t, { modules: { other: module } }).runner.start(), /no task named other/);
});
