import assert from 'node:assert/strict';
import type { HoldingStatus } from '../../../core/credential/holding.ts';
import type { CredentialLevel } from '../../../core/credential/level.ts';
import type { CredentialPut, CredentialRecord, HoldingRecord, Store } from '../../store.ts';
import { HOUR, refusal, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const put = (
  store: Store,
  change: Partial<CredentialPut> & { readonly version?: number } = {},
): Promise<CredentialRecord> => {
  const { version, ...more } = change;
  const value = version === undefined ? {} : { value: { version, sealed: `sealed ${version}`, kind: 'text' } as const };
  return store.credentialPut({ name: 'db', ...value, ...more });
};
const ack = (
  store: Store,
  version: number,
  status: 'stored' | 'removed' | 'failed' = 'stored',
  worker = 'box',
): Promise<boolean> => store.credentialAck({ worker, credential: 'db', version, status, level: 'file' });

const report = (
  store: Store,
  holds: Readonly<Record<string, number | undefined>>,
  level: CredentialLevel | 'unknown' = 'file',
  worker = 'box',
): Promise<readonly string[]> =>
  store.credentialReport({
    worker,
    said: { level, holds: new Map(Object.entries(holds)), tells: level === 'unknown' },
  });

async function holding(store: Store, worker = 'box', credential = 'db'): Promise<HoldingRecord | undefined> {
  const [found] = await store.credentialHoldings({ worker, credentials: [credential] });
  return found;
}

async function statusOf(store: Store, worker = 'box'): Promise<HoldingStatus | undefined> {
  return (await holding(store, worker))?.status;
}

const register = (store: Store, name = 'box', more: { readonly tags?: readonly string[] } = {}): Promise<number> =>
  store.workerRegister({ name, incarnation: `${name} ${Math.random()}`, slots: 1, tags: [], ...more });

async function tagsOf(store: Store, worker: number): Promise<readonly string[] | undefined> {
  return (await store.workerList()).find((one) => one.worker === worker)?.tags;
}

/** A credential that the worker `box` holds in version 1. */
async function held({ store }: Scene): Promise<number> {
  const worker = await register(store);
  await put(store, { version: 1, addWorkers: ['box'] });
  await report(store, {});
  assert.equal(await ack(store, 1), true);
  return worker;
}

const LABEL = 'credential:db';

export const CREDENTIALS: Topic = {
  name: 'credentials',
  needs: ['whole'],
  cases: {
    'a credential is kept as it was given, and lists show no value': async ({ store, world }) => {
      const made = await store.credentialPut({
        name: 'db',
        value: { version: 1, sealed: 'S', kind: 'fields', type: 'login' },
        addWorkers: ['b', 'a', 'a'],
        addTags: ['gpu'],
        level: 'keyring',
      });
      assert.ok(made.createdAt <= made.changedAt && world !== undefined);
      const { createdAt, changedAt } = made;
      assert.deepEqual(made, {
        name: 'db',
        version: 1,
        present: true,
        kind: 'fields',
        type: 'login',
        workers: ['a', 'b'],
        tags: ['gpu'],
        level: 'keyring',
        createdAt,
        changedAt,
      });
      assert.deepEqual(await store.credentialList(), [made]);
      assert.deepEqual(await store.credentialGet({ name: 'db' }), made);
      assert.equal(await store.credentialGet({ name: 'other' }), undefined);
      const value = { name: 'db', version: 1, valueVersion: 1, sealed: 'S' };
      assert.deepEqual(await store.credentialValues({}), [value]);
      assert.deepEqual(await store.credentialValues({ names: ['db', 'other'] }), [value]);
      assert.deepEqual(await store.credentialValues({ names: [] }), []);
    },

    'an edit changes what it names, and nothing else': async ({ store }) => {
      await put(store, { version: 1, addWorkers: ['a', 'b'], addTags: ['gpu'], level: 'file' });
      const edited = await put(store, { addWorkers: ['c'], removeWorkers: ['a', 'nobody'] });
      assert.deepEqual([edited.version, edited.workers, edited.tags, edited.level], [1, ['b', 'c'], ['gpu'], 'file']);
      const again = await put(store, { version: 2, level: null, removeTags: ['gpu'] });
      assert.deepEqual([again.version, again.workers, again.tags, again.level], [2, ['b', 'c'], [], undefined]);
      assert.deepEqual((await store.credentialValues({}))[0]?.sealed, 'sealed 2');
    },

    'a value has the next version, or is refused and changes nothing': async ({ store }) => {
      assert.equal(await refusal(put(store, { addWorkers: ['box'] })), 'NOT_FOUND');
      assert.equal(await refusal(put(store, { version: 2 })), 'CONFLICT');
      assert.deepEqual(await store.credentialList(), []);
      await put(store, { version: 1 });
      for (const version of [1, 3])
        assert.equal(await refusal(put(store, { version, addWorkers: ['box'] })), 'CONFLICT');
      assert.deepEqual(await store.credentialHoldings({}), []);
      const both = await Promise.allSettled([put(store, { version: 2 }), put(store, { version: 2 })]);
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    },

    'versions go on over a removal': async (scene) => {
      const { store } = scene;
      await held(scene);
      await put(store, { version: 2 });
      assert.equal(await store.credentialRemove({ name: 'db' }), true);
      assert.equal(await store.credentialRemove({ name: 'db' }), false);
      assert.deepEqual([await store.credentialList(), await store.credentialValues({})], [[], []]);
      const gone = await store.credentialGet({ name: 'db' });
      assert.deepEqual([gone?.present, gone?.version, gone?.workers], [false, 2, []]);
      assert.equal(await refusal(put(store, { addWorkers: ['box'] })), 'NOT_FOUND');
      assert.equal(await refusal(put(store, { version: 1 })), 'CONFLICT');
      const made = await put(store, { version: 3 });
      assert.deepEqual([made.present, made.version, made.workers, made.level], [true, 3, [], undefined]);
      // Nobody who had it is chosen again by that.
      assert.equal(await statusOf(store), 'removing');
    },

    'a worker carries the label from its acknowledgement on, also the next one of its name': async (scene) => {
      const { store } = scene;
      const worker = await register(store, 'box', { tags: ['own'] });
      await put(store, { version: 1, addWorkers: ['box'] });
      assert.equal(await statusOf(store), 'wanted');
      const [before] = await store.workerList();
      assert.deepEqual(before?.tags, ['own']);
      assert.equal(await ack(store, 1), true);
      const [after] = await store.workerList();
      assert.deepEqual(await tagsOf(store, worker), ['own', LABEL]);
      assert.equal(after?.revision, (before?.revision ?? 0) + 1);
      const { status, acked, level } = (await holding(store)) as HoldingRecord;
      assert.deepEqual([status, acked, level], ['stored', 1, 'file']);
      assert.deepEqual(await tagsOf(store, await register(store)), [LABEL]);
      assert.deepEqual(await tagsOf(store, await register(store, 'other')), []);
    },

    'a setting of its name leaves the label': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      await store.workerSet({ name: 'box', addTags: ['gpu'] });
      assert.deepEqual(await tagsOf(store, worker), ['gpu', LABEL]);
      await store.workerSet({ name: 'box', tags: [], enabled: false });
      assert.deepEqual(await tagsOf(store, worker), [LABEL]);
    },

    'an answer to an order that does not stand any more changes nothing': async (scene) => {
      const { store } = scene;
      const worker = await register(store);
      await put(store, { version: 1, addWorkers: ['box'] });
      assert.equal(await ack(store, 2), false);
      assert.equal(await ack(store, 1, 'removed'), false);
      assert.equal(await ack(store, 1, 'stored', 'stranger'), false);
      assert.equal(await store.credentialAck({ worker: 'box', credential: 'x', version: 1, status: 'stored' }), false);
      await put(store, { version: 2 });
      assert.equal(await ack(store, 1), false, 'a worker that has the version of before carries no label');
      assert.deepEqual(await tagsOf(store, worker), []);
      await store.credentialRemove({ name: 'db' });
      assert.equal(await ack(store, 2), false, 'an acknowledgement that comes after the removal gives no label');
      assert.deepEqual([await statusOf(store), await tagsOf(store, worker)], ['removing', []]);
    },

    'a label goes with the write that takes a credential away': async (scene) => {
      const { store } = scene;
      const ways: readonly (() => Promise<unknown>)[] = [
        () => put(store, { removeWorkers: ['box'] }),
        () => store.credentialRemove({ name: 'db' }),
      ];
      for (const [i, way] of ways.entries()) {
        const version = (await store.credentialGet({ name: 'db' }))?.version ?? 0;
        const worker = await register(store);
        await put(store, { version: version + 1, addWorkers: ['box'] });
        assert.equal(await ack(store, version + 1), true);
        assert.deepEqual(await tagsOf(store, worker), [LABEL]);
        await way();
        assert.deepEqual(await tagsOf(store, worker), [], `way ${i}`);
        assert.equal(await statusOf(store), 'removing');
        assert.equal(await ack(store, version + 1, 'removed'), true);
        assert.equal(await statusOf(store), 'removed');
      }
    },

    'a claim by the label of before is refused': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      const revision = (await store.workerList())[0]?.revision;
      await put(store, { removeWorkers: ['box'] });
      await scene.push();
      const lane = await scene.lane();
      const claim = { holder: worker, max: 1, lanes: [{ lane, max: 1 }], ttlMs: 1000, revision };
      assert.deepEqual(await store.taskClaim({ claims: [claim] }), [undefined]);
    },

    'whoever was given a tag is chosen by it, and loses it with the tag': async (scene) => {
      const { store } = scene;
      const worker = await register(store, 'box', { tags: ['gpu'] });
      await put(store, { version: 1, addTags: ['gpu'] });
      assert.equal(await statusOf(store), undefined, 'a tag that it brings by itself does not count');
      await store.workerSet({ name: 'box', addTags: ['gpu', 'eu'] });
      assert.equal(await statusOf(store), 'wanted');
      assert.equal(await ack(store, 1), true);
      await store.workerSet({ name: 'box', removeTags: ['gpu'] });
      assert.deepEqual([await statusOf(store), await tagsOf(store, worker)], ['removing', ['gpu', 'eu']]);
      await store.workerSet({ name: 'late', addTags: ['gpu'] });
      await put(store, { addTags: ['eu'] });
      const all = await store.credentialHoldings({ credentials: ['db'] });
      assert.deepEqual(
        all.map(({ worker: name, status }) => [name, status]),
        [
          ['box', 'wanted'],
          ['late', 'wanted'],
        ],
      );
    },

    'a new version is on its way to every holder, which keeps its label until it fails': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      assert.deepEqual(await store.credentialPending({ workers: ['box'] }), []);
      await put(store, { version: 2, level: 'file' });
      assert.deepEqual(await store.credentialPending({ workers: ['box', 'other'] }), [
        { worker: 'box', credential: 'db', version: 2, level: { demanded: 'file' } },
      ]);
      assert.deepEqual(await tagsOf(store, worker), [LABEL]);
      assert.equal(await ack(store, 2, 'failed'), true);
      assert.deepEqual([await statusOf(store), await tagsOf(store, worker)], ['failed', []]);
      assert.deepEqual(await store.credentialPending({ workers: ['box'] }), []);
      await put(store, { version: 3 });
      assert.equal(await ack(store, 3), true);
      assert.deepEqual(await tagsOf(store, worker), [LABEL]);
    },

    'a disabled worker is sent no value, and told to remove what it should not have': async (scene) => {
      const { store } = scene;
      await held(scene);
      await store.workerSet({ name: 'box', enabled: false });
      await put(store, { version: 2 });
      assert.deepEqual(await store.credentialPending({ workers: ['box'] }), []);
      await put(store, { removeWorkers: ['box'] });
      assert.deepEqual(await store.credentialPending({ workers: ['box'] }), [
        { worker: 'box', credential: 'db', version: 2, level: undefined },
      ]);
    },

    'whoever comes says what it holds: the label follows, and what it should not hold is found': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      assert.deepEqual(await report(store, {}), []);
      assert.deepEqual([await statusOf(store), await tagsOf(store, worker)], ['wanted', []]);
      assert.deepEqual(await report(store, { db: 1, stray: 7 }), ['stray']);
      assert.deepEqual([await statusOf(store), await tagsOf(store, worker)], ['stored', [LABEL]]);
      await put(store, { removeWorkers: ['box'] });
      await report(store, { db: 1 });
      assert.equal(await statusOf(store), 'removing');
      await report(store, {});
      assert.equal(await statusOf(store), 'removed');
      await report(store, { db: 1 });
      assert.equal(await statusOf(store), 'removing');
    },

    'a worker without a place for credentials holds none': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      await store.credentialReport({ worker: 'box', said: undefined });
      assert.deepEqual(await tagsOf(store, worker), []);
      const { status, error } = (await holding(store)) as HoldingRecord;
      assert.deepEqual([status, error], ['failed', 'the worker takes no credentials']);
    },

    'a demanded level refuses workers that do not reach it, with the reason': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      await put(store, { level: 'keyring' });
      const { status, error } = (await holding(store)) as HoldingRecord;
      assert.deepEqual([status, await tagsOf(store, worker)], ['removing', []]);
      assert.match(error ?? '', /keeps credentials by file, and keyring is demanded/);
      assert.equal(await ack(store, 1, 'removed'), true);
      assert.equal(await statusOf(store), 'failed');
      await report(store, {}, 'systemd');
      assert.equal(await statusOf(store), 'wanted');
    },

    'what a worker tells of itself counts where that was allowed': async (scene) => {
      const { store } = scene;
      const worker = await register(store);
      await report(store, { own: undefined }, 'unknown');
      assert.deepEqual(await tagsOf(store, worker), []);
      await store.workerSet({ name: 'box', grant: { ownCredentials: true } });
      assert.deepEqual(await tagsOf(store, worker), ['credential:own']);
      await report(store, { other: undefined }, 'unknown');
      assert.deepEqual(await tagsOf(store, worker), ['credential:other']);
      assert.deepEqual((await store.workerSettings())[0]?.grant, { ownCredentials: true });
      await store.workerSet({ name: 'box', grant: { ownCredentials: null } });
      assert.deepEqual(await tagsOf(store, worker), []);
    },

    'a removed name is chosen by nothing any more, and begins with nothing': async (scene) => {
      const { store } = scene;
      const worker = await held(scene);
      await store.workerForget({ name: 'box' });
      assert.deepEqual(await tagsOf(store, worker), []);
      assert.deepEqual(await store.credentialHoldings({}), []);
      assert.deepEqual((await store.credentialList())[0]?.workers, []);
      assert.deepEqual(await report(store, { db: 1 }), ['db']);
    },

    'times of a holding say since when it is wanted, and when that last changed': async (scene) => {
      const { store } = scene;
      await held(scene);
      const first = (await holding(store)) as HoldingRecord;
      await scene.pass(HOUR);
      await put(store, { version: 2 });
      const asked = (await holding(store)) as HoldingRecord;
      assert.ok(asked.askedAt >= first.askedAt + HOUR);
      await scene.pass(HOUR);
      await ack(store, 2);
      const acked = (await holding(store)) as HoldingRecord;
      assert.ok(acked.askedAt === asked.askedAt && acked.changedAt >= asked.changedAt + HOUR);
    },

    'the first key pair of the cluster stays, and another one takes the place of that which was seen': async (
      scene,
    ) => {
      const { store } = scene;
      assert.equal(await store.credentialSigner({}), undefined);
      const [one, two] = [
        { public: 'one', sealed: 's1' },
        { public: 'two', sealed: 's2' },
      ];
      assert.deepEqual(await store.credentialSigner({ signer: one }), one);
      assert.deepEqual(await store.credentialSigner({ signer: two }), one);
      assert.deepEqual(await store.credentialSigner({ signer: two, instead: 'other' }), one);
      assert.deepEqual(await store.credentialSigner({ signer: two, instead: 's1' }), two);
    },

    'another secret of the cluster comes with what was sealed anew': async (scene) => {
      const { store } = scene;
      await put(store, { version: 1 });
      await store.credentialPut({ name: 'late', value: { version: 1, sealed: 'L', kind: 'text' } });
      await store.credentialSigner({ signer: { public: 'p', sealed: 'old' } });
      const values = [
        { name: 'db', valueVersion: 1, sealed: 'new' },
        { name: 'late', valueVersion: 9, sealed: 'not this' },
      ];
      await store.credentialReseal({ fingerprint: 'f2', values, signer: { public: 'p', sealed: 'new' } });
      assert.deepEqual(
        (await store.credentialValues({})).map(({ sealed }) => sealed),
        ['new', 'L'],
      );
      assert.deepEqual(await store.credentialSigner({}), { public: 'p', sealed: 'new' });
      assert.equal((await store.secretPin({}))?.fingerprint, 'f2');
      await store.credentialReseal({ fingerprint: 'f3', values: [], signer: null });
      assert.equal(await store.credentialSigner({}), undefined);
    },
  },
};
