import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trigger } from '../../core/trigger/trigger.ts';
import { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { realWorld } from '../world.ts';
import { FileTriggers } from './file-triggers.ts';

let scenes = 0;

async function rig(t: TestContext, trigger: Partial<Trigger> = {}) {
  const root = join(tempFolder('file-triggers'), String(++scenes));
  const folder = join(root, 'inbox');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'old.pdf'), 'old');
  utimesSync(join(folder, 'old.pdf'), new Date(0), new Date(0));
  const world = realWorld();
  const store = await openSqlite({ file: join(root, 'store.db'), world });
  const engine = new Engine({ store, world });
  const warned: string[] = [];
  const log: Log = {
    info: () => {},
    warn: (_, fields) => void warned.push(String(fields?.['error'])),
    error: () => {},
  };
  // The times of files are those of the host, whose clock nobody can turn: what was there must be older by more than a tick of it.
  await sleep(50);
  await engine.triggers.put({
    name: 'papers',
    kind: 'file',
    folder,
    match: '*.pdf',
    push: { queue: 'papers' },
    ...trigger,
  });
  const watcher = (roots = [root], node?: string): FileTriggers => new FileTriggers({ engine, log, roots, node });
  t.after(() => store.close());
  return {
    root,
    folder,
    engine,
    warned,
    watcher,
    write: (name: string, text = name): void => writeFileSync(join(folder, name), text),
    files: async (): Promise<readonly string[]> =>
      (await engine.list({ queue: 'papers', limit: 100 }))
        .map(({ payload }) => (JSON.parse(payload) as { file: { name: string } }).file.name)
        .reverse(),
  };
}

/** A file counts when it is as it was at the look before. */
async function looks(watcher: FileTriggers): Promise<number> {
  return (await watcher.look()) + (await watcher.look());
}

test('a new file fires once, when nobody writes it any more, and what was there before does not', async (t) => {
  const { engine, folder, watcher, write, files } = await rig(t);
  const one = watcher();
  write('a.pdf', 'begun');
  assert.equal(await one.look(), 0);
  write('a.pdf', 'and ended');
  assert.equal(await one.look(), 0, 'it has changed since the last look');
  assert.equal(await one.look(), 1);
  assert.equal(await looks(one), 0);
  write('b.txt');
  assert.equal(await looks(one), 0, 'its name does not fit');
  assert.deepEqual(await files(), ['a.pdf']);
  const [task] = await engine.list({ queue: 'papers', limit: 1 });
  const { file } = JSON.parse(task?.payload ?? '') as { file: Record<string, unknown> };
  assert.deepEqual([file['path'], file['name'], file['size']], [join(folder, 'a.pdf'), 'a.pdf', 9]);
});

test('a file that changes fires again, and one that is moved in counts though its time is old', async (t) => {
  const { root, folder, watcher, write, files } = await rig(t);
  const one = watcher();
  write('a.pdf', '1');
  assert.equal(await looks(one), 1);
  write('a.pdf', 'longer');
  assert.equal(await looks(one), 1);
  const elsewhere = join(root, 'c.pdf');
  writeFileSync(elsewhere, 'c');
  utimesSync(elsewhere, new Date(1000), new Date(1000));
  renameSync(elsewhere, join(folder, 'c.pdf'));
  assert.equal(await looks(one), 1);
  rmSync(join(folder, 'c.pdf'));
  assert.equal(await looks(one), 0);
  write('c.pdf', 'again');
  assert.equal(await looks(one), 1, 'a file that was removed and comes again is a new one');
  assert.deepEqual(await files(), ['a.pdf', 'a.pdf', 'c.pdf', 'c.pdf']);
});

test('after a restart, and beside another process, each version of a file still fires once', async (t) => {
  const { watcher, write, files } = await rig(t);
  const first = watcher();
  for (const name of ['a.pdf', 'b.pdf']) write(name);
  assert.equal(await looks(first), 2);
  assert.equal(await looks(watcher()), 0, 'a process that starts anew');
  const others = [watcher(), watcher(), watcher()];
  for (let i = 0; i < 5; i++) write(`many-${i}.pdf`);
  await Promise.all(others.map(looks));
  await Promise.all(others.map(looks));
  const names = await files();
  assert.deepEqual([names.length, new Set(names).size], [7, 7]);
});

test('a folder outside of the roots is not watched, whatever links lead there, and links are not followed', async (t) => {
  const { root, folder, engine, warned, watcher, write, files } = await rig(t);
  const outside = join(tempFolder('file-triggers'), 'outside');
  mkdirSync(outside, { recursive: true });
  writeFileSync(join(outside, 'secret.pdf'), 'x');
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(join(outside, 'secret.pdf'), join(folder, 'linked.pdf'));
  write('mine.pdf');
  await engine.triggers.put({ name: 'out', kind: 'file', folder: join(root, 'link'), push: { queue: 'papers' } });
  await engine.triggers.put({ name: 'up', kind: 'file', folder: join(root, '..'), push: { queue: 'papers' } });
  const one = watcher();
  await looks(one);
  await looks(one);
  assert.deepEqual(await files(), ['mine.pdf']);
  assert.equal(warned.length, 2, 'once for each');
  for (const words of warned) assert.match(words, /is not below a root that this node may watch/);
  // A root that begins like it is another folder.
  assert.equal(await looks(watcher([folder.slice(0, -2)])), 0);
});

test('a trigger of another node, and one that is off, is left alone; files that came meanwhile are found later', async (t) => {
  const { engine, watcher, write, files } = await rig(t, { node: 'b' });
  write('a.pdf');
  assert.equal(await looks(watcher(undefined, 'a')), 0);
  await engine.triggers.enable('papers', false);
  assert.equal(await looks(watcher(undefined, 'b')), 0);
  await engine.triggers.enable('papers', true);
  assert.equal(await looks(watcher(undefined, 'b')), 1);
  assert.deepEqual(await files(), ['a.pdf']);
});

test('a file whose push is refused is tried again, and more files than the rate wait for their turn', async (t) => {
  const { engine, folder, watcher, write, files } = await rig(t);
  await engine.limits.set('few', { concurrent: 1, strategy: 'refuse' });
  const push = { queue: 'papers', limits: ['few'] };
  await engine.triggers.put({ name: 'papers', kind: 'file', folder, match: '*.pdf', push, rate: 3 });
  const one = watcher();
  for (let i = 0; i < 5; i++) write(`${i}.pdf`);
  assert.equal(await looks(one), 1);
  const outcomes = (await engine.triggers.history('papers')).map(({ outcome }) => outcome).reverse();
  assert.deepEqual(outcomes, ['pushed', 'refused', 'refused'], 'three in a minute');
  assert.equal((await files()).length, 1);
  await engine.limits.remove('few');
  await engine.triggers.put({
    name: 'papers',
    kind: 'file',
    folder,
    match: '*.pdf',
    push: { queue: 'papers' },
    rate: 60_000,
  });
  for (let i = 0; i < 100 && (await files()).length < 5; i++) await looks(one);
  const names = await files();
  assert.deepEqual([names.length, new Set(names).size], [5, 5], 'each has fired in the end');
});
