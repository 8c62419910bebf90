import assert from 'node:assert/strict';
import { isEngineError } from '../../../core/errors.ts';
import { type Limit, type LimitInput, normalizeLimit } from '../../../core/limits/limit.ts';
import type { LimitEdit } from '../../../core/limits/limit-edit.ts';
import type { LimitEdited, LimitEditing, LimitVersion, Store } from '../../store.ts';
import { refusal, type Scene } from '../kit/scene.ts';
import { type Case, needing, type Run, type Topic } from '../kit/topic.ts';

const MANY = 40;
const numbers = Array.from({ length: MANY }, (_, n) => n);

/** Runs a case through one store, and through several stores on the same data, as several processes would. */
const alone =
  (run: (scene: Scene, stores: readonly Store[]) => Promise<void>): Run =>
  (scene) =>
    run(scene, [scene.store]);
const together = (run: (scene: Scene, stores: readonly Store[]) => Promise<void>): Case =>
  needing(['reopen'], async (scene) => run(scene, [scene.store, await scene.reopen(), await scene.reopen()]));

/** All at once, spread over the stores in turn. */
const atOnce = <T, R>(
  stores: readonly Store[],
  items: readonly T[],
  act: (store: Store, item: T) => Promise<R>,
): Promise<R[]> => Promise.all(items.map((item, n) => act(stores[n % stores.length] as Store, item)));

const tagsOf = async ({ store }: Scene, name: string): Promise<readonly string[]> =>
  (await store.workerSettings()).find((one) => one.name === name)?.tags ?? [];

const edit = (store: Store, change: LimitEdit, more: Partial<LimitEditing> = {}): Promise<LimitEdited> =>
  store.limitEdit({ name: 'api', edit: change, by: 'me', ...more });

const put = ({ store }: Scene, limit: LimitInput): Promise<number> =>
  store.limitPut({ name: 'api', limit: normalizeLimit(limit), by: 'me' });

/** All that an edit could change. */
async function snapshot({ store }: Scene): Promise<unknown> {
  const of = { name: 'api', limit: 1000 };
  return [await store.limitList(), await store.limitHistory(of), await store.limitCounters(of)];
}

async function tagsAtOnce(scene: Scene, stores: readonly Store[]): Promise<void> {
  const worker = await scene.store.workerRegister({ name: 'box', incarnation: 'i', slots: 1, tags: ['own'] });
  await scene.store.workerSet({ name: 'box', tags: numbers.map((n) => `old${n}`) });
  await atOnce(stores, numbers, (store, n) =>
    store.workerSet({
      name: 'box',
      addTags: [`new${n}`],
      ...(n % 2 === 0 ? { priority: 5 } : { removeTags: [`old${n}`] }),
    }),
  );
  const expected = numbers.flatMap((n) => (n % 2 === 0 ? [`old${n}`, `new${n}`] : [`new${n}`])).sort();
  assert.deepEqual((await tagsOf(scene, 'box')).toSorted(), expected);
  const living = (await scene.store.workerList()).find((one) => one.worker === worker);
  assert.deepEqual(living?.tags.toSorted(), [...expected, 'own'].sort());
  assert.equal(living?.priority, 5);
}

/** Half of them change the one bound, half the other. */
async function limitsAtOnce(scene: Scene, stores: readonly Store[]): Promise<void> {
  await put(scene, { concurrent: 1, perKey: 1, strategy: 'refuse' });
  const answers = await atOnce(stores, numbers, (store, n) =>
    edit(store, n % 2 === 0 ? { concurrent: 100 + n } : { perKey: 100 + n }, { by: `${n}` }),
  );
  const [record] = await scene.store.limitList();
  assert.equal(record?.revision, 1 + MANY);
  const history = await scene.store.limitHistory({ name: 'api', limit: 1000 });
  assert.equal(history.length, 1 + MANY);
  assert.deepEqual(
    history
      .map(({ by }) => by)
      .slice(0, -1)
      .toSorted(),
    numbers.map(String).toSorted(),
  );
  // Each version differs from the one before it only in the bound that its edit names.
  const bound = (n: number): keyof Limit => (n % 2 === 0 ? 'concurrent' : 'perKey');
  for (const [i, { by, limit }] of history.slice(0, -1).entries()) {
    const before = history[i + 1]?.limit as Limit;
    assert.deepEqual(limit, { ...before, [bound(Number(by))]: 100 + Number(by) });
  }
  // Each caller got the version that its edit made.
  for (const [n, { before, after }] of answers.entries()) {
    const { revision, limit } = before as LimitVersion;
    assert.equal(after.revision, revision + 1);
    assert.deepEqual(after.limit, { ...limit, [bound(n)]: 100 + n });
    assert.deepEqual(history[MANY + 1 - after.revision]?.limit, after.limit);
  }
}

