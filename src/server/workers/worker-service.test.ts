import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GatewayScene, hubScene } from '../../../test/support/gateway-scene.ts';
import { proofOf, type RawWorker } from '../../../test/support/raw-worker.ts';
import type { LeaseProof } from '../../protocol/frames.ts';
import type { Link } from '../../protocol/link.ts';

type Saying = readonly [type: string, fields: object];

const LINE = { seq: 1, at: 0, stream: 'stdout', text: 'stolen' };

/** Every request that changes something, for a lease. */
function writesFor(lease: LeaseProof): readonly Saying[] {
  return [
    ['task_complete', { lease, result: '"stolen"' }],
    ['task_complete', { lease }],
    ['task_failed', { lease, error: '"stolen"' }],
    ['task_failed', { lease, error: '"stolen"', giveUp: true }],
    ['task_failed', { lease, error: 'null', retryAfterMs: 1 }],
    ['task_release', { lease }],
    ['task_release', { lease, bounced: true, delayMs: 1 }],
    ['task_cancelled', { lease }],
    ['task_progress', { lease, logs: [LINE] }],
    ...turnsFor(lease),
    ['keep', { lease, result: '"stolen"' }],
  ];
}

/** Each thing that a turn can write, and each way that it can go on. */
function turnsFor(lease: LeaseProof): readonly Saying[] {
  const turn = (entries: readonly object[], then: object): Saying => ['task_turn', { lease, entries, then }];
  const on = { go: 'on' };
  return [
    turn([], on),
    turn([{ key: 'k', kind: 'value', value: '"stolen"' }], on),
    turn([{ key: 'c', kind: 'child', child: { queue: 'work', handler: 'echo' } }], on),
    turn([{ key: 's', kind: 'signal', channel: 'c', body: '"stolen"' }], on),
    turn([], { go: 'park', key: 'k', channel: 'c' }),
    turn([], { go: 'complete', result: '"stolen"' }),
    turn([], { go: 'fail', error: '"stolen"' }),
  ];
}

/** And the requests that only read. */
function readsFor(lease: LeaseProof): readonly Saying[] {
  return [
    ['journal', { lease }],
    ['waited', { lease }],
    ['results', { lease, tasks: [lease.task] }],
    ['dependencies', { lease }],
    ['reusable', { lease }],
  ];
}

/** Everything that can be seen of a task. */
async function sightOf({ engine }: GatewayScene, task: number): Promise<unknown> {
  return {
    record: await engine.get(task),
    attempts: await engine.attempts(task),
    log: await engine.logs.read(task),
    entries: await engine.journal(task),
    wait: await engine.waits.of(task),
    tasks: (await engine.list({ limit: 100 })).length,
  };
}

async function twoWorkers(scene: GatewayScene): Promise<readonly [RawWorker, RawWorker, LeaseProof]> {
  const [a, b] = [await scene.worker({ name: 'a' }), await scene.worker({ name: 'b' })];
  await scene.push();
  return [a, b, proofOf(await b.claimOne())];
}

async function allLost(
  scene: GatewayScene,
  worker: RawWorker,
  sayings: readonly Saying[],
  task: number,
): Promise<void> {
  const before = await sightOf(scene, task);
  for (const [type, fields] of sayings) {
    assert.equal((await worker.denied(type, fields)).code, 'LEASE_LOST', `${type} ${JSON.stringify(fields)}`);
  }
  assert.deepEqual(await sightOf(scene, task), before);
}

test("nobody speaks for another worker's lease, not even with its token, and nothing is changed or shown", async (t) => {
  const scene = await hubScene(t);
  const [a, b, lease] = await twoWorkers(scene);
  await allLost(scene, a, [...writesFor(lease), ...readsFor(lease)], lease.task);
  assert.deepEqual(await a.told('lease_renew', { leases: [lease] }), ['lost']);
  await b.told('task_complete', { lease, result: '1' });
});

test('another start of the same worker has no say over the leases of the one before', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const first = await scene.worker({ name: 'a', secret });
  await scene.push();
  const lease = proofOf(await first.claimOne());
  await first.hangUp();
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  const second = await scene.worker({ name: 'a', secret, holding: [lease] });
  await allLost(scene, second, [...writesFor(lease), ...readsFor(lease)], lease.task);
});

