/** A worker with a secret learns nothing about tasks that are not its own, whatever it sends. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { realWorld } from '../../app/world.ts';
import { SILENT } from '../../engine/log.ts';
import type { Assignment, Hello, Session, TurnEntry } from '../../protocol/link.ts';
import { refusal } from '../conformance/scene.ts';
import { childEntry, childOf, ON, park, spawn } from '../conformance/turning.ts';
import { HttpLink } from './http-link.ts';
import { WsLink } from './ws-link.ts';

const HELLO: Hello = { name: 'a', incarnation: 'one', slots: 8, tags: [], handlers: ['echo'], queues: undefined };
const OWN = { queue: 'work', handler: 'echo', maxAttempts: 9 };

interface Rig {
  readonly node: NodeScene;
  readonly session: Session;
  /** The number of another worker's task, whose result is secret. */
  readonly stranger: number;
  readonly claim: () => Promise<Assignment>;
}

async function rig(t: TestContext, SomeLink: typeof WsLink | typeof HttpLink): Promise<Rig> {
  const node = await nodeScene(t);
  const { engine } = node;
  const { task: stranger } = await engine.push({ queue: 'private', handler: 'other' });
  const own = await engine.workers.register({ name: 'own', incarnation: 'own', slots: 1 });
  const [grant] = await engine.claim({ worker: own, max: 1, queues: ['private'] });
  assert.ok(grant);
  await engine.complete(grant, { salary: 4711 });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a' } });
  const link = new SomeLink({ url: node.service.address, secret, world: realWorld(), log: SILENT });
  const session = await link.open(HELLO);
  t.after(() => session.close());
  const claim = async (): Promise<Assignment> => {
    const [lease] = await session.claim({ max: 1, waitMs: 20_000, signal: new AbortController().signal });
    assert.ok(lease);
    return lease;
  };
  return { node, session, stranger, claim };
}

for (const [way, SomeLink] of [
  ['WebSocket', WsLink],
  ['HTTP', HttpLink],
] as const) {
  test(`${way}: an entry that looks like a child makes no task a child, and shows nothing of it`, async (t) => {
    const { node, session, stranger, claim } = await rig(t, SomeLink);
    await node.engine.push(OWN);
    const lease = await claim();
    const told = { id: 'task_x', task: stranger };
    const kinds = ['value', 'element', 'mark', 'wait'] as const;
    const entries = kinds.map((kind): TurnEntry => ({ key: `spawn:${kind}#0`, kind, value: told }));
    await session.turn(lease, { entries, then: ON });
    const states = async (by: Assignment): Promise<readonly string[]> =>
      (await session.results(by, [stranger, by.task])).map(({ state }) => state);
    assert.deepEqual(await states(lease), ['gone', 'running']);
    await session.release(lease);
    const next = await claim();
    assert.deepEqual(await session.journal(next), [], 'whoever goes on does not even see them');
    assert.deepEqual(await states(next), ['gone', 'running']);
    const record = await node.engine.get(stranger);
    assert.deepEqual([record?.parent, record?.root], [undefined, undefined]);
    assert.ok((await node.engine.journal(next.task)).every(({ ref }) => ref === undefined));
    const child = await spawn(session, next, OWN);
    assert.equal((await session.results(next, [child.task]))[0]?.state, 'ready', 'its own child it sees');
  });

  test(`${way}: a task that is not its own can neither be waited for nor read, by number or by id`, async (t) => {
    const { node, session, stranger, claim } = await rig(t, SomeLink);
    await node.engine.push(OWN);
    const lease = await claim();
    const record = await node.engine.get(stranger);
    assert.ok(record);
    const id = node.engine.idOf(record);
    for (const ref of [stranger, id]) {
      assert.equal(await refusal(park(session, lease, { key: 'w', children: [ref] })), 'NOT_FOUND');
      assert.equal((await session.results(lease, [ref]))[0]?.state, 'gone');
    }
    assert.deepEqual(await session.dependencies(lease), []);
    assert.equal((await session.results(lease, [stranger]))[0]?.state, 'gone');
  });

  test(`${way}: whoever pushes a task lets it read those whose ids are in its input`, async (t) => {
    const { node, session, stranger, claim } = await rig(t, SomeLink);
    const record = await node.engine.get(stranger);
    assert.ok(record);
    const id = node.engine.idOf(record);
    await node.engine.push({ ...OWN, input: { wait: [id] } });
    const lease = await claim();
    assert.equal((await session.results(lease, [stranger]))[0]?.state, 'gone', 'the number of it says nothing');
    assert.equal((await session.results(lease, [id]))[0]?.result, '{"salary":4711}');
    assert.equal((await park(session, lease, { key: 'w', children: [id] })).went, 'woken');
  });

  test(`${way}: a child cannot be made to read what a task that is not one's own has come to`, async (t) => {
    const { node, session, stranger, claim } = await rig(t, SomeLink);
    await node.engine.push(OWN);
    const lease = await claim();
    const after = (on: number | string): TurnEntry =>
      ({ ...childEntry(`after ${on}`, OWN), after: [{ on }] }) as TurnEntry;
    for (const number of [stranger, 4711]) {
      const turn = session.turn(lease, { entries: [after(number)], then: ON });
      assert.equal(await refusal(turn), 'NOT_FOUND', 'one that is there is as unknown as one that is not');
    }
    assert.deepEqual(await node.engine.journal(lease.task), []);
    const first = await spawn(session, lease, OWN, 'first');
    const { entries } = await session.turn(lease, { entries: [after(first.task), after(first.id)], then: ON });
    await session.complete(await claim(), 'its own');
    const late = await claim();
    assert.ok(entries.map(childOf).some(({ task }) => task === late.task));
    assert.equal((await session.dependencies(late))[0]?.result, '"its own"');
  });
}
