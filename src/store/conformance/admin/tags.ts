import assert from 'node:assert/strict';
import type { Store, TagChanged } from '../../store.ts';
import type { Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const namesOf = async (store: Store): Promise<readonly string[]> => (await store.tagList()).map(({ name }) => name);

const add = (store: Store, name: string): Promise<boolean> => store.tagAdd({ name, by: 'ada' });

const rename = (store: Store, from: string, to: string): Promise<TagChanged> => store.tagRename({ from, to, by: 'bo' });

/** The tags that the setting of a name gives, and those that its live worker carries. */
async function tagsOf({ store }: Scene, name: string): Promise<readonly (readonly string[] | undefined)[]> {
  const setting = (await store.workerSettings()).find((one) => one.name === name);
  const worker = (await store.workerList()).find((one) => one.name === name);
  return [setting?.tags, worker?.tags];
}

/** Two workers that have the tag, one of them alive, and one that brings it itself. */
async function workersWith(scene: Scene, tag: string): Promise<void> {
  const { store } = scene;
  const worker = (name: string, tags: readonly string[]) =>
    store.workerRegister({ name, incarnation: name, slots: 1, tags });
  await worker('box', ['own']);
  await worker('bringer', [tag]);
  await store.workerSet({ name: 'box', tags: [tag, 'eu'] });
  await store.workerSet({ name: 'away', tags: [tag] });
}

/** Tags that were made by name. */
export const TAGS: Topic = {
  name: 'tags',
  needs: ['whole'],
  cases: {
    'a tag is made once, and is listed while nobody carries it': async ({ store }) => {
      const { calendar } = await store.clock();
      assert.deepEqual([await add(store, 'gpu'), await add(store, 'arm')], [true, true]);
      assert.equal(await store.tagAdd({ name: 'gpu', by: 'someone else' }), false);
      const [arm, gpu, ...more] = await store.tagList();
      assert.deepEqual([arm?.name, gpu?.name, gpu?.by, more], ['arm', 'gpu', 'ada', []]);
      assert.ok(gpu !== undefined && gpu.at >= calendar);
    },

    'a renamed tag has its new name at every worker that was given it, alive or not': async (scene) => {
      const { store } = scene;
      await add(store, 'gpu');
      await workersWith(scene, 'gpu');
      const revision = (await store.workerList()).find(({ name }) => name === 'box')?.revision as number;
      assert.deepEqual(await rename(store, 'gpu', 'cuda'), { kind: 'done', workers: ['away', 'box'] });
      assert.deepEqual(await namesOf(store), ['cuda']);
      assert.equal((await store.tagList())[0]?.by, 'bo');
      assert.deepEqual(await tagsOf(scene, 'box'), [
        ['eu', 'cuda'],
        ['own', 'eu', 'cuda'],
      ]);
      assert.deepEqual(await tagsOf(scene, 'away'), [['cuda'], undefined]);
      assert.deepEqual(await tagsOf(scene, 'bringer'), [undefined, ['gpu']]);
      const box = (await store.workerList()).find(({ name }) => name === 'box');
      assert.ok((box?.revision as number) > revision, 'claims learn of it');
      assert.deepEqual(await rename(store, 'gpu', 'other'), { kind: 'none', workers: [] });
    },

    'a tag that was only given to workers can be renamed, and is made by that': async (scene) => {
      await workersWith(scene, 'gpu');
      assert.equal((await rename(scene.store, 'gpu', 'cuda')).kind, 'done');
      assert.deepEqual(await namesOf(scene.store), ['cuda']);
    },

    'two tags do not become one by a new name': async (scene) => {
      const { store } = scene;
      await add(store, 'gpu');
      await add(store, 'cuda');
      await workersWith(scene, 'gpu');
      const before = await tagsOf(scene, 'box');
      assert.deepEqual(await rename(store, 'gpu', 'cuda'), { kind: 'taken', workers: ['away', 'box'] });
      assert.equal((await rename(store, 'gpu', 'eu')).kind, 'taken');
      assert.deepEqual(await namesOf(store), ['cuda', 'gpu']);
      assert.deepEqual(await tagsOf(scene, 'box'), before);
    },

    'a tag that workers were given stays unless it is taken from them': async (scene) => {
      const { store } = scene;
      await add(store, 'gpu');
      await add(store, 'free');
      await workersWith(scene, 'gpu');
      const kept = await tagsOf(scene, 'box');
      const used = { kind: 'used', workers: ['away', 'box'] };
      assert.deepEqual(await store.tagRemove({ name: 'gpu', force: false }), used);
      assert.deepEqual([await namesOf(store), await tagsOf(scene, 'box')], [['free', 'gpu'], kept]);
      assert.deepEqual(await store.tagRemove({ name: 'free', force: false }), { kind: 'done', workers: [] });
      assert.deepEqual(await store.tagRemove({ name: 'gpu', force: true }), { ...used, kind: 'done' });
      assert.deepEqual(await tagsOf(scene, 'box'), [['eu'], ['own', 'eu']]);
      assert.deepEqual(await tagsOf(scene, 'away'), [[], undefined]);
      assert.deepEqual(await tagsOf(scene, 'bringer'), [undefined, ['gpu']]);
      assert.deepEqual(await store.tagRemove({ name: 'gpu', force: true }), { kind: 'none', workers: [] });
      assert.deepEqual(await namesOf(store), []);
    },

    'a tag that chooses who holds a credential does so under its new name, and takes it along when it is removed':
      async ({ store }) => {
        const status = async (): Promise<string | undefined> =>
          (await store.credentialHoldings({ worker: 'box' }))[0]?.status;
        const tags = async (): Promise<readonly string[] | undefined> => (await store.workerList())[0]?.tags.toSorted();
        const value = { version: 1, sealed: 'S', kind: 'text' } as const;
        await store.workerRegister({ name: 'box', incarnation: 'i', slots: 1, tags: [] });
        await store.workerSet({ name: 'box', tags: ['ci'] });
        await store.credentialPut({ name: 'db', value, addTags: ['ci'] });
        await store.credentialAck({ worker: 'box', credential: 'db', version: 1, status: 'stored', level: 'file' });
        assert.deepEqual(await tags(), ['ci', 'credential:db']);
        assert.equal((await rename(store, 'ci', 'builds')).kind, 'done');
        assert.deepEqual([await tags(), await status()], [['builds', 'credential:db'], 'stored']);
        assert.deepEqual((await store.credentialGet({ name: 'db' }))?.tags, ['builds']);
        // No tag becomes one that gives a credential.
        await store.credentialPut({ name: 'db', addTags: ['secret'] });
        await add(store, 'eu');
        assert.equal((await rename(store, 'eu', 'secret')).kind, 'taken');
        assert.equal((await store.tagRemove({ name: 'builds', force: true })).kind, 'done');
        assert.deepEqual([await tags(), await status()], [[], 'removing']);
      },

    'of many renames and edits at once on several stores none is lost': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen(), await scene.reopen()];
      const names = Array.from({ length: 8 }, (_, n) => `w${n}`);
      for (const name of names) await scene.store.workerSet({ name, tags: ['a', 'b'] });
      const at = (n: number): Store => stores[n % stores.length] as Store;
      await Promise.all([
        ...names.map((name, n) => at(n).workerSet({ name, addTags: [`own-${n}`] })),
        rename(at(0), 'a', 'x'),
        rename(at(1), 'b', 'y'),
        at(2).tagAdd({ name: 'z', by: 'me' }),
      ]);
      for (const [n, name] of names.entries()) {
        const [given] = await tagsOf(scene, name);
        assert.deepEqual(given?.toSorted(), [`own-${n}`, 'x', 'y']);
      }
      assert.deepEqual(await namesOf(scene.store), ['x', 'y', 'z']);
    }),

    'of several that give one tag different names one succeeds': needing(['reopen'], async (scene) => {
      await add(scene.store, 'gpu');
      const stores = [scene.store, await scene.reopen(), await scene.reopen()];
      const answers = await Promise.all(stores.map((store, n) => rename(store, 'gpu', `gpu-${n}`)));
      assert.deepEqual(answers.map(({ kind }) => kind).toSorted(), ['done', 'none', 'none']);
      assert.equal((await namesOf(scene.store)).length, 1);
    }),
  },
};