const SAID_FOR_OTHERS: ReadonlySet<string> = new Set([
  'task_complete',
  'task_failed',
  'task_release',
  'task_cancelled',
  'task_progress',
  'keep',
]);

/** A turn is one of these when it ends the attempt. */
function isSaidForOthers([type, fields]: Saying): boolean {
  const { go } = (fields as { then?: { go: string } }).then ?? {};
  return SAID_FOR_OTHERS.has(type) || go === 'complete' || go === 'fail';
}

test('what an earlier start left unsaid is heard from the next one of the same name, and from nobody else', async (t) => {
  const scene = await hubScene(t);
  const [a, b, lease] = await twoWorkers(scene);
  await b.hangUp();
  const [before] = (await scene.engine.workers.list()).filter(({ name }) => name === 'b');
  const left = { ...lease, incarnation: before?.incarnation };
  await allLost(scene, a, [...writesFor(left), ...readsFor(left)], lease.task);
  const next = await scene.worker({ name: 'b' });
  // Its own is not that of the lease; and what would keep the lease, or go on with the work, is not said for others.
  await allLost(scene, next, writesFor(lease), lease.task);
  const others = [...writesFor(left), ...readsFor(left)].filter((saying) => !isSaidForOthers(saying));
  await allLost(scene, next, others, lease.task);
  assert.deepEqual(await next.told('lease_renew', { leases: [left] }), ['lost']);
  await next.told('task_progress', { lease: left, logs: [{ ...LINE, text: 'its last words' }] });
  await next.told('task_complete', { lease: left, result: '"done"' });
  await next.told('task_complete', { lease: left, result: '"done"' });
  const record = await scene.engine.get(lease.task);
  assert.deepEqual([record?.state, record?.result, record?.attempt], ['completed', '"done"', 1]);
  assert.deepEqual(
    (await scene.engine.logs.read(lease.task)).map(({ text }) => text),
    ['its last words'],
  );
});

test('a turn that ended an attempt is heard from the next start with all that it wrote, and once', async (t) => {
  const scene = await hubScene(t);
  const [, b, lease] = await twoWorkers(scene);
  const [before] = (await scene.engine.workers.list()).filter(({ name }) => name === 'b');
  await b.hangUp();
  const next = await scene.worker({ name: 'b' });
  const turn = {
    lease: { ...lease, incarnation: before?.incarnation },
    entries: [
      { key: 'k', kind: 'value', value: '1' },
      { key: 'c', kind: 'child', child: { queue: 'children', handler: 'echo' } },
    ],
    then: { go: 'complete', result: '"done"' },
  };
  const first = await next.told('task_turn', turn);
  assert.deepEqual([first.went, first.state], ['ended', 'completed']);
  assert.deepEqual(await next.told('task_turn', turn), first);
  const record = await scene.engine.get(lease.task);
  assert.deepEqual([record?.state, record?.result, record?.attempt], ['completed', '"done"', 1]);
  assert.deepEqual(
    (await scene.engine.journal(lease.task)).map(({ key }) => key),
    ['c', 'k'],
  );
  assert.equal((await scene.engine.list({ queue: 'children', limit: 10 })).length, 1);
});

test('what an earlier start left is refused once its lease was taken back, though nobody has claimed since', async (t) => {
  const scene = await hubScene(t, { leaseMs: 1000 });
  const [, b, lease] = await twoWorkers(scene);
  const [before] = (await scene.engine.workers.list()).filter(({ name }) => name === 'b');
  await b.hangUp();
  await scene.world.advance(1001);
  await scene.tick('reaper');
  const next = await scene.worker({ name: 'b' });
  const left = { ...lease, incarnation: before?.incarnation };
  // It asked for nothing to be kept, so that nothing is.
  const said = writesFor(left).filter((saying) => isSaidForOthers(saying) && saying[0] !== 'keep');
  await allLost(scene, next, said, lease.task);
  assert.equal((await scene.engine.get(lease.task))?.state, 'ready');
});

