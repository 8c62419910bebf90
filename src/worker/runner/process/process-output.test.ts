import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CUT, MAX_LINE } from '../child/line-splitter.ts';
import { BURST, BYTES_PER_MS } from './output-throttle.ts';
import { errorOf, open, resultOf } from './process-trial.test.ts';

test('what is printed, what is logged and the progress come in order, before the end', async (t) => {
  const { run } = await open(t, {
    source: `export default task('talk', { run: async (_, ctx) => {
      console.log('one'); ctx.log('two'); console.error('three'); process.stdout.write('fo'); process.stdout.write('ur\\n');
      ctx.progress(0.5);
      await new Promise((resolve) => setImmediate(resolve));
      ctx.log('five'); process.stderr.write('no newline'); ctx.progress({ done: 4, of: 10 });
    } });`,
  });
  const { recorded, ended } = run('talk');
  await ended;
  assert.deepEqual(
    recorded.lines.map(({ stream, text }) => `${stream} ${text}`),
    ['stdout one', 'log two', 'stderr three', 'stdout four', 'log five', 'stderr no newline'],
  );
  assert.deepEqual(recorded.values, [0.5, { done: 4, of: 10 }]);
});

test('what is written to the descriptors themselves belongs to the task that runs', async (t) => {
  const { run } = await open(t, {
    source: `export default task('raw', { run: (n) => {
      fs.writeSync(1, 'raw ' + n + '\\npart'); fs.writeSync(2, 'err ' + n + '\\n');
      if (n % 2) spawnSync('sh', ['-c', 'echo grandchild ' + n], { stdio: 'inherit' });
    } });`,
  });
  for (let n = 0; n < 20; n++) {
    const { recorded, ended } = run('raw', n);
    await ended;
    assert.deepEqual(recorded.of('stdout'), n % 2 ? [`raw ${n}`, `partgrandchild ${n}`] : [`raw ${n}`, 'part']);
    assert.deepEqual(recorded.of('stderr'), [`err ${n}`]);
  }
});

test('bytes that are no UTF-8 are replaced, and long lines are cut, in what is printed and in what is logged', async (t) => {
  const { run } = await open(t, {
    source: `export default task('odd', { run: (_, ctx) => {
      process.stdout.write(Buffer.from([0x61, 0xff, 0x0a])); console.log('x'.repeat(1e6)); console.log('after');
      fs.writeSync(2, Buffer.from([0xfe, 0x62, 0x0a])); ctx.log('y'.repeat(1e6));
    } });`,
  });
  const { recorded, ended } = run('odd');
  await ended;
  assert.deepEqual(recorded.of('stdout'), ['a\uFFFD', 'x'.repeat(MAX_LINE) + CUT, 'after']);
  assert.deepEqual(recorded.of('stderr'), ['\uFFFDb']);
  assert.deepEqual(recorded.of('log'), ['y'.repeat(MAX_LINE) + CUT]);
});

test('what a process prints just before it ends itself is not lost', async (t) => {
  const { run } = await open(t, {
    source: `export default task('last', { run: (_, ctx) => { console.log('last words'); process.stderr.write('and a part'); process.exit(3); } });`,
  });
  const last = run('last');
  assert.equal((await errorOf(last)).kind, 'failed');
  assert.deepEqual(last.recorded.of('stdout'), ['last words']);
  assert.deepEqual(last.recorded.of('stderr'), ['and a part']);
});

test('the stack of an exception that nobody caught is in the log, and its message in the error', async (t) => {
  const { run } = await open(t, {
    source: `export default task('uncaught', { run: () => { setImmediate(() => { throw new RangeError('far off'); }); return new Promise(() => {}); } });`,
  });
  const uncaught = run('uncaught');
  const { message, stack } = await errorOf(uncaught);
  assert.equal(message, 'the process of the task ended with exit code 1 after RangeError: far off');
  assert.match(stack ?? '', /module-\d+/);
  assert.ok(uncaught.recorded.of('stderr').some((line) => line.includes('RangeError: far off')));
});