async function madeAtOnce(scene: Scene, stores: readonly Store[]): Promise<void> {
  const outcomes = await atOnce(stores, numbers, (store, n) =>
    edit(store, { concurrent: n }, { must: 'new' }).then(
      ({ after }) => String(after.limit.concurrent),
      (error: { code: string }) => error.code,
    ),
  );
  assert.equal(outcomes.filter((one) => one === 'CONFLICT').length, MANY - 1);
  const [record] = await scene.store.limitList();
  assert.ok(outcomes.includes(String(record?.limit.concurrent)));
  assert.equal((await scene.store.limitHistory({ name: 'api', limit: 1000 })).length, 1);
}

async function takenInTurns(scene: Scene, stores: readonly Store[]): Promise<void> {
  await put(scene, { concurrent: 0 });
  const few = numbers.slice(0, 12);
  // Each reads the value and writes the next number, as a program would that knows only whole values.
  await atOnce(stores, few, async (store) => {
    for (let done = false; !done; ) {
      const [seen] = await store.limitList();
      const { limit, revision } = seen as LimitVersion;
      done = await edit(store, { concurrent: (limit.concurrent ?? 0) + 1 }, { ifRevision: revision }).then(
        () => true,
        (error: unknown) => !isEngineError(error, 'CONFLICT') && Promise.reject(error),
      );
    }
  });
  assert.equal((await scene.store.limitList())[0]?.limit.concurrent, few.length);
  assert.equal((await scene.store.limitHistory({ name: 'api', limit: 1000 })).length, 1 + few.length);
}

