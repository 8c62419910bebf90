import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault } from '../../../core/errors.ts';
import type { Turned, TurnRequest, WaitFor } from '../../../protocol/link.ts';
import type { AttemptSession, RunRequest } from '../runner.ts';
import { errorOf, open, RecordedLog, type Run, resultOf } from './process-trial.test.ts';

// Durable calls of a handler in a child process, and their answers.

/** A session that records its calls and keeps a journal; it refuses all else. */
class Notes implements AttemptSession {
  readonly calls: string[] = [];
  readonly kept = new Map<string, string>();
  wait: WaitFor | undefined;
  lost = false;
  onPark: () => void = () => {};

  async journal() {
    this.#note('journal');
    return [...this.kept].map(([key, value]) => ({ key, value }));
  }

  async turn({ entries, then }: TurnRequest): Promise<Turned> {
    const said = entries.map(({ key }) => key);
    this.#note(['turn', ...said, ...(then.go === 'park' ? [`park ${then.key}`] : [])].join(' '));
    for (const entry of entries) {
      const value = 'value' in entry ? entry.value : { id: 'task_child', task: 7 };
      if (!this.kept.has(entry.key)) this.kept.set(entry.key, JSON.stringify(value));
    }
    if (then.go === 'park') {
      this.wait = then;
      this.onPark();
    }
    const texts = said.map((key) => this.kept.get(key) as string);
    return { went: then.go === 'park' ? 'parked' : 'on', entries: texts };
  }

  async cancelChildren() {
    this.#note('cancelChildren');
  }

  async definition() {
    this.#note('definition');
    return undefined;
  }

  async waited() {
    this.#note('waited');
    return undefined;
  }

  async results(tasks: readonly (number | string)[]) {
    this.#note('results');
    return tasks.map(() => ({ task: 7, id: 'task_child', state: 'completed' as const, result: '{"n":1}' }));
  }

  async dependencies(): Promise<never> {
    this.#note('dependencies');
    throw new RangeError('no such thing');
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.lost) throw fault('LEASE_LOST', { task: 'task_x', attempt: 1 });
  }
}

async function trial(t: TestContext, source: string) {
  const { runner } = await open(t, { source });
  const session = new Notes();
  let runs = 0;
  const run = (
    handler: string,
    request: Partial<RunRequest> = {},
    host: { session: AttemptSession } | undefined = { session: session },
  ): Run => {
    runs++;
    const base = { task: runs, attempt: 1, id: `task-${runs}`, queue: 'q', handler, tries: 1, maxTries: 3 };
    const whole: RunRequest = { ...base, payload: 'null', alone: false, ...request };
    const recorded = new RecordedLog();
    const running = runner.run(whole, recorded, host);
    return {
      recorded,
      running,
      request: whole,
      ended: running.ended,
      stop: (why, ladder) => running.stop(why, ladder),
    };
  };
  return { session, run, runner };
}

const SOURCE = `
  export const pid = task('pid', { run: () => process.pid });
  export const steps = task('steps', { run: async (_, ctx) => {
    const list = ctx.list('l');
    await list.push('one');
    const made = await ctx.step('make', ({ key, again }) => ({ key, again, pid: process.pid }), { policy: 'exact' });
    const child = await ctx.spawn({ queue: 'q', handler: 'h' }, { n: 1 });
    return { made, child, list: list.values() };
  } });
  export const nap = task('nap', { run: async (_, ctx) => {
    ctx.log('before');
    try {
      return await ctx.wait('w', { approval: { title: 'Go?' }, timeout: '1h' });
    } catch (error) {
      fs.writeSync(1, 'unwound ' + error.name + ' ' + ctx.signal.reason?.why + '\\n');
      return process.pid;
    }
  } });
  export const errors = task('errors', { run: async (_, ctx) => {
    const codes = [];
    for (const call of [() => ctx.step('x', () => 1), () => ctx.dependencies(), () => ctx.step('big', () => 5n)]) {
      try { await call(); codes.push('none'); } catch (error) { codes.push([error.name, error.code, error.message]); }
    }
    return codes;
  } });
`;

