import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type GatewayScene, hubScene } from '../../../test/support/gateway-scene.ts';
import { proofOf, type RawWorker } from '../../../test/support/raw-worker.ts';
import type { LeaseProof } from '../../protocol/frames.ts';
import type { Link, Session } from '../../protocol/link.ts';
import { idleTickMsOf, TICKS, tickMsOf } from '../../protocol/peer-liveness.ts';

const MIB = 1024 * 1024;

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Waits until nothing moves: whatever can be sent or read has been. */
async function standstill(count: () => number): Promise<void> {
  for (let before = -1, quiet = 0; quiet < 20; ) {
    await new Promise((resolve) => void setTimeout(resolve, 10));
    quiet = count() === before ? quiet + 1 : 0;
    before = count();
  }
}

/** A worker that does not read answers no pings, and would be cut off for that on a busy host. */
function withoutPings(t: TestContext): void {
  t.mock.timers.enable({ apis: ['setInterval'] });
}

/** Says a turn that remembers a value, and goes on. */
function remembering(key: string, value: unknown): object {
  return { entries: [{ key, kind: 'value', value: JSON.stringify(value) }], then: { go: 'on' } };
}

/** Counts the looks at what is remembered, the tasks that were granted, and what of logs is under way. */
class Counting {
  granted = 0;
  logs = { open: 0, most: 0, units: 0, mostUnits: 0 };
  begun = 0;
  open = 0;
  most = 0;

  readonly link = (direct: Link): Link => ({ open: async (hello) => this.#counted(await direct.open(hello)) });

  #counted(session: Session): Session {
    const journal = session.journal.bind(session);
    const claim = session.claim.bind(session);
    session.claim = async (request) => {
      const granted = await claim(request);
      this.granted += granted.length;
      return granted;
    };
    const log = session.log.bind(session);
    session.log = async (lease, entries) => {
      const { logs } = this;
      const units = entries.reduce((sum, { text }) => sum + text.length, 0);
      logs.most = Math.max(logs.most, ++logs.open);
      logs.mostUnits = Math.max(logs.mostUnits, (logs.units += units));
      try {
        await log(lease, entries);
      } finally {
        logs.open--;
        logs.units -= units;
      }
    };
    session.journal = async (lease) => {
      this.begun++;
      this.most = Math.max(this.most, ++this.open);
      try {
        return await journal(lease);
      } finally {
        this.open--;
      }
    };
    return session;
  }
}

/** A worker with a task that remembers one value of about a megabyte. */
async function withMuch(scene: GatewayScene): Promise<readonly [RawWorker, LeaseProof]> {
  const worker = await scene.worker({ name: 'a' });
  await scene.push();
  const lease = proofOf(await worker.claimOne());
  await worker.told('task_turn', { lease, ...remembering('k', 'x'.repeat(MIB - 10)) });
  return [worker, lease];
}

test('a question in a form that is not ours is refused by its number, and the others go on', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  await scene.push();
  const lease = proofOf(await worker.claimOne());
  const child = { queue: 'work', handler: 'echo', op: 'o' };
  const odd: readonly object[] = [
    { type: 'what_is_new' },
    { type: 'connect' },
    { type: 'heartbeat', state: 'lost' },
    { type: 'task_claim', max: 'all', waitMs: 0 },
    { type: 'task_claim', max: 0, waitMs: 0 },
    { type: 'task_claim', max: 1001, waitMs: 0 },
    { type: 'task_claim', max: 1, waitMs: -1 },
    { type: 'task_complete', result: '1' },
    { type: 'task_complete', lease: { ...lease, attempt: 0 } },
    { type: 'task_complete', lease: { ...lease, token: 'x'.repeat(65) } },
    { type: 'task_complete', lease, result: 'not json' },
    { type: 'task_complete', lease, result: `${'['.repeat(10_000)}${']'.repeat(10_000)}` },
    { type: 'task_complete', lease, result: '{"__proto__":{}}' },
    { type: 'task_failed', lease, error: '1', giveUp: true, retryAfterMs: 1 },
    { type: 'task_release', lease, delayMs: -5 },
    { type: 'task_progress', lease, logs: [{ seq: 0, at: 0, stream: 'stdout', text: '' }] },
    { type: 'task_progress', lease, logs: [{ seq: 1, at: 0, stream: 'telepathy', text: '' }] },
    { type: 'task_spawn', lease, child: { ...child, priority: 'high' } },
    { type: 'task_spawn', lease, child: { ...child, unknown: true } },
    { type: 'task_spawn', lease, child: { ...child, queue: 'No Queue' } },
    { type: 'task_park', lease, wait: { key: 7 } },
    { type: 'results', lease, tasks: [{}] },
    { type: 'lease_renew', leases: [{ task: 1 }] },
  ];
  // All in one frame, with good ones between them.
  worker.say(
    odd.flatMap((one, i) => [
      { n: 2 * i + 100, ...one },
      { type: 'cancels', n: 2 * i + 101 },
    ]),
  );
  for (const [i, one] of odd.entries()) {
    const said = await worker.hear(({ re }) => re === 2 * i + 100);
    assert.equal(said.type, 'refused', JSON.stringify(one));
    assert.equal(said.error?.code, 'INVALID_INPUT', JSON.stringify([one, said.error]).slice(0, 500));
    assert.equal((await worker.hear(({ re }) => re === 2 * i + 101)).type, 'ok');
  }
  await worker.told('task_complete', { lease, result: '1' });
  assert.deepEqual(scene.complaints, []);
});