test('a token that is wrong, cut short, too long or of another lease is as good as none', async (t) => {
  const scene = await hubScene(t);
  const [a, , of] = await twoWorkers(scene);
  const { task } = await scene.push();
  const own = proofOf(await a.claimOne());
  assert.equal(own.task, task);
  const { token } = own;
  const flipped = (token.startsWith('A') ? 'B' : 'A') + token.slice(1);
  for (const wrong of ['', 'x', token.slice(0, -2), `${token}AA`, flipped, token.toLowerCase(), of.token]) {
    const lease = { ...own, token: wrong };
    await allLost(scene, a, [...writesFor(lease), ...readsFor(lease)], task);
  }
  for (const lease of [
    { ...own, attempt: own.attempt + 1 },
    { ...own, task: of.task },
    { ...own, task: 1_000_000 },
  ]) {
    await allLost(scene, a, writesFor(lease), task);
  }
  await a.told('task_complete', { lease: own, result: '1' });
});

test('the token of an older attempt proves nothing for the one that runs', async (t) => {
  const scene = await hubScene(t, { leaseMs: 10_000 });
  const [a, b] = [await scene.worker({ name: 'a' }), await scene.worker({ name: 'b' })];
  const { task } = await scene.engine.push({ queue: 'work', handler: 'echo', reuse: true });
  const old = proofOf(await a.claimOne());
  await loseAll(scene);
  const now = proofOf(await b.claimOne());
  assert.deepEqual([now.task, now.attempt], [task, 2]);
  await allLost(scene, a, writesFor(old), task);
  await allLost(scene, a, [...writesFor({ ...old, attempt: 2 }), ...readsFor({ ...old, attempt: 2 })], task);
  await b.told('task_complete', { lease: now, result: '1' });
  // Nor for one that it holds itself.
  await scene.engine.retry(task);
  const again = proofOf(await a.claimOne());
  await allLost(scene, a, writesFor({ ...again, token: old.token }), task);
});

/** Leases of ten seconds run out, and their tasks are ready again. */
async function loseAll(scene: GatewayScene): Promise<void> {
  await scene.world.advance(11_000);
  await scene.tick('reaper');
  await scene.world.advance(60_000);
  await scene.tick('stager');
}

test('of ends that come together each is proven by itself: what is not its own or no value is refused, and the others end', async (t) => {
  const scene = await hubScene(t);
  const [a, , foreign] = await twoWorkers(scene);
  await Promise.all([1, 2, 3].map(() => scene.push()));
  const [one, two, three] = [proofOf(await a.claimOne()), proofOf(await a.claimOne()), proofOf(await a.claimOne())];
  const before = await sightOf(scene, foreign.task);
  const answers = (await a.told('tasks_complete', {
    ends: [
      { lease: one, result: '1' },
      { lease: foreign, result: '"stolen"' },
      { lease: { ...two, token: one.token } },
      { lease: two, result: '{"cut": ' },
      { lease: three },
    ],
  })) as readonly ({ readonly code: string } | null)[];
  assert.deepEqual(
    answers.map((answer) => answer?.code),
    [undefined, 'LEASE_LOST', 'LEASE_LOST', 'INVALID_INPUT', undefined],
  );
  const records = await Promise.all([one, two, three].map(({ task }) => scene.engine.get(task)));
  assert.deepEqual(
    records.map((record) => [record?.state, record?.result]),
    [
      ['completed', '1'],
      ['running', undefined],
      ['completed', undefined],
    ],
  );
  assert.deepEqual(await sightOf(scene, foreign.task), before);
  // The one that was refused is still held, and ends by itself. Said again, the others are answered as before.
  await a.told('task_complete', { lease: two, result: '2' });
  const again = await a.told('tasks_complete', {
    ends: [{ lease: one, result: '1' }, { lease: two }, { lease: three }],
  });
  assert.deepEqual(again, [null, null, null]);
  assert.equal((await scene.engine.get(two.task))?.result, '2');
});

test('a renewal with a wrong proof in it renews the others', async (t) => {
  const scene = await hubScene(t, { leaseMs: 9000 });
  const [a, , foreign] = await twoWorkers(scene);
  await scene.push();
  const own = proofOf(await a.claimOne());
  await scene.world.advance(6000);
  const answers = await a.told('lease_renew', { leases: [foreign, own, { ...own, token: 'x' }] });
  assert.deepEqual(answers, ['lost', 'held', 'lost']);
  await scene.world.advance(6000);
  await scene.tick('reaper');
  assert.equal((await scene.engine.get(own.task))?.state, 'running');
  assert.notEqual((await scene.engine.get(foreign.task))?.state, 'running');
});