test('steps, lists and children of a process are kept by its worker', async (t) => {
  const { session, run } = await trial(t, SOURCE);
  const first = run('steps');
  const result = (await resultOf(first)) as { made: { key: string; pid: number }; child: unknown; list: unknown };
  assert.notEqual(result.made.pid, process.pid);
  assert.deepEqual(
    [result.made.key, result.child, result.list],
    [`${first.request.id}/make#0`, { id: 'task_child', task: 7 }, ['one']],
  );
  assert.deepEqual(session.calls, ['turn l[0]', 'turn make#0!', 'turn make#0', 'turn spawn:h#0']);
  session.calls.length = 0;
  assert.deepEqual(await resultOf(run('steps', { id: first.request.id, attempt: 2 })), result);
  assert.deepEqual(session.calls, ['journal']);
});

test('a process that parks is told, comes to its end, and serves the next task', async (t) => {
  const { session, run } = await trial(t, SOURCE);
  const pid = await resultOf(run('pid'));
  const nap = run('nap');
  let heardBefore: readonly string[] = [];
  session.onPark = () => {
    heardBefore = nap.recorded.of('log');
    // As an attempt does.
    nap.stop('parked', { abortMs: 5000, termMs: 5000 });
  };
  assert.deepEqual(await nap.ended, { kind: 'parked' });
  assert.deepEqual(heardBefore, ['before'], 'what was said before is there before the lease is gone');
  assert.deepEqual(nap.recorded.of('stdout'), ['unwound ParkedError parked']);
  assert.deepEqual(nap.recorded.of('system'), []);
  assert.deepEqual(
    [session.wait?.key, session.wait?.channel, session.wait?.timeoutMs],
    ['w#0', `approval:${nap.request.id}:w#0`, 3_600_000],
  );
  assert.equal(await resultOf(run('pid')), pid);
});

test('errors cross with all that makes them', async (t) => {
  const { session, run } = await trial(t, SOURCE);
  session.lost = true;
  const [lost, , big] = (await resultOf(run('errors'))) as [unknown[], unknown, unknown[]];
  assert.deepEqual(lost.slice(0, 2), ['EngineError', 'LEASE_LOST']);
  assert.deepEqual(big.slice(0, 2), ['EngineError', 'INVALID_INPUT']);
  session.lost = false;
  const [, other] = (await resultOf(run('errors'))) as [unknown, unknown[]];
  assert.deepEqual(other, ['RangeError', null, 'no such thing']);
});

test('without a worker behind it a run cannot remember, and says so', async (t) => {
  const { run, runner } = await trial(t, SOURCE);
  const request = run('pid').request;
  const { kind, message } = await errorOf({
    ...run('pid'),
    ended: runner.run({ ...request, handler: 'steps' }, new RecordedLog()).ended,
  });
  assert.equal(kind, 'failed');
  assert.match(message, /durable calls need a worker/);
});

test('what a task writes to the channel by hand ends nobody', async (t) => {
  const { session, run } = await trial(
    t,
    `
    ${SOURCE}
    export const forge = task('forge', { run: async (run, ctx) => {
      const say = (message) => fs.writeSync(Number(process.env.NODE_CHANNEL_FD ?? 3), JSON.stringify(message) + '\\n');
      for (const question of [undefined, null, 7, {}, { verb: 'constructor', args: [] }, { verb: 'turn', args: 'x' }, { verb: 'turn', args: [] }, { verb: 'turn', args: [{ entries: 7 }] }]) {
        try { say({ type: 'ask', run: 1, ask: 99, question }); } catch {}
      }
      return 'done';
    } });
  `,
  );
  await run('forge').ended;
  assert.equal(session.wait, undefined);
  assert.ok(Number.isInteger(await resultOf(run('pid'))));
});
