import assert from 'node:assert/strict';
import { DAY, HOUR, MINUTE, refusal } from '../kit/scene.ts';
import { addToken, code, comeIn, exchangeCode, findToken, token } from '../kit/token-scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

export const TOKEN_EXCHANGE: Topic = {
  name: 'codes and rotations of tokens',
  needs: ['whole'],
  cases: {
    'a code is exchanged once, and then for nothing': async (scene) => {
      const made = await addToken(scene, code('code', { ttlMs: HOUR }));
      await scene.pass(10);
      const secret = await exchangeCode(scene.store, 'code', token('secret', { by: 'enrolment' }));
      assert.deepEqual([secret?.kind, secret?.name, secret?.by], ['secret', 'box', 'enrolment']);
      assert.equal(secret?.createdAt, made.createdAt + 10);
      assert.deepEqual(await comeIn(scene, 'code', 'secret'), ['secret']);
      assert.equal(await exchangeCode(scene.store, 'code', token('again')), undefined);
      assert.deepEqual(await comeIn(scene, 'again'), []);
      const listed = (await scene.store.tokenList()).find(({ id }) => id === made.id);
      assert.deepEqual(listed, { ...made, usedAt: made.createdAt + 10 });
    },

    'only a live code is exchanged': async (scene) => {
      await addToken(scene, token('secret'));
      await addToken(scene, token('bearer', { kind: 'bearer', role: 'admin' }));
      await addToken(scene, code('expired', { ttlMs: 10 }));
      const { id } = await addToken(scene, code('revoked'));
      await scene.store.tokenRevoke({ id });
      await scene.pass(10);
      const before = await scene.store.tokenList();
      for (const text of ['secret', 'bearer', 'expired', 'revoked', 'unknown']) {
        assert.equal(await exchangeCode(scene.store, text, token(`for ${text}`), { graceMs: 0 }), undefined, text);
      }
      assert.deepEqual(await scene.store.tokenList(), before);
    },

    'of many that exchange a code at once one gets it': async (scene) => {
      await addToken(scene, code('code'));
      const texts = Array.from({ length: 10 }, (_, n) => `secret ${n}`);
      const answers = await Promise.all(texts.map((text) => exchangeCode(scene.store, 'code', token(text))));
      const winners = texts.filter((_, n) => answers[n] !== undefined);
      assert.equal(winners.length, 1);
      assert.deepEqual(await comeIn(scene, ...texts), winners);
    },

    'of two processes that exchange a code at once one gets it': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen()];
      for (let round = 0; round < 20; round++) {
        await addToken(scene, code(`code ${round}`));
        const texts = stores.map((_, n) => `secret ${round} ${n}`);
        const answers = await Promise.all(
          stores.map((store, n) => exchangeCode(store, `code ${round}`, token(texts[n] as string))),
        );
        const winners = texts.filter((_, n) => answers[n] !== undefined);
        assert.equal(winners.length, 1);
        assert.deepEqual(await comeIn(scene, ...texts), winners);
      }
    }),

    'an exchange whose token is refused leaves its code as it was': async (scene) => {
      await addToken(scene, code('code'));
      await addToken(scene, token('one'));
      assert.equal(await refusal(exchangeCode(scene.store, 'code', token('one'), { graceMs: 0 })), 'CONFLICT');
      assert.deepEqual(await comeIn(scene, 'code', 'one'), ['code', 'one']);
      assert.ok(await exchangeCode(scene.store, 'code', token('two')));
    },

    'a rotation ends the others after the grace, and not before': async (scene) => {
      const first = await addToken(scene, token('one'));
      await addToken(scene, token('two'), HOUR);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['one', 'two']);
      assert.equal((await findToken(scene, 'one'))?.expiresAt, first.createdAt + HOUR);
      await scene.pass(HOUR - 1);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['one', 'two']);
      await scene.pass(1);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['two']);
      assert.equal((await findToken(scene, 'two'))?.expiresAt, undefined);
    },

    'a rotation without a grace ends the others at once, as a revocation does': async (scene) => {
      const first = await addToken(scene, token('one', { ttlMs: DAY }));
      await addToken(scene, token('two'), 0);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['two']);
      const [, listed] = await scene.store.tokenList();
      assert.deepEqual(listed, { ...first, revokedAt: first.createdAt });
    },

    'a rotation gives nobody more time, and a second one may give less': async (scene) => {
      await addToken(scene, token('short', { ttlMs: MINUTE }));
      await addToken(scene, token('long', { ttlMs: DAY }));
      await addToken(scene, token('new'), HOUR);
      await scene.pass(MINUTE);
      assert.deepEqual(await comeIn(scene, 'short', 'long', 'new'), ['long', 'new']);
      await addToken(scene, token('newer'), MINUTE);
      await scene.pass(MINUTE);
      assert.deepEqual(await comeIn(scene, 'long', 'new', 'newer'), ['newer']);
    },

    'a rotation ends only tokens of its kind and name, and wakes none that has ended': async (scene) => {
      await addToken(scene, token('other name', { name: 'Box' }));
      await addToken(scene, token('other kind', { kind: 'bearer' }));
      await addToken(scene, code('a code'));
      await addToken(scene, code('used code'));
      await exchangeCode(scene.store, 'used code', token('secret'));
      const revoked = await addToken(scene, token('revoked'));
      await scene.store.tokenRevoke({ id: revoked.id });
      await addToken(scene, token('expired', { ttlMs: 10 }));
      await scene.pass(10);
      const before = (await scene.store.tokenList()).filter(({ prefix }) => prefix !== 'secr');
      await addToken(scene, token('new'), DAY);
      const after = await scene.store.tokenList();
      assert.deepEqual(
        after.filter(({ prefix }) => !['secr', 'new'].includes(prefix)),
        before,
      );
      assert.equal(after.find(({ prefix }) => prefix === 'secr')?.expiresAt, (after[0]?.createdAt ?? 0) + DAY);
      await addToken(scene, code('a new code'), 0);
      assert.deepEqual(await comeIn(scene, 'a code', 'a new code', 'new', 'other kind'), [
        'a new code',
        'new',
        'other kind',
      ]);
    },

    'an exchange may end the secrets of before': async (scene) => {
      await addToken(scene, token('old'));
      await addToken(scene, code('code'));
      assert.ok(await exchangeCode(scene.store, 'code', token('new'), { graceMs: 0 }));
      assert.deepEqual(await comeIn(scene, 'old', 'new', 'code'), ['new']);
    },

    'of two rotations at once one token is left': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen()];
      for (let round = 0; round < 20; round++) {
        const name = `box ${round}`;
        const texts = stores.map((_, n) => `${name} ${n}`);
        await Promise.all(
          stores.map((store, n) =>
            store.tokenAdd({ token: token(texts[n] as string, { name }), replaces: { graceMs: 0 } }),
          ),
        );
        assert.equal((await comeIn(scene, ...texts)).length, 1);
      }
    }),

    'a worker that is forgotten while its code is exchanged leaves nothing to come in with': needing(
      ['reopen'],
      async (scene) => {
        const other = await scene.reopen();
        for (let round = 0; round < 20; round++) {
          const name = `box ${round}`;
          await addToken(scene, code(`code ${round}`, { name }));
          const [secret, ended] = await Promise.all([
            exchangeCode(scene.store, `code ${round}`, token(`secret ${round}`, { name })),
            other.workerForget({ name }),
          ]);
          assert.equal(ended.tokens, 1, secret === undefined ? 'the code' : 'the secret');
          assert.deepEqual(await comeIn(scene, `code ${round}`, `secret ${round}`), []);
        }
      },
    ),
  },
};