test('a wrong proof among what a worker says to hold keeps it from nothing', async (t) => {
  const scene = await hubScene(t);
  const [, b, foreign] = await twoWorkers(scene);
  const a = await scene.worker({ name: 'c', incarnation: 'one', holding: [foreign, { ...foreign, token: 'x' }] });
  await a.quiet();
  await b.told('task_complete', { lease: foreign, result: '1' });
});

// What is lost on the way

test('grants whose answer never arrived go back with their tries when the worker is back', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrol('a');
  const given = { name: 'a', secret, incarnation: 'one' };
  const first = await scene.worker(given);
  const pushed = [await scene.push(), await scene.push(), await scene.push()];
  const [known, ...lost] = await first.claim(3);
  assert.equal(lost.length, 2);
  await first.hangUp();
  const second = await scene.worker({ ...given, holding: [proofOf(known as LeaseProof)] });
  for (const { task } of pushed) {
    const record = await scene.engine.get(task);
    const expected = task === known?.task ? ['running', 1] : ['ready', 0];
    assert.deepEqual([record?.state, record?.tries], expected);
  }
  assert.deepEqual(await second.told('lease_renew', { leases: lost.map(proofOf) }), ['lost', 'lost']);
  const again = await second.claim(3);
  assert.deepEqual(
    again.map(({ tries, attempt }) => [tries, attempt]),
    [
      [1, 2],
      [1, 2],
    ],
  );
});

test('a claim that waits when its connection breaks grants nothing to nobody', async (t) => {
  const scene = await hubScene(t);
  const broken = await scene.worker({ name: 'a' });
  broken.say({ type: 'task_claim', n: 1, max: 8, waitMs: 3_600_000 });
  await broken.quiet();
  await broken.hangUp();
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  const { task } = await scene.push();
  await scene.world.advance(1000);
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.attempt], ['ready', 0]);
  assert.equal((await (await scene.worker({ name: 'b' })).claimOne()).attempt, 1);
});

test('a claim of the old connection takes nothing once the process is back on a new one', async (t) => {
  const scene = await hubScene(t);
  const given = { name: 'a', secret: await scene.enrol('a'), incarnation: 'one' };
  const first = await scene.worker(given);
  first.say({ type: 'task_claim', n: 7, max: 8, waitMs: 3_600_000 });
  await first.quiet();
  const second = await scene.worker({ ...given, holding: [] });
  const { task } = await scene.push();
  await scene.world.settle();
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.attempt], ['ready', 0]);
  assert.equal((await second.claimOne()).attempt, 1);
});

test('a claim that is asked again under its number on the next connection can be stopped, and ends with it', async (t) => {
  const scene = await hubScene(t);
  const given = { name: 'a', secret: await scene.enrol('a'), incarnation: 'one' };
  const claim = { type: 'task_claim', n: 1000, max: 8, waitMs: 3_600_000 };
  const first = await scene.worker(given);
  first.say(claim);
  await first.quiet();
  const second = await scene.worker({ ...given, holding: [] });
  second.say(claim);
  await second.quiet();
  await first.closed;
  await scene.world.settle();
  second.say({ type: 'claim_stop', n: 1001, claim: 1000 });
  assert.deepEqual((await second.hear(({ re }) => re === 1000)).value, []);
  // Twice on one connection, too: both end with it.
  second.say([
    { ...claim, n: 2000 },
    { ...claim, n: 2000 },
  ]);
  await second.quiet();
  await second.hangUp();
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  const { task } = await scene.push();
  await scene.world.settle();
  assert.equal((await scene.engine.get(task))?.state, 'ready');
});

