import assert from 'node:assert/strict';
import { normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { NewClaim, Store, TokenRecord } from '../../store.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import { addToken, code, comeIn, exchangeCode, findToken, hashOf, token } from '../kit/token-scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const newWorker = ({ store }: Scene, name: string, incarnation: string): Promise<number> =>
  store.workerRegister({ name, incarnation, slots: 4, tags: ['own'], priority: 1 });

const workerOf = async ({ store }: Scene, worker: number) =>
  (await store.workerList()).find((record) => record.worker === worker);

export const TOKENS: Topic = {
  name: 'tokens',
  needs: ['whole'],
  cases: {
    'a name is taken while a token of these kinds is live; what is said of its worker comes with it, or not at all':
      async (scene) => {
        const { store } = scene;
        const unless = ['secret', 'code'] as const;
        const made = await store.tokenAdd({ token: code('one', { ttlMs: HOUR }), unless, setting: { addTags: ['a'] } });
        await addToken(scene, token('label', { kind: 'bearer' }));
        const late = { token: token('two'), unless, setting: { addTags: ['b'], priority: 3 } };
        assert.equal(await refusal(store.tokenAdd(late)), 'CONFLICT');
        assert.deepEqual(await comeIn(scene, 'one', 'two'), ['one']);
        const setting = { name: 'box', enabled: true, priority: undefined, tags: ['a'], grant: {} };
        assert.deepEqual(await store.workerSettings(), [setting]);
        assert.equal(await refusal(store.tokenAdd({ token: token('three'), unless: ['bearer'] })), 'CONFLICT');
        await store.tokenRevoke({ id: made.id });
        await store.tokenAdd(late);
        assert.deepEqual(await comeIn(scene, 'one', 'two', 'three'), ['two']);
        assert.deepEqual(await store.workerSettings(), [{ ...setting, priority: 3, tags: ['a', 'b'] }]);
      },

    'of several who make a token of one name at once one does': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen()];
      const texts = Array.from({ length: 12 }, (_, n) => `t${n}`);
      const outcomes = await Promise.all(
        texts.map((text, n) =>
          (stores[n % 2] as Store)
            .tokenAdd({ token: token(text), unless: ['secret'], setting: { addTags: [text] } })
            .then(
              () => 'made',
              (error) => error.code,
            ),
        ),
      );
      assert.equal(outcomes.filter((one) => one === 'made').length, 1);
      assert.equal(outcomes.filter((one) => one === 'CONFLICT').length, texts.length - 1);
      const winner = await comeIn(scene, ...texts);
      assert.equal(winner.length, 1);
      assert.deepEqual((await scene.store.workerSettings())[0]?.tags, winner);
    }),

    'a token is found by its hash with what was said of it, and by no other': async (scene) => {
      const { calendar } = await scene.store.clock();
      const given = { kind: 'bearer', role: 'operator', name: 'Ädas "{laptop}", \\ 🎄' } as const;
      const made = await addToken(scene, token('one', { ...given, prefix: 'lh_"', by: "o'neill", ttlMs: HOUR }));
      assert.deepEqual(made, {
        ...given,
        id: made.id,
        prefix: 'lh_"',
        by: "o'neill",
        createdAt: calendar,
        expiresAt: calendar + HOUR,
        usedAt: undefined,
        lastUsedAt: undefined,
        revokedAt: undefined,
      });
      assert.deepEqual(await findToken(scene, 'one'), made);
      for (const hash of [hashOf('two'), hashOf('one').toUpperCase(), hashOf('one').slice(0, 63), 'one', '', '%']) {
        assert.equal(await scene.store.tokenFind({ hash }), undefined);
      }
    },

    'when a token was last used is kept, never goes back, and changes nothing else of it': async (scene) => {
      const { store } = scene;
      const [one, two] = [await addToken(scene, token('one')), await addToken(scene, token('two', { name: 'bay' }))];
      await scene.pass(MINUTE);
      const { calendar } = await store.clock();
      await store.tokenUsed({ ids: [one.id, 999_999] });
      assert.deepEqual(await findToken(scene, 'one'), { ...one, lastUsedAt: calendar });
      assert.deepEqual(await findToken(scene, 'two'), two);
      await scene.pass(MINUTE);
      await store.tokenUsed({ ids: [one.id, two.id] });
      const later = (await store.clock()).calendar;
      assert.ok(later > calendar);
      await store.tokenUsed({ ids: [] });
      assert.deepEqual(
        (await store.tokenList()).map(({ name, lastUsedAt }) => [name, lastUsedAt]),
        [
          ['bay', later],
          ['box', later],
        ],
      );
      await scene.pass(MINUTE);
      await store.tokenRevoke({ id: one.id });
      assert.equal((await store.tokenList()).at(-1)?.lastUsedAt, later);
      await scene.pass(MINUTE);
      // A use is noted some time after it: one before the end must not look like one after it.
      await store.tokenUsed({ ids: [one.id] });
      const ended = (await store.tokenList()).at(-1);
      assert.ok(ended?.revokedAt !== undefined && ended.revokedAt > later);
      assert.equal(ended.lastUsedAt, ended.revokedAt);
    },

    'a worker whose secret has ended is granted nothing, whatever it asks for': async (scene) => {
      const { store } = scene;
      await store.limitPut({ name: 'api', limit: normalizeLimit({ concurrent: 100 }), by: '' });
      const lanes = [{}, { limits: normalizeUses(['api']) }].map((more) => ({
        queue: 'mail',
        handler: 'send',
        ...more,
      }));
      const [plain, limited] = (await store.laneIntern({ lanes })).map(({ id }) => id) as [number, number];
      await scene.pushMany(20, { lane: plain });
      await scene.pushMany(20, { lane: limited });
      const one = await scene.push({ lane: plain });
      const asks: readonly Partial<NewClaim>[] = [
        { lanes: [{ lane: plain, max: 1 }] },
        { lanes: [{ lane: limited, max: 1 }] },
        // Again, now that the store knows that there is room.
        { lanes: [{ lane: limited, max: 1 }] },
        { lanes: [{ lane: limited, max: 1, maxHeld: 50 }] },
        { lanes: [{ lane: plain, max: 1, minAgeMs: 0 }] },
        { lanes: [], task: one },
        { lanes: [{ lane: plain, max: 1 }], op: 'once' },
      ];
      const holder = await newWorker(scene, 'box', 'one');
      const granted = async (token: number | undefined): Promise<readonly (number | undefined)[]> => {
        const counts: (number | undefined)[] = [];
        for (const ask of asks) {
          const claim = { holder, token, ttlMs: TTL, max: 1, lanes: [], ...ask, op: ask.op && `${ask.op} ${token}` };
          counts.push((await store.taskClaim({ claims: [claim] }))[0]?.grants.length);
        }
        return counts;
      };
      const revoked = await addToken(scene, token('revoked'));
      const short = await addToken(scene, token('short', { name: 'other', ttlMs: HOUR }));
      await store.tokenRevoke({ id: revoked.id });
      await scene.pass(HOUR);
      await scene.unchanged(async () => {
        for (const ended of [revoked.id, short.id, 999])
          assert.deepEqual(
            await granted(ended),
            asks.map(() => undefined),
          );
      });
      const good = await addToken(scene, token('good'));
      assert.deepEqual(
        await granted(good.id),
        asks.map(() => 1),
      );
      assert.equal((await granted(undefined))[0], 1);
      await store.workerForget({ name: 'box' });
      assert.equal((await granted(good.id))[0], undefined);
    },

    'a token without a time is good until it is revoked, one with a time until then': async (scene) => {
      await addToken(scene, token('endless'));
      await addToken(scene, token('short', { ttlMs: HOUR }));
      await addToken(scene, code('code', { ttlMs: HOUR }));
      await scene.pass(HOUR - 1);
      assert.deepEqual(await comeIn(scene, 'endless', 'short', 'code'), ['endless', 'short', 'code']);
      await scene.pass(1);
      assert.deepEqual(await comeIn(scene, 'endless', 'short', 'code'), ['endless']);
      await scene.pass(1000 * DAY);
      assert.equal((await findToken(scene, 'endless'))?.expiresAt, undefined);
      assert.deepEqual(await comeIn(scene, 'endless'), ['endless']);
    },

    'a token that was revoked comes in no more, and is not revoked again': async (scene) => {
      const [one, two] = [await addToken(scene, token('one')), await addToken(scene, token('two'))];
      await scene.pass(10);
      assert.equal(await scene.store.tokenRevoke({ id: one.id }), true);
      assert.deepEqual(await comeIn(scene, 'one', 'two'), ['two']);
      await scene.pass(10);
      assert.equal(await scene.store.tokenRevoke({ id: one.id }), false);
      const [, listed] = await scene.store.tokenList();
      assert.deepEqual(listed, { ...one, revokedAt: one.createdAt + 10 });
      assert.equal(await scene.store.tokenRevoke({ id: two.id + 4711 }), false);
    },

    'a token that has expired, or a code that was used, is not there to be revoked': async (scene) => {
      const short = await addToken(scene, token('short', { ttlMs: 10 }));
      const used = await addToken(scene, code('code'));
      await exchangeCode(scene.store, 'code', token('secret'));
      await scene.pass(10);
      for (const { id } of [short, used]) assert.equal(await scene.store.tokenRevoke({ id }), false);
      assert.ok((await scene.store.tokenList()).every(({ revokedAt }) => revokedAt === undefined));
    },

    'a second token with the same hash is refused, and ends nobody': async (scene) => {
      const first = await addToken(scene, token('one'));
      await addToken(scene, token('other'));
      assert.equal(await refusal(addToken(scene, token('one', { kind: 'bearer', name: 'x' }))), 'CONFLICT');
      assert.equal(await refusal(addToken(scene, token('one'), 0)), 'CONFLICT');
      assert.deepEqual(await comeIn(scene, 'one', 'other'), ['one', 'other']);
      await scene.store.tokenRevoke({ id: first.id });
      assert.equal(
        await refusal(addToken(scene, token('one'))),
        'CONFLICT',
        'a text that was revoked does not come back',
      );
      assert.equal((await scene.store.tokenList()).length, 2);
    },

    'who is alive is told in the order of the question': async (scene) => {
      const endless = await addToken(scene, token('endless'));
      const revoked = await addToken(scene, token('revoked'));
      const short = await addToken(scene, token('short', { ttlMs: 10 }));
      const used = await addToken(scene, code('code'));
      const ids = [short, revoked, endless, used, endless].map(({ id }) => id);
      const alive = (): Promise<readonly boolean[]> => scene.store.tokenAlive({ ids: [...ids, 4711, 0, -1] });
      assert.deepEqual(await alive(), [true, true, true, true, true, false, false, false]);
      await scene.store.tokenRevoke({ id: revoked.id });
      await exchangeCode(scene.store, 'code', token('secret'));
      await scene.pass(10);
      assert.deepEqual(await alive(), [false, false, true, false, true, false, false, false]);
      assert.deepEqual(await scene.store.tokenAlive({ ids: [] }), []);
    },

    'the list has all of them, the newest first, those that have ended too': async (scene) => {
      assert.deepEqual(await scene.store.tokenList(), []);
      const made: TokenRecord[] = [];
      // At the same time, and not in alphabetical order.
      for (const text of ['m', 'a', 'z', 'k']) made.push(await addToken(scene, token(text, { name: text, ttlMs: 10 })));
      await scene.pass(DAY);
      assert.deepEqual(await scene.store.tokenList(), made.toReversed());
    },

    'to forget a worker ends its live secrets and codes, and says how many': async (scene) => {
      await addToken(scene, token('one'));
      await addToken(scene, token('two'), HOUR);
      await addToken(scene, code('code'));
      await addToken(scene, token('expired', { ttlMs: 10 }));
      await addToken(scene, token('labelled so', { kind: 'bearer', role: 'admin' }));
      await addToken(scene, token('other', { name: 'box-2' }));
      await scene.pass(10);
      assert.equal((await scene.store.workerForget({ name: 'box' })).tokens, 3);
      assert.deepEqual(await comeIn(scene, 'one', 'two', 'code', 'labelled so', 'other'), ['labelled so', 'other']);
      assert.equal((await scene.store.workerForget({ name: 'box' })).tokens, 0);
      assert.equal((await scene.store.workerForget({ name: 'nobody' })).tokens, 0);
    },

    'tokens that ended longer ago than the retention are pruned, live ones never': async (scene) => {
      const duty = await scene.duty('pruner', 900 * DAY);
      await addToken(scene, token('endless'));
      await addToken(scene, token('expired', { ttlMs: MINUTE }));
      await addToken(scene, code('used'));
      await addToken(scene, token('long', { ttlMs: 300 * DAY }));
      const { id } = await addToken(scene, token('revoked', { ttlMs: 300 * DAY }));
      await scene.pass(MINUTE);
      await exchangeCode(scene.store, 'used', token('secret'));
      await scene.store.tokenRevoke({ id });
      const left = async (): Promise<readonly string[]> =>
        (await scene.store.tokenList()).map(({ prefix }) => prefix).toSorted();
      await scene.pass(HOUR);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await left(), ['endl', 'expi', 'long', 'revo', 'secr', 'used']);
      await scene.pass(1);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await left(), ['endl', 'long', 'secr']);
      assert.deepEqual(await comeIn(scene, 'endless', 'long', 'secret'), ['endless', 'long', 'secret']);
      assert.deepEqual(await scene.store.tokenAlive({ ids: [id] }), [false]);
    },

    'many that have ended are pruned step by step': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      for (let n = 0; n < 25; n++) await addToken(scene, token(`t${n}`, n < 20 ? { ttlMs: 10 } : {}));
      await scene.pass(DAY);
      const lengths: number[] = [];
      for (let done = false; !done; ) {
        ({ done } = await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 8 }));
        lengths.push((await scene.store.tokenList()).length);
      }
      assert.deepEqual(lengths, [17, 9, 5]);
    },

    'the number of a pruned token never comes back': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const { id } = await addToken(scene, token('one', { ttlMs: 10 }));
      await scene.pass(DAY);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await scene.store.tokenList(), []);
      assert.ok((await addToken(scene, token('one'))).id > id, 'its hash may');
      assert.deepEqual(await scene.store.tokenAlive({ ids: [id] }), [false]);
    },

    'to forget a worker is to end its tokens and to drop what was said of its name': async (scene) => {
      const { store } = scene;
      for (const name of ['box', 'other']) {
        await store.workerSet({ name, enabled: false, priority: 9, tags: ['gpu'] });
        await addToken(scene, token(`secret of ${name}`, { name }));
        await addToken(scene, code(`code of ${name}`, { name }));
      }
      await addToken(scene, token('labelled so', { kind: 'bearer' }));
      assert.deepEqual(await store.workerForget({ name: 'box' }), { setting: true, tokens: 2 });
      assert.deepEqual(
        (await store.workerSettings()).map(({ name }) => name),
        ['other'],
      );
      const texts = ['secret of box', 'code of box', 'labelled so', 'secret of other', 'code of other'];
      assert.deepEqual(await comeIn(scene, ...texts), ['labelled so', 'secret of other', 'code of other']);
      assert.deepEqual(await store.workerForget({ name: 'box' }), { setting: false, tokens: 0 });
      // The next worker of that name begins without settings, and can be given new ones.
      const next = await workerOf(scene, await newWorker(scene, 'box', 'next'));
      assert.deepEqual([next?.enabled, next?.priority, next?.tags], [true, 1, ['own']]);
      await store.workerSet({ name: 'box', tags: ['new'] });
      assert.deepEqual((await store.workerSettings())[0], {
        name: 'box',
        enabled: true,
        priority: undefined,
        tags: ['new'],
        grant: {},
      });
    },

    'who lives under a forgotten name keeps what it has, and is told by its revision': async (scene) => {
      const { store } = scene;
      const living = await newWorker(scene, 'box', 'one');
      const off = await newWorker(scene, 'box', 'off');
      const other = await newWorker(scene, 'other', 'other');
      await store.workerBeat({ beats: [{ worker: off, state: 'offline' }] });
      await store.workerSet({ name: 'box', priority: 9, tags: ['gpu'] });
      const before = await Promise.all([living, off, other].map((worker) => workerOf(scene, worker)));
      const lane = await scene.lane();
      await scene.push();
      assert.deepEqual(await store.workerForget({ name: 'box' }), { setting: true, tokens: 0 });
      const [first] = before;
      assert.deepEqual(
        await Promise.all([living, off, other].map((worker) => workerOf(scene, worker))),
        before.with(0, first && { ...first, revision: first.revision + 1 }),
      );
      const claim = async (revision: number | undefined) => {
        const claims = [{ holder: living, revision, ttlMs: TTL, max: 1, lanes: [{ lane, max: 1 }] }];
        return (await store.taskClaim({ claims }))[0]?.grants.length;
      };
      assert.equal(await claim(first?.revision), undefined);
      assert.equal(await claim((first?.revision ?? 0) + 1), 1);
    },

    'a setting that meets its own removal comes before it or after it': needing(['reopen'], async (scene) => {
      const other = await scene.reopen();
      for (let round = 0; round < 20; round++) {
        const name = `box ${round}`;
        const worker = await newWorker(scene, name, name);
        await scene.store.workerSet({ name, tags: ['old'] });
        await Promise.all([scene.store.workerForget({ name }), other.workerSet({ name, priority: 5 })]);
        const setting = (await scene.store.workerSettings()).find((one) => one.name === name);
        const record = await workerOf(scene, worker);
        const seen = { setting, priority: record?.priority, tags: record?.tags };
        const after = { name, enabled: true, priority: 5, tags: [], grant: {} };
        const expected =
          setting === undefined
            ? { setting, priority: 5, tags: ['own', 'old'] }
            : { setting: after, priority: 5, tags: ['own'] };
        assert.deepEqual(seen, expected);
      }
    }),
  },
};