test('what is printed outside of any task goes to the log of the worker, and not without end', async (t) => {
  const { run, warnings } = await open(t, {
    source: `for (let i = 0; i < 1000; i++) console.log('loading', i); export default task('quiet', { run: () => 1 });`,
    spares: 0,
  });
  const quiet = run('quiet');
  await resultOf(quiet);
  assert.deepEqual(quiet.recorded.lines, []);
  const texts = warnings.map(({ fields }) => fields?.text);
  assert.equal(texts[0], 'loading 0');
  assert.ok(texts.length <= 50, `${texts.length} lines`);
});

test('progress that JSON cannot hold is reported as such', async (t) => {
  const { run } = await open(t, {
    source: `export default task('odd', { run: (_, ctx) => { ctx.progress({ a: 5n }); return 1; } });`,
  });
  const odd = run('odd');
  assert.equal(await resultOf(odd), 1);
  assert.match(odd.recorded.of('system').join(), /progress not kept: .*a/);
});

test('a child that prints without end keeps to its bounds: a gap is marked, what waits is small, and the order holds', async (t) => {
  const { run } = await open(t, {
    source: `export default task('flood', { run: async (n) => {
      for (let i = 0; i < n; i++) { console.log(i + ' ' + 'x'.repeat(90)); if (i % 10_000 === 0) await new Promise(setImmediate); }
      return Math.round(process.memoryUsage().rss / 1e6);
    } });`,
  });
  const before = process.memoryUsage().rss;
  let [count, last, dropped, peak] = [0, -1, 0, before];
  const flood = run('flood', 400_000);
  flood.recorded.line = (stream, text) => {
    if (stream !== 'stdout') return;
    const n = Number.parseInt(text, 10);
    if (n <= last) throw new Error(`line ${n} after line ${last}`);
    last = n;
    count++;
    if (count % 1000 === 0) peak = Math.max(peak, process.memoryUsage().rss);
  };
  flood.recorded.drop = (lines) => {
    dropped += lines;
  };
  const childMegabytes = Number(await resultOf(flood));
  assert.equal(count + dropped, 400_000, 'every line has arrived or is counted');
  assert.ok(dropped > 0, 'nothing was dropped, so nothing was tested');
  assert.ok(peak - before < 100e6, `the worker grew by ${(peak - before) / 1e6} MB`);
  assert.ok(childMegabytes < 250, `the child had ${childMegabytes} MB`);
});

test('a writer that waits for its stream loses nothing', async (t) => {
  const { run } = await open(t, {
    source: `import { once } from 'node:events';
    export default task('polite', { run: async (n) => {
      for (let i = 0; i < n; i++) if (!process.stdout.write(i + ' ' + 'x'.repeat(1000) + '\\n')) await once(process.stdout, 'drain');
    } });`,
  });
  const { recorded, ended } = run('polite', 10_000);
  assert.equal((await ended).kind, 'done');
  assert.deepEqual(recorded.of('system'), []);
  assert.deepEqual(
    recorded.of('stdout').map((text) => Number.parseInt(text, 10)),
    Array.from({ length: 10_000 }, (_, i) => i),
  );
});

test('a command that writes faster than it is read has to wait, and loses nothing', async (t) => {
  const { run } = await open(t, {
    source: `export default task('seq', { run: (n) => new Promise((resolve) => spawn('seq', [String(n)], { stdio: 'inherit' }).once('exit', resolve)) });`,
  });
  const { recorded, ended } = run('seq', 200_000);
  assert.equal((await ended).kind, 'done');
  const lines = recorded.of('stdout');
  assert.equal(lines.length, 200_000);
  assert.ok(lines.every((text, index) => Number(text) === index + 1));
});

test('all that a process wrote before it was killed is in its log', async (t) => {
  const { run } = await open(t, {
    source: `export default task('dies', { run: () => {
      for (let i = 0; i < 1000; i++) fs.writeSync(1, (i + ' ' + 'x'.repeat(1000) + '\\n'));
      process.kill(process.pid, 'SIGKILL');
    } });`,
  });
  const dies = run('dies');
  assert.equal((await errorOf(dies)).name, 'ChildDied');
  assert.deepEqual(
    dies.recorded.of('stdout').map((text) => Number.parseInt(text, 10)),
    Array.from({ length: 1000 }, (_, i) => i),
  );
});