test('a frame that comes twice, at once or later, does what it did once', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  const leases: LeaseProof[] = [];
  for (let i = 0; i < 7; i++) {
    await scene.push({ i });
    leases.push(proofOf(await worker.claimOne()));
  }
  const proofs = leases as [LeaseProof, LeaseProof, LeaseProof, LeaseProof, LeaseProof, LeaseProof, LeaseProof];
  const [done, failed, released, parked, parent, ended, gaveUp] = proofs;
  const turn = (n: number, lease: LeaseProof, then: object, ...entries: object[]) => {
    return { type: 'task_turn', n, lease, entries, then };
  };
  const on = { go: 'on' };
  const child = { kind: 'child', child: { queue: 'children', handler: 'echo' } };
  const said = [
    { type: 'task_progress', n: 100, lease: done, logs: [LINE] },
    turn(101, done, on, { key: 'k', kind: 'value', value: '1' }),
    turn(102, parent, on, { ...child, key: 'one' }, { key: 's', kind: 'signal', channel: 'kept', body: '1' }),
  ];
  const ends = [
    { type: 'task_complete', n: 103, lease: done, result: '{"i":0}' },
    { type: 'task_failed', n: 104, lease: failed, error: '"no"', giveUp: true },
    { type: 'task_release', n: 105, lease: released },
    turn(106, parked, { go: 'park', key: 'w', nth: 1, channel: 'c' }, { ...child, key: 'two' }),
    { type: 'lease_renew', n: 107, leases: [parent] },
    { type: 'heartbeat', n: 108, state: 'online' },
    turn(109, ended, { go: 'complete', result: '{"i":5}' }, { ...child, key: 'three' }),
    turn(110, gaveUp, { go: 'fail', error: '"no"', giveUp: true }, { ...child, key: 'four' }),
  ];
  for (const frames of [said, ends]) {
    worker.say([...frames, ...frames]);
    for (const frame of frames) worker.say(frame);
    for (const { n } of frames) assert.equal((await worker.hear(({ re }) => re === n)).type, 'ok', String(n));
  }
  await worker.quiet();
  await scene.world.settle();
  const states = await Promise.all(leases.map(async ({ task }) => (await scene.engine.get(task))?.state));
  assert.deepEqual(states, ['completed', 'failed', 'ready', 'waiting', 'running', 'completed', 'failed']);
  assert.equal((await scene.engine.logs.read(done.task)).length, 1);
  assert.equal((await scene.engine.list({ queue: 'children', limit: 10 })).length, 4);
  const stats = await scene.engine.stats('work');
  assert.deepEqual([stats.completed, stats.failed], [2, 2]);
});

test('a text in a turn that is no JSON, or is deeper than a value may be, is refused, and nothing of the turn is written', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  await scene.push();
  const lease = proofOf(await worker.claimOne());
  const before = await sightOf(scene, lease.task);
  const fine = { key: 'fine', kind: 'value', value: '1' };
  const child = { queue: 'children', handler: 'echo' };
  const on = { go: 'on' };
  for (const text of ['', '{', 'undefined', '1 2', "'x'", 'NaN', '['.repeat(100) + ']'.repeat(100)]) {
    for (const [entry, then] of [
      [{ ...fine, key: 'k', value: text }, on],
      [{ ...fine, key: 'k', usage: text }, on],
      [{ key: 'k', kind: 'signal', channel: 'c', body: text }, on],
      [{ key: 'k', kind: 'child', child: { ...child, input: text } }, on],
      [
        { ...fine, key: 'k' },
        { go: 'park', key: 'w', form: text },
      ],
      [
        { ...fine, key: 'k' },
        { go: 'complete', result: text },
      ],
    ] as const) {
      const { code } = await worker.denied('task_turn', { lease, entries: [fine, entry], then });
      assert.equal(code, 'INVALID_INPUT', `${JSON.stringify(entry)} ${JSON.stringify(then)}`);
    }
  }
  assert.deepEqual(await sightOf(scene, lease.task), before);
  await worker.told('task_turn', { lease, entries: [fine], then: { go: 'complete' } });
});

// What must fit

test('large inputs come in portions that fit, and what does not fit goes back with its try', async (t) => {
  const scene = await hubScene(t);
  const worker = await scene.worker({ name: 'a' });
  // Quotes are the worst: each is two bytes in an input, and four in the answer.
  const input = '"'.repeat(500_000);
  for (let i = 0; i < 20; i++) await scene.push(input);
  const seen = new Set<number>();
  for (let claims = 0; seen.size < 20; claims++) {
    assert.ok(claims < 20, 'each claim brings something');
    const batch = await worker.claim(20);
    assert.ok(batch.length > 0);
    for (const lease of batch) {
      seen.add(lease.task);
      assert.equal(lease.tries, 1);
      assert.equal(JSON.parse((lease as unknown as { payload: string }).payload), input);
      await worker.told('task_complete', { lease: proofOf(lease) });
    }
  }
  assert.ok(Math.max(...worker.frames) < 16 * 1024 * 1024);
  assert.equal((await scene.engine.stats('work')).completed, 20);
});