export const EDITS: Topic = {
  name: 'edits',
  needs: ['whole'],
  cases: {
    'tags are added and taken away by themselves, and all others stay': async (scene) => {
      const { store } = scene;
      await store.workerSet({ name: 'box', addTags: ['a', 'b', 'a'] });
      assert.deepEqual(await tagsOf(scene, 'box'), ['a', 'b']);
      await store.workerSet({ name: 'box', addTags: ['b', 'c', 'd'], removeTags: ['a', 'd', 'never'] });
      assert.deepEqual(await tagsOf(scene, 'box'), ['b', 'c']);
      await store.workerSet({ name: 'box', enabled: false });
      assert.deepEqual(await tagsOf(scene, 'box'), ['b', 'c']);
      await store.workerSet({ name: 'box', tags: ['x', 'y'], addTags: ['z'], removeTags: ['x'] });
      assert.deepEqual(await store.workerSettings(), [
        { name: 'box', enabled: false, priority: undefined, tags: ['y', 'z'], grant: {} },
      ]);
    },

    'what is granted to a name is kept field by field, until it is taken away or the name is forgotten': async ({
      store,
    }) => {
      const grantOf = async (name: string): Promise<unknown> =>
        (await store.workerSettings()).find((one) => one.name === name)?.grant;
      const permissions = { channels: ['mail-*'], reuse: true };
      await store.workerSet({ name: 'box', grant: { handlers: ['a', 'b'], slots: 3 } });
      await store.workerSet({ name: 'box', grant: { queues: [], permissions } });
      await store.workerSet({ name: 'box', tags: ['x'] });
      assert.deepEqual(await grantOf('box'), { handlers: ['a', 'b'], queues: [], slots: 3, permissions });
      await store.workerSet({ name: 'box', grant: { handlers: null, slots: 5 } });
      assert.deepEqual(await grantOf('box'), { anyHandler: true, queues: [], slots: 5, permissions });
      await store.workerSet({ name: 'box', grant: { handlers: ['c'] } });
      assert.deepEqual(await grantOf('box'), { handlers: ['c'], queues: [], slots: 5, permissions });
      await store.workerSet({ name: 'other', enabled: false });
      assert.deepEqual(await grantOf('other'), {});
      await store.workerForget({ name: 'box' });
      assert.equal(await grantOf('box'), undefined);
    },

    'the handlers of a first join are granted once, and never in the place of what was decided before': async ({
      store,
    }) => {
      const grantOf = async (name: string): Promise<unknown> =>
        (await store.workerSettings()).find((one) => one.name === name)?.grant;
      const joins = (name: string, ...firstHandlers: string[]) => store.workerSet({ name, grant: { firstHandlers } });
      await store.workerSet({ name: 'box', grant: { slots: 3 } });
      await joins('box', 'a', 'b');
      await joins('box', 'c');
      assert.deepEqual(await grantOf('box'), { handlers: ['a', 'b'], slots: 3 });
      await store.workerSet({ name: 'any', grant: { handlers: null } });
      await joins('any', 'a');
      assert.deepEqual(await grantOf('any'), { anyHandler: true });
      await store.workerSet({ name: 'none', grant: { handlers: [] } });
      await joins('none', 'a');
      assert.deepEqual(await grantOf('none'), { handlers: [] });
      await Promise.all([joins('new', 'a'), joins('new', 'b')]);
      // Of two at once one is the first: which of them, two connections do not promise.
      const { handlers } = (await grantOf('new')) as { readonly handlers: readonly string[] };
      assert.ok(handlers.length === 1 && ['a', 'b'].includes(handlers[0] ?? ''), `granted were ${handlers.join(', ')}`);
    },

    'tags that several add and take away at once are all there, or gone': alone(tagsAtOnce),
    'tags that several processes add and take away at once are all there, or gone': together(tagsAtOnce),

    'an edit of a limit changes what it names, and null takes a bound away': async (scene) => {
      const rate = { max: 20, window: '1m' } as const;
      const made = await edit(scene.store, { concurrent: 4, perKey: 2, rate }, { by: 'ada' });
      assert.deepEqual(made.after.limit, normalizeLimit({ concurrent: 4, perKey: 2, rate }));
      assert.deepEqual([made.before, made.after.revision, made.after.changedBy], [undefined, 1, 'ada']);
      const { before, after } = await edit(
        scene.store,
        { perKey: null, rate: { burst: 5 }, backlog: 9 },
        { by: 'bob' },
      );
      assert.deepEqual(before, made.after);
      assert.deepEqual(after.limit, normalizeLimit({ concurrent: 4, rate: { ...rate, burst: 5 }, backlog: 9 }));
      const [record] = await scene.store.limitList();
      assert.deepEqual(record, { ...after, name: 'api', active: 0, waiting: 0 });
      assert.deepEqual(await scene.store.limitHistory({ name: 'api', limit: 9 }), [
        { at: after.changedAt, by: 'bob', limit: after.limit },
        { at: made.after.changedAt, by: 'ada', limit: made.after.limit },
      ]);
      const [counter] = await scene.store.limitCounters({ name: 'api', limit: 9 });
      assert.deepEqual([counter?.cap, counter?.rate?.burst], [4, 5]);
    },

    'an edit that changes nothing is not written': async (scene) => {
      await put(scene, { concurrent: 4, perKey: 2 });
      const before = await snapshot(scene);
      const same = await edit(scene.store, { concurrent: 4 }, { by: 'bob', ifRevision: 1 });
      assert.deepEqual(same.after, same.before);
      assert.equal(same.after.changedBy, 'me');
      assert.deepEqual(await snapshot(scene), before);
    },

    'an edit of a limit that has another revision by now is refused, and changes nothing': async (scene) => {
      await put(scene, { concurrent: 4 });
      await edit(scene.store, { concurrent: 5 }, { ifRevision: 1 });
      const before = await snapshot(scene);
      assert.equal(await refusal(edit(scene.store, { concurrent: 6 }, { ifRevision: 1 })), 'CONFLICT');
      assert.equal(await refusal(edit(scene.store, { concurrent: 5 }, { ifRevision: 3 })), 'CONFLICT');
      assert.deepEqual(await snapshot(scene), before);
      assert.equal((await edit(scene.store, { concurrent: 6 }, { ifRevision: 2 })).after.revision, 3);
    },

    'an edit that makes no sense with what is there is refused, and changes nothing': async (scene) => {
      await put(scene, { rate: { max: 20, window: '1m', burst: 15 } });
      const before = await snapshot(scene);
      assert.equal(await refusal(edit(scene.store, { rate: { max: 10 }, concurrent: 1 })), 'INVALID_INPUT');
      assert.equal(await refusal(edit(scene.store, { cost: { burst: 1 } })), 'INVALID_INPUT');
      assert.equal(await refusal(edit(scene.store, { cost: { burst: 1 } }, { name: 'other' })), 'INVALID_INPUT');
      assert.deepEqual(await snapshot(scene), before);
      assert.deepEqual(await scene.store.limitHistory({ name: 'other', limit: 9 }), []);
    },

    'a limit is made, or must be there, as the edit says; one that was removed is not': async (scene) => {
      assert.equal(await refusal(edit(scene.store, { concurrent: 1 }, { must: 'there' })), 'NOT_FOUND');
      assert.equal(await refusal(edit(scene.store, { concurrent: 1 }, { ifRevision: 0 })), 'NOT_FOUND');
      assert.deepEqual(await snapshot(scene), [[], [], []]);
      await edit(scene.store, { concurrent: 1, perKey: 1 }, { must: 'new' });
      assert.equal(await refusal(edit(scene.store, { concurrent: 2 }, { must: 'new' })), 'CONFLICT');
      await scene.store.limitRemove({ name: 'api', by: 'me' });
      assert.equal(await refusal(edit(scene.store, { concurrent: 2 }, { must: 'there' })), 'NOT_FOUND');
      const { before, after } = await edit(scene.store, { concurrent: 2 }, { must: 'new' });
      assert.deepEqual([before, after.revision, after.limit], [undefined, 3, normalizeLimit({ concurrent: 2 })]);
    },

    'of many edits of a limit at once each is made on what the one before has left': alone(limitsAtOnce),
    'of many edits of a limit by several processes each is made on what the one before has left':
      together(limitsAtOnce),

    'of many that make a limit at once one does': alone(madeAtOnce),
    'of many processes that make a limit at once one does': together(madeAtOnce),

    'who names the revision that was read overwrites nothing': alone(takenInTurns),
    'who names the revision that was read overwrites nothing of other processes': together(takenInTurns),
  },
};