test('as many questions as a frame holds are answered, each once', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  const count = 500;
  worker.say(Array.from({ length: count }, (_, i) => ({ type: 'claim_stop', n: i + 1, claim: 1 })));
  await worker.hear(({ re }) => re === count);
  const numbers = worker.heard.flatMap(({ re }) => (re === undefined ? [] : [re]));
  assert.equal(numbers.length, count);
  assert.equal(new Set(numbers).size, count);
});

test('an answer that no worker would take is refused, and the connection goes on', async (t) => {
  const scene = await hubScene(t);
  const [worker, lease] = await withMuch(scene);
  const tasks: number[] = [];
  for (let i = 0; i < 17; i++) {
    await scene.push();
    const one = proofOf(await worker.claimOne());
    await worker.told('task_complete', { lease: one, result: JSON.stringify('x'.repeat(MIB - 10)) });
    tasks.push(one.task);
  }
  const error = await worker.denied('results', { lease, tasks });
  assert.equal(error.code, 'TOO_LARGE');
  assert.match(error.hint ?? '', /Ask for less at once/);
  await worker.told('task_complete', { lease });
});

test('answers of one turn leave in frames that a worker takes', async (t) => {
  const scene = await hubScene(t);
  const [worker, lease] = await withMuch(scene);
  worker.say(Array.from({ length: 40 }, (_, i) => ({ type: 'journal', n: i + 1000, lease })));
  for (let i = 0; i < 40; i++) {
    assert.equal((await worker.hear(({ re }) => re === i + 1000)).value[0].value.length, MIB - 8);
  }
  assert.ok(Math.max(...worker.frames) < 4 * MIB, `${Math.max(...worker.frames)} bytes`);
});

test('a worker that does not take its answers is heard no more until it does, and the others go on', async (t) => {
  withoutPings(t);
  const counting = new Counting();
  const scene = await hubScene(t, { link: counting.link });
  const [worker, lease] = await withMuch(scene);
  const other = await scene.worker({ name: 'b' });
  worker.socket.pause();
  const asked = 150;
  // In frames of their own and together: neither way may cost us a megabyte for each.
  worker.say(Array.from({ length: 100 }, (_, i) => ({ type: 'journal', n: i + 1, lease })));
  for (let i = 100; i < asked; i++) worker.say({ type: 'journal', n: i + 1, lease });
  await standstill(() => counting.begun);
  // What the system takes on the way is a few megabytes more.
  assert.ok(counting.begun < 60, `${counting.begun} of ${asked} were looked into`);
  assert.ok(counting.most <= 8, `${counting.most} at once`);
  await scene.push();
  await other.told('task_complete', { lease: proofOf(await other.claimOne()) });
  worker.socket.resume();
  for (let n = 1; n <= asked; n++) await worker.hear(({ re }) => re === n);
  assert.equal(counting.begun, asked);
  await worker.told('task_complete', { lease });
});

test('nothing is claimed for a worker that does not read, though it waited before it stopped', async (t) => {
  withoutPings(t);
  const counting = new Counting();
  const scene = await hubScene(t, { link: counting.link });
  const [worker, lease] = await withMuch(scene);
  const other = await scene.worker({ name: 'b' });
  for (let n = 101; n <= 104; n++) worker.say({ type: 'task_claim', n, max: 8, waitMs: 60_000 });
  await worker.quiet();
  worker.socket.pause();
  const reads = 60;
  worker.say(Array.from({ length: reads }, (_, i) => ({ type: 'journal', n: i + 1000, lease })));
  await standstill(() => counting.begun);
  counting.granted = 0;
  for (let i = 0; i < 8; i++) await scene.push('x'.repeat(MIB / 4 - 10));
  await standstill(() => counting.granted);
  assert.equal(counting.granted, 0);
  await other.told('task_complete', { lease: proofOf(await other.claimOne()) });
  worker.socket.resume();
  for (let i = 0; i < reads; i++) await worker.hear(({ re }) => re === i + 1000);
  // It reads again, and what it waits for comes.
  const mine = (): readonly LeaseProof[] =>
    worker.heard.flatMap(({ re = 0, value }) => (re > 100 && re < 105 ? (value as readonly LeaseProof[]) : []));
  await worker.hear(() => mine().length === 7);
  assert.equal(new Set(mine().map(({ task }) => task)).size, 7);
});