test('a few are claimed for a worker until the size of its inputs is known, then as many as fit, and more when they are small again', async (t) => {
  const asked: number[] = [];
  const link = (direct: Link): Link => ({
    open: async (hello) => {
      const session = await direct.open(hello);
      const claim = session.claim.bind(session);
      session.claim = (request) => {
        asked.push(request.max);
        return claim(request);
      };
      return session;
    },
  });
  const scene = await hubScene(t, { link });
  const worker = await scene.worker({ name: 'a' });
  for (let i = 0; i < 12; i++) await scene.push('x'.repeat(256 * 1024 - 10));
  const sizes: number[] = [];
  for (let i = 0; i < 3; i++) sizes.push((await worker.claim(12)).length);
  assert.deepEqual(
    [sizes, asked],
    [
      [4, 4, 4],
      [4, 4, 4],
    ],
  );
  for (let i = 0; i < 12; i++) await scene.push('small');
  for (const count of [4, 8]) assert.equal((await worker.claim(12)).length, count);
});

// Hints

test('a wish to stop reaches the worker that has the task, and no other', async (t) => {
  const scene = await hubScene(t);
  const [a, b, lease] = await twoWorkers(scene);
  await scene.engine.cancel(lease.task);
  assert.equal((await b.hear(({ type }) => type === 'kill_task')).task, lease.task);
  await a.quiet();
  assert.ok(!a.heard.some(({ type }) => type === 'kill_task'));
  assert.deepEqual(await b.told('cancels'), [{ task: lease.task, attempt: 1 }]);
  assert.deepEqual(await a.told('cancels'), []);
  await b.told('task_cancelled', { lease });
  assert.equal((await scene.engine.get(lease.task))?.state, 'cancelled');
});

test('it reaches a worker by its new connection, and one that a restarted node knows by its proofs alone', async (t) => {
  const scene = await hubScene(t, { leaseMs: 3_600_000 });
  const given = { name: 'a', secret: await scene.enrol('a'), incarnation: 'one' };
  const first = await scene.worker(given);
  const pushed = [await scene.push(), await scene.push()];
  const holding = (await first.claim(2)).map(proofOf);
  const second = await scene.worker({ ...given, holding });
  await scene.engine.cancel(pushed[0]?.task as number);
  await second.hear(({ type, task }) => type === 'kill_task' && task === pushed[0]?.task);
  await second.hangUp();
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  // After this it remembers nothing of the worker, as after a restart.
  await scene.world.advance(600_000);
  const third = await scene.worker({ ...given, holding });
  await scene.engine.cancel(pushed[1]?.task as number);
  await third.hear(({ type, task }) => type === 'kill_task' && task === pushed[1]?.task);
});

test('a lease that was settled, lost or given up is no longer the worker that has it', async (t) => {
  const scene = await hubScene(t, { leaseMs: 10_000 });
  const worker = await scene.worker({ name: 'a' });
  const pushed = [await scene.push(), await scene.push()];
  const leases = (await worker.claim(2)).map(proofOf);
  await loseAll(scene);
  // The worker knows by itself that it is late, and says nothing more of them; other things it does say.
  await worker.told('task_release', { lease: proofOf(await worker.claimOne()) });
  const other = await scene.worker({ name: 'b' });
  const theirs = await other.claim(2);
  assert.equal(theirs.length, 2);
  for (const { task } of pushed) await scene.engine.cancel(task);
  for (const { task } of theirs) await other.hear((said) => said.type === 'kill_task' && said.task === task);
  await worker.quiet();
  assert.deepEqual(
    worker.heard.filter(({ type }) => type === 'kill_task'),
    [],
  );
  assert.deepEqual(await worker.told('lease_renew', { leases }), ['lost', 'lost']);
});
