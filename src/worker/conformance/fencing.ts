import assert from 'node:assert/strict';
import type { Assignment, Session } from '../../protocol/link.ts';
import { type LinkCase, type LinkTopic, refusal } from './scene.ts';
import { park, remember, spawn } from './turning.ts';

type Verb = (session: Session, lease: Assignment) => Promise<unknown>;

const line = { seq: 1, at: 1, stream: 'log', text: 'from the dead' } as const;

const VERBS: Readonly<Record<string, Verb>> = {
  complete: (session, lease) => session.complete(lease, 'stale'),
  fail: (session, lease) => session.fail(lease, new Error('stale')),
  'giving up': (session, lease) => session.fail(lease, 'stale', { giveUp: true }),
  'coming back later': (session, lease) => session.fail(lease, 'stale', { retryAfterMs: 10 }),
  release: (session, lease) => session.release(lease),
  'a bounce': (session, lease) => session.release(lease, { bounced: true, delayMs: 10 }),
  cancelled: (session, lease) => session.cancelled(lease),
  log: (session, lease) => session.log(lease, [line]),
  remembering: (session, lease) => remember(session, lease, 'stale', 'stale'),
  parking: (session, lease) => park(session, lease, { key: 'stale', channel: 'stale' }),
  spawning: (session, lease) => spawn(session, lease, { queue: 'stale', handler: 'stale' }),
};

/** The attempt lost its task to a newer one: its calls are refused, and the newer one is not affected. */
function overtaken(verb: Verb): LinkCase {
  return async (scene) => {
    const session = await scene.open();
    const { stale, fresh } = await scene.overtaken(session);
    const before = await scene.get(stale.task);
    assert.equal(await refusal(verb(session, stale)), 'LEASE_LOST');
    assert.deepEqual(await scene.get(stale.task), before);
    assert.deepEqual(await scene.operator.logs.read(stale.task), []);
    assert.deepEqual(await scene.operator.journal(stale.task), []);
    await session.complete(fresh, 'fresh');
    assert.equal((await scene.get(stale.task)).result, '"fresh"');
    assert.equal(await refusal(verb(session, stale)), 'LEASE_LOST');
  };
}

/** The reap alone ends the lease: no claim has come since. */
function reaped(verb: Verb): LinkCase {
  return async (scene) => {
    const session = await scene.open();
    const held = await scene.running(session);
    await scene.expire(session);
    const before = await scene.get(held.task);
    assert.equal(before.state, 'ready');
    assert.equal(await refusal(verb(session, held)), 'LEASE_LOST');
    assert.deepEqual(await scene.get(held.task), before);
  };
}

export const FENCING: LinkTopic = {
  name: 'fencing',
  cases: Object.fromEntries(
    Object.entries(VERBS).flatMap(([name, verb]) => [
      [`${name} is refused once another attempt owns the task`, overtaken(verb)],
      [`${name} is refused once the lease was reaped`, reaped(verb)],
    ]),
  ),
};