test('claims that are granted in one turn share what a connection takes', async (t) => {
  withoutPings(t);
  const counting = new Counting();
  const scene = await hubScene(t, { link: counting.link });
  const worker = await scene.worker({ name: 'a' });
  for (let n = 101; n <= 108; n++) worker.say({ type: 'task_claim', n, max: 4, waitMs: 60_000 });
  await worker.quiet();
  worker.socket.pause();
  const input = 'x'.repeat(MIB / 4 - 10);
  await scene.engine.pushMany(Array.from({ length: 32 }, () => ({ queue: 'work', handler: 'echo', input })));
  await standstill(() => counting.granted);
  const { running } = await scene.engine.stats('work');
  // An answer is four, and what the system takes of it on the way makes room for others.
  assert.ok(running >= 4 && running < 20, `${running} were granted to a worker that reads nothing`);
  worker.socket.resume();
  for (let n = 101; n <= 108; n++) {
    assert.equal((await worker.hear(({ re }) => re === n)).value.length, 4);
  }
});

test('logs of one worker are stored a little at a time, however much it sends at once, and short ones together', async (t) => {
  const counting = new Counting();
  const scene = await hubScene(t, { link: counting.link });
  const worker = await scene.worker({ name: 'a' });
  await scene.push();
  const lease = proofOf(await worker.claimOne());
  let seq = 0;
  const shipments = (count: number, text: string): readonly object[] =>
    Array.from({ length: count }, () => {
      const n = worker.number();
      return { type: 'task_progress', n, lease, logs: [{ seq: ++seq, at: 1, stream: 'stdout', text }] };
    });
  const many = shipments(100, 'x'.repeat(16_000));
  worker.say(many);
  const behind = worker.number();
  worker.say({ type: 'cancels', n: behind });
  await worker.hear(({ re }) => re === behind);
  assert.ok(counting.logs.mostUnits < 2 * 64 * 1024, `${counting.logs.mostUnits} units at once`);
  counting.logs.most = 0;
  worker.say(shipments(50, 'short'));
  worker.say({ type: 'cancels', n: behind + 51 });
  await worker.hear(({ re }) => re === behind + 51);
  await worker.quiet();
  assert.equal(counting.logs.most, 50);
  assert.equal((await scene.engine.logs.read(lease.task, { limit: 1000 })).length, 150);
});

test('pings that nobody waits for the answers of are not answered for ever', async (t) => {
  const scene = await hubScene(t);
  for (const greeted of [false, true]) {
    const worker = greeted ? await scene.worker({ name: 'a' }) : await scene.dial();
    worker.socket.pause();
    const ping = Buffer.alloc(125);
    while (worker.socket.readyState === worker.socket.OPEN && scene.gateway.connected > 0) {
      for (let i = 0; i < 1000; i++) worker.socket.ping(ping);
      // Not faster than they are taken: this tries the memory of the node.
      while (worker.socket.bufferedAmount > 0 && worker.socket.readyState === worker.socket.OPEN) await turn();
    }
    await worker.hangUp();
    while (scene.gateway.connected > 0) await turn();
  }
});

test('who answers no ping is cut off after the second, and its place is free', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const deaf = await scene.worker({ name: 'a', secret });
  const alive = await scene.worker({ name: 'b' });
  deaf.socket.pause();
  for (const connected of [2, 2, 2, 1]) {
    for (let at = 0; at < idleTickMsOf(30_000); at += tickMsOf(30_000)) {
      t.mock.timers.tick(tickMsOf(30_000));
      await alive.quiet();
      for (let i = 0; i < 10; i++) await turn();
    }
    assert.equal(scene.gateway.connected, connected);
  }
  await (await scene.dial()).enter({ name: 'a', secret });
  await alive.quiet();
});

test('a worker that has fallen silent with a lease is cut off before that runs out, however short it is, and is given nothing more', async (t) => {
  for (const leaseMs of [1200, 12_000, 3_600_000]) {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const scene = await hubScene(t, { leaseMs });
    const deaf = await scene.worker({ name: 'a' });
    await scene.push();
    assert.equal((await deaf.told('task_claim', { max: 1, waitMs: 0 })).length, 1);
    // It waits for more, and hears of none.
    deaf.say({ type: 'task_claim', n: 500, max: 1, waitMs: 60_000 });
    await deaf.quiet();
    deaf.socket.pause();
    assert.ok(TICKS * tickMsOf(leaseMs) <= leaseMs / 3);
    for (let tick = 0; tick < TICKS; tick++) {
      t.mock.timers.tick(tickMsOf(leaseMs));
      for (let i = 0; i < 10; i++) await turn();
    }
    while (scene.gateway.connected > 0) await turn();
    const { task } = await scene.push();
    for (let i = 0; i < 10; i++) await turn();
    const record = await scene.engine.get(task);
    assert.deepEqual([record?.state, record?.attempt], ['ready', 0], `leases of ${leaseMs} ms`);
    t.mock.timers.reset();
  }
});
