import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DurableScene } from '../../../test/support/runs/durable-scene.ts';
import { approvals, decide } from '../../operate/operations/approvals.ts';
import { giveUp } from '../define/outcome.ts';
import { task } from '../define/task.ts';
import { workflow } from './workflow.ts';

const double = task('double', { run: (input) => (input as number) * 2 });

describe('a workflow in code', () => {
  test('runs its steps in one attempt, one commit each, and the last shares that of the end', async (t) => {
    const nightly = workflow('nightly', async (input, wf) => {
      const a = await wf.step('a', () => (input as number) + 1);
      const b = await wf.step('b', async () => a + 1);
      return wf.step('b', () => b + 1);
    });
    const scene = await DurableScene.open(t, { tasks: [nightly] });
    const run = await scene.push(nightly, 1);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 4 });
    assert.deepEqual(await scene.journal(run), ['w:000001/step:a#0', 'w:000002/step:b#0', 'w:000003/step:b#1']);
    assert.equal(scene.turns, 3);
  });

  test('gives its slot back for children, timers and signals, and goes on with what they say', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      const started = wf.now();
      const [one, two] = await Promise.all([wf.child(double, 1), wf.child(double, 2)]);
      await wf.sleep('1h');
      const word = await wf.signal<string>('word');
      const late = await wf.signal('never', { timeout: '1m' });
      const mapped = await wf.map([1, 2, 3, 4, 5], double, { window: 2 });
      return { one, two, word, late: late ?? 'late', mapped, hours: Math.floor((wf.now() - started) / 3_600_000) >= 1 };
    });
    const scene = await DurableScene.open(t, { tasks: [flow, double] });
    const run = await scene.push(flow);
    await scene.engine.waits.signal(`${await idOf(scene, run)}:word`, 'hello');
    for (let n = 0; n < 30; n++) await scene.work();
    const { state, output } = await scene.end(run);
    assert.equal(state, 'completed');
    assert.deepEqual(output, { one: 2, two: 4, word: 'hello', late: 'late', mapped: [2, 4, 6, 8, 10], hours: true });
  });

  test('steps that are under way together are stored as they end, and the attempt parks when all have', async (t) => {
    const effects: string[] = [];
    const flow = workflow('flow', async (_, wf) => {
      const slow = wf.step('slow', async () => {
        await new Promise<void>((go) => scene.world.timers.after(5000, go));
        effects.push('slow');
        return 'slow';
      });
      const [a, b, c] = await Promise.all([
        slow,
        wf.child(double, 4),
        wf.step('quick', () => {
          effects.push('quick');
          return 'quick';
        }),
      ]);
      return [a, b, c];
    });
    const scene = await DurableScene.open(t, { tasks: [flow, double] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: ['slow', 8, 'quick'] });
    assert.deepEqual(effects, ['quick', 'slow']);
  });

  test('a step that failed is caught alike in every attempt', async (t) => {
    let tries = 0;
    const flow = workflow('flow', async (_, wf) => {
      const said = await wf
        .step('pay', () => {
          tries++;
          throw new RangeError('no money');
        })
        .catch((error: Error & { errorName?: string }) => `${error.errorName}: ${error.message}`);
      await wf.sleep('1s');
      return said;
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'RangeError: no money' });
    assert.equal(tries, 1);
  });

  test('a step is tried as often as it says, and a long pause gives the slot back', async (t) => {
    const seen: number[] = [];
    const flow = workflow('flow', async (_, wf) =>
      wf.step(
        'call',
        ({ tries }) => {
          seen.push(tries);
          if (tries < 4) throw new Error('busy');
          return tries;
        },
        { retry: { maxAttempts: 5, baseMs: '2s', factor: 10, jitter: 0 } },
      ),
    );
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    for (let n = 0; n < 5; n++) await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 4 });
    assert.deepEqual(seen, [1, 2, 3, 4]);
    assert.equal((await scene.engine.get(run))?.tries, 1);
  });

  test('a run that failed goes back to the step that failed it when it is tried again', async (t) => {
    const effects: string[] = [];
    let broken = true;
    const flow = workflow('flow', async (_, wf) => {
      await wf.step('first', () => void effects.push('first'));
      try {
        await wf.step('second', () => {
          effects.push('second');
          return broken ? giveUp(new Error('no disk')) : 'ok';
        });
      } finally {
        await wf.step('clean up', () => void effects.push('clean up'));
      }
      return wf.step('third', () => 'done');
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    const failed = await scene.end(run);
    assert.equal(failed.state, 'failed');
    assert.deepEqual(failed.output, { name: 'Error', message: 'no disk', step: 'step "second"' });
    broken = false;
    await scene.engine.retry(run);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'done' });
    assert.deepEqual(effects, ['first', 'second', 'clean up', 'second', 'clean up']);
  });

  test('a child that is refused fails alone, now and in the next attempt', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      const ends = await Promise.allSettled([
        wf.child({ queue: 'No Queue', handler: 'double' }, 1),
        wf.child(double, 2),
        wf.child(double, 3),
      ]);
      await wf.sleep('1m');
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason as { code: string }).code));
    });
    const scene = await DurableScene.open(t, { tasks: [flow, double] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: ['INVALID_INPUT', 4, 6] });
  });

  test('a value that cannot be stored fails its step, and a result that cannot be fails the run', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      const code = await wf.step('huge', () => 'x'.repeat(2_000_000)).catch((error: { code?: string }) => error.code);
      await wf.step('said', () => code);
      return { code, never: 1n };
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    const { state, output } = await scene.end(run);
    assert.deepEqual([state, (output as { code: string }).code], ['failed', 'INVALID_INPUT']);
    const said = (await scene.engine.journal(run)).find(({ key }) => key.endsWith('step:said#0'));
    assert.equal(said?.value, '"TOO_LARGE"');
  });

  test('a run that is cancelled while it waits stays cancelled', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      await wf.signal('never');
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    await scene.engine.trees.cancel(run);
    await scene.work();
    assert.equal((await scene.end(run)).state, 'cancelled');
  });

  test('a step that takes too long fails, and its signal says so', async (t) => {
    let aborted = false;
    const flow = workflow('flow', async (_, wf) =>
      wf
        .step(
          'long',
          ({ signal }) => new Promise((_go, no) => signal.addEventListener('abort', () => no((aborted = true)))),
          {
            timeout: '3s',
          },
        )
        .catch((error: { errorName?: string }) => error.errorName),
    );
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual([await scene.end(run), aborted], [{ state: 'completed', output: 'TimeoutError' }, true]);
  });

  test('a timer ends while a step holds the slot', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      const long = wf.step(
        'long',
        () => new Promise<string>((go) => scene.world.timers.after(60_000, () => go('long'))),
      );
      return Promise.race([long, wf.sleep('10s').then(() => 'too late')]);
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'too late' });
  });

  test('the first of two signals that comes goes on, whichever it is', async (t) => {
    const flow = workflow('flow', async (_, wf) =>
      Promise.race([wf.signal('a').then((a) => ({ a })), wf.signal('b').then((b) => ({ b }))]),
    );
    for (const name of ['a', 'b']) {
      const scene = await DurableScene.open(t, { tasks: [flow] });
      const run = await scene.push(flow);
      await scene.work({ most: 5 });
      assert.equal((await scene.end(run)).state, 'waiting');
      await scene.engine.waits.signal(`${await idOf(scene, run)}:${name}`, 7);
      await scene.work();
      assert.deepEqual(await scene.end(run), { state: 'completed', output: { [name]: 7 } });
    }
  });

  test('of several signals and approvals at once the first that comes wakes it, at once and once', async (t) => {
    const flow = workflow('flow', async (_, wf) => {
      const order: string[] = [];
      const heard = (name: string, wait: Promise<unknown>): Promise<unknown> => wait.finally(() => order.push(name));
      await Promise.all([
        heard('a', wf.signal('a')),
        heard('ship', wf.approval('ship', { title: 'Ship it?' })),
        heard('b', wf.signal('b')),
        heard('bill', wf.approval('bill', { title: 'Bill it?' })),
      ]);
      return order;
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    const id = await idOf(scene, run);
    await scene.work();
    const titles = async (): Promise<unknown> => (await approvals(scene.engine, 10)).map(({ title }) => title);
    assert.deepEqual(await titles(), ['Ship it?', 'Bill it?']);
    const { attempt = 0 } = (await scene.engine.get(run)) ?? {};
    await scene.engine.waits.signal(`${id}:b`, 1);
    await scene.work({ most: 1 });
    await decide(scene.engine, id, { action: 'approve', key: 'approval:bill#0' });
    await scene.work({ most: 1 });
    assert.deepEqual(await titles(), ['Ship it?']);
    await scene.engine.waits.signal(`${id}:a`, 1);
    await scene.work({ most: 1 });
    await decide(scene.engine, id, { action: 'reject' });
    await scene.work({ most: 1 });
    assert.deepEqual(await scene.end(run), { state: 'completed', output: ['b', 'bill', 'a', 'ship'] });
    assert.equal((await scene.engine.get(run))?.attempt, attempt + 4);
  });

  test('what is replayed says nothing in the log, and now() and random() stay as they were', async (t) => {
    const seen: unknown[] = [];
    const flow = workflow('flow', async (_, wf) => {
      const drawn = [wf.now(), wf.random(), wf.random()];
      seen.push(drawn);
      wf.log('before');
      await wf.sleep('1m');
      wf.log('after');
      return drawn;
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    const { output } = await scene.end(run);
    assert.equal(seen.length, 2);
    assert.deepEqual(seen, [output, output]);
    assert.deepEqual(scene.logged, ['before', 'after']);
  });
});

async function idOf(scene: DurableScene, run: number): Promise<string> {
  const record = await scene.engine.get(run);
  assert.ok(record);
  return scene.engine.idOf(record);
}