test('a command that prints as fast as it can does not take more of the worker than its share', async (t) => {
  const { run } = await open(t, {
    source: `export default task('yes', { run: () => { spawnSync('timeout', ['0.5', 'yes', 'x'.repeat(99)], { stdio: 'inherit' }); } });`,
  });
  const began = performance.now();
  const yes = run('yes');
  let bytes = 0;
  yes.recorded.line = (_, text) => {
    bytes += text.length + 1;
  };
  await yes.ended;
  const share = BURST + (performance.now() - began) * BYTES_PER_MS;
  assert.ok(bytes > 1e6, `${bytes} bytes are too few to tell`);
  assert.ok(bytes < share + 1e6, `${bytes} bytes, where ${share} are its share`);
});

test('streams can be piped to the standard output, and no task can close it for the next', async (t) => {
  const { run } = await open(t, {
    source: `import { pipeline } from 'node:stream/promises';
    import { Readable } from 'node:stream';
    export default task('pipes', { run: async () => {
      await pipeline(Readable.from(['one\\n', 'two\\n']), process.stdout);
      const { stdout } = spawn('echo', ['three']);
      stdout.pipe(process.stdout);
      await new Promise((resolve) => stdout.once('end', resolve));
      process.stdout.end('four\\n'); process.stdout.destroy(); console.log('five');
      await new Promise((resolve) => process.stdout.end('six\\n', resolve));
      return [process.stdout.fd, process.stderr.fd];
    } });`,
  });
  for (let n = 0; n < 2; n++) {
    const pipes = run('pipes');
    assert.deepEqual(await resultOf(pipes), [1, 2]);
    assert.deepEqual(pipes.recorded.of('stdout'), ['one', 'two', 'three', 'four', 'five', 'six']);
  }
});

test('a handler cannot disturb the channel to its worker', async (t) => {
  const { run } = await open(t, {
    source: `export default task('nosy', { run: () => { process.emit('message', { type: 'nonsense' }); return typeof process.send; } });`,
  });
  assert.equal(await resultOf(run('nosy')), 'undefined');
});

test('a log that is behind makes the child and its commands wait, and nothing is lost', async (t) => {
  const { run } = await open(t, {
    source: `export default task('both', { run: (n) => {
      for (let i = 0; i < n; i++) console.log(i);
      spawnSync('seq', ['1', String(n)], { stdio: ['ignore', 'inherit', 'inherit'] });
    } });`,
  });
  const both = run('both', 50_000);
  // Full after each thousand lines, until somebody has looked.
  let [since, most] = [0, 0];
  const waiting: (() => void)[] = [];
  const line = both.recorded.line.bind(both.recorded);
  both.recorded.line = (stream, text) => {
    since++;
    most = Math.max(most, since);
    line(stream, text);
  };
  Object.defineProperty(both.recorded, 'full', { get: () => since >= 1000 });
  both.recorded.onRoom = (listener) => {
    waiting.push(listener);
    setImmediate(() => {
      since = 0;
      for (const one of waiting.splice(0)) one();
    });
  };
  assert.equal((await both.ended).kind, 'done');
  assert.equal(both.recorded.of('stdout').length, 100_000);
  // The child's own lines and those of its command come by two ways, in no order between them.
  for (const last of ['49999', '50000']) assert.ok(both.recorded.of('stdout').includes(last), last);
  // What is on its way in pipes and frames comes all the same.
  assert.ok(most < 90_000, `${most} lines came while the log was full`);
});

for (const [how, end] of [
  ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ['crashes', 'process.abort()'],
  ['exits', 'process.exit(3)'],
  ['throws what nobody catches', "setImmediate(() => { throw new Error('late'); })"],
] as const) {
  test(`all lines of a child that ${how} right after them are kept`, async (t) => {
    const { run } = await open(t, {
      source: `export default task('last', { run: (n, ctx) => {
        for (let i = 0; i < n; i += 2) { console.log(i); ctx.log(String(i + 1)); }
        ${end};
        return new Promise(() => {});
      } });`,
    });
    const last = run('last', 50_000);
    assert.equal((await last.ended).kind, 'failed');
    const numbers = last.recorded.lines.filter(({ stream }) => stream !== 'stderr').map(({ text }) => Number(text));
    const gap = numbers.findIndex((n, i) => n !== i);
    assert.deepEqual([numbers.length, gap], [50_000, -1]);
  });
}
