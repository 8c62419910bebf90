import assert from 'node:assert/strict';
import type { BrowserSessionRecord, NewBrowserSession } from '../../store.ts';
import { DAY, HOUR, refusal, type Scene } from '../kit/scene.ts';
import { addToken, hashOf, token } from '../kit/token-scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

/** A session that began with the admin token; its text stands for its hash. */
const add = (
  { store }: Scene,
  text: string,
  more: Partial<NewBrowserSession> = {},
): Promise<BrowserSessionRecord | undefined> =>
  store.browserSessionAdd({ began: { admin: 'mark' }, ttlMs: HOUR, most: 100, ...more, hash: hashOf(text) });

const find = ({ store }: Scene, text: string): Promise<BrowserSessionRecord | undefined> =>
  store.browserSessionFind({ hash: hashOf(text) });

/** Which of these sessions are live. */
async function comeIn(scene: Scene, ...texts: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(texts.map((text) => find(scene, text)));
  return texts.filter((_, i) => found[i] !== undefined);
}

export const BROWSER_SESSIONS: Topic = {
  name: 'browser sessions',
  needs: ['whole'],
  cases: {
    'a session is found by its hash, and by no other': async (scene) => {
      const { calendar } = await scene.store.clock();
      const made = await add(scene, 'one');
      assert.ok(made);
      assert.deepEqual(made, {
        id: made.id,
        began: { admin: 'mark' },
        createdAt: calendar,
        expiresAt: calendar + HOUR,
      });
      assert.deepEqual(await find(scene, 'one'), made);
      for (const hash of [hashOf('two'), hashOf('one').toUpperCase(), hashOf('one').slice(0, 63), 'one', '', '%'])
        assert.equal(await scene.store.browserSessionFind({ hash }), undefined);
    },

    'a session has the role and the name that its token has now': async (scene) => {
      const { id } = await addToken(scene, token('t', { kind: 'bearer', role: 'operator', name: 'Ädas "laptop"' }));
      const made = await add(scene, 'one', { began: { token: id } });
      assert.deepEqual(made?.began, { token: id, role: 'operator', name: 'Ädas "laptop"' });
      assert.deepEqual((await find(scene, 'one'))?.began, made?.began);
    },

    'a session ends with its token, and none begins with one that has ended': async (scene) => {
      const revoked = await addToken(scene, token('revoked', { kind: 'bearer', role: 'read', name: 'a' }));
      const short = await addToken(scene, token('short', { kind: 'bearer', role: 'read', name: 'b', ttlMs: 10 }));
      await add(scene, 'of revoked', { began: { token: revoked.id } });
      await add(scene, 'of short', { began: { token: short.id } });
      await add(scene, 'of admin');
      assert.equal((await comeIn(scene, 'of revoked', 'of short', 'of admin')).length, 3);
      await scene.store.tokenRevoke({ id: revoked.id });
      await scene.pass(10);
      assert.deepEqual(await comeIn(scene, 'of revoked', 'of short', 'of admin'), ['of admin']);
      for (const id of [revoked.id, short.id, 4711])
        assert.equal(await add(scene, 'late', { began: { token: id } }), undefined);
      assert.deepEqual(await comeIn(scene, 'late'), []);
    },

    'a session is over at its time, and nothing makes it longer': async (scene) => {
      const made = await add(scene, 'one');
      await scene.pass(HOUR - 1);
      assert.deepEqual(await find(scene, 'one'), made);
      await scene.pass(1);
      assert.equal(await find(scene, 'one'), undefined);
    },

    'a session that was ended is over at every process, and others go on': needing(['reopen'], async (scene) => {
      const other = await scene.reopen();
      const [one, two] = [await add(scene, 'one'), await add(scene, 'two')];
      const ids = [one?.id, two?.id, 4711] as number[];
      assert.deepEqual(await other.browserSessionAlive({ ids }), [true, true, false]);
      assert.equal(await scene.store.browserSessionEnd({ hash: hashOf('one') }), true);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['two']);
      assert.equal(await other.browserSessionFind({ hash: hashOf('one') }), undefined);
      assert.deepEqual(await other.browserSessionAlive({ ids }), [false, true, false]);
      assert.equal(await other.browserSessionEnd({ hash: hashOf('one') }), false);
      await scene.pass(HOUR);
      assert.deepEqual(await other.browserSessionAlive({ ids }), [false, false, false]);
      assert.deepEqual(await other.browserSessionAlive({ ids: [] }), []);
    }),

    'a second session with the same hash is refused, whoever begins it': async (scene) => {
      await add(scene, 'one');
      assert.equal(await refusal(add(scene, 'one', { began: { admin: 'another' } })), 'CONFLICT');
      assert.deepEqual((await find(scene, 'one'))?.began, { admin: 'mark' });
    },

    'of the sessions of one token the newest stay, and those of others are not touched': async (scene) => {
      const { id } = await addToken(scene, token('t', { kind: 'bearer', role: 'read', name: 'a' }));
      await add(scene, 'admin', { most: 2 });
      await add(scene, 'other admin', { began: { admin: 'other' }, most: 2 });
      for (const text of ['a', 'b', 'c']) await add(scene, text, { began: { token: id }, most: 2 });
      assert.deepEqual(await comeIn(scene, 'admin', 'other admin', 'a', 'b', 'c'), ['admin', 'other admin', 'b', 'c']);
    },

    'sessions that are over are pruned step by step, live ones never, and no number comes back': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      let last = 0;
      for (let n = 0; n < 25; n++) {
        last = (await add(scene, `s${n}`, n % 5 === 0 ? { ttlMs: 30 * DAY } : {}))?.id ?? 0;
      }
      await scene.pass(DAY);
      let steps = 0;
      for (let done = false; !done; steps++) {
        ({ done } = await scene.store.taskPrune({ duty, retentionMs: 7 * DAY, limit: 8 }));
      }
      assert.equal(steps, 3);
      assert.deepEqual(await comeIn(scene, 's0', 's1', 's5', 's24'), ['s0', 's5']);
      assert.ok(((await add(scene, 's1'))?.id ?? 0) > last, 'its row is gone, and its number too');
    },
  },
};
