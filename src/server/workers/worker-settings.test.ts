import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { type WorkerSetting, WorkerSettings } from './worker-settings.ts';

type Row = WorkerSetting & { readonly name: string };

/** A store of settings that counts its reads, and answers when it is told to. */
class Book {
  rows: Row[] = [];
  reads = 0;
  gate: Promise<void> | undefined;
  broken = false;

  async workerSettings(): Promise<readonly Row[]> {
    this.reads++;
    if (this.broken) throw new Error('the store is away');
    const seen = [...this.rows];
    await this.gate;
    return seen;
  }

  async set({
    name,
    grant = {},
  }: {
    readonly name: string;
    readonly grant?: { readonly firstHandlers?: readonly string[] };
  }) {
    this.say(name, { grant: { handlers: grant.firstHandlers } });
  }

  say(name: string, setting: Partial<WorkerSetting>): void {
    const before = this.rows.find((one) => one.name === name) ?? { name, ...UNSAID };
    this.rows = [...this.rows.filter((one) => one.name !== name), { ...before, ...setting }];
  }
}

const UNSAID: WorkerSetting = { enabled: true, priority: undefined, tags: [], grant: {} };

function scene() {
  const world = new VirtualWorld();
  const book = new Book();
  return { world, book, settings: new WorkerSettings({ store: book, workers: book }, world) };
}

test('of a name that nothing was said of it says what holds then', async () => {
  const { book, settings } = scene();
  book.say('a', { tags: ['gpu'] });
  assert.deepEqual(await settings.of('a'), { ...UNSAID, tags: ['gpu'] });
  assert.deepEqual(await settings.of('b'), UNSAID);
});

test('what a name offers when it first joins is granted to it, unless somebody has said what it may run', async () => {
  const { book, settings } = scene();
  assert.deepEqual((await settings.ofJoining('a', ['h', 'i'])).grant, { handlers: ['h', 'i'] });
  assert.deepEqual((await settings.ofJoining('a', ['j'])).grant, { handlers: ['h', 'i'] });
  for (const grant of [{ anyHandler: true }, { handlers: [] }] as const) {
    book.say('b', { grant });
    assert.deepEqual((await settings.ofJoining('b', ['h'])).grant, grant);
  }
});

test('what is known of a name is read again once it is a second old', async () => {
  const { world, book, settings } = scene();
  assert.deepEqual(await settings.recent('a'), UNSAID);
  book.say('a', { grant: { handlers: ['h'] } });
  await world.advance(700);
  assert.deepEqual(await settings.recent('a'), UNSAID);
  assert.equal(book.reads, 1);
  await world.advance(300);
  assert.deepEqual(await settings.recent('a'), { ...UNSAID, grant: { handlers: ['h'] } });
  assert.equal(book.reads, 2);
});

test('who asks while a read is under way shares the next one, and sees what was said before it asked', async () => {
  const { book, settings } = scene();
  const gate = Promise.withResolvers<void>();
  book.gate = gate.promise;
  const first = settings.of('a');
  book.say('a', { tags: ['gpu'] });
  const others = Promise.all(Array.from({ length: 100 }, () => settings.of('a')));
  gate.resolve();
  assert.deepEqual((await first).tags, []);
  for (const { tags } of await others) assert.deepEqual(tags, ['gpu']);
  assert.equal(book.reads, 2);
});

test('a read that failed is the failure of those who asked for it, and of nobody after them', async () => {
  const { book, settings } = scene();
  book.broken = true;
  const [first, second] = [settings.of('a'), settings.of('a')];
  await assert.rejects(first, /the store is away/);
  await assert.rejects(second, /the store is away/);
  book.broken = false;
  assert.deepEqual(await settings.of('a'), UNSAID);
});

test('whoever is connected hears of its own changes within a second, of each once, by one read for all', async () => {
  const { world, book, settings } = scene();
  const heard: string[] = [];
  for (const name of ['a', 'b', 'b', 'c']) {
    settings.watch(name, UNSAID, ({ enabled, priority, tags }) => {
      heard.push(`${name} ${enabled} ${priority} ${tags.join(',')}`);
    });
  }
  await world.advance(10_000);
  assert.deepEqual(heard, []);
  const before = book.reads;
  book.say('a', { enabled: false });
  book.say('b', { priority: 5, tags: ['gpu', 'eu'] });
  await world.advance(1000);
  assert.ok(book.reads - before <= 2, `${book.reads - before} reads`);
  assert.deepEqual(heard, ['a false undefined ', 'b true 5 gpu,eu', 'b true 5 gpu,eu']);
  await world.advance(10_000);
  assert.equal(heard.length, 3);
  // Nothing is said of it any more: it is as it was at first.
  book.rows = [];
  await world.advance(1000);
  assert.deepEqual(heard.slice(3), ['a true undefined ', 'b true undefined ', 'b true undefined ']);
});

test('what was changed between the look of who connects and its first look after that is told', async () => {
  const { world, book, settings } = scene();
  const known = await settings.of('a');
  book.say('a', { enabled: false });
  const heard: boolean[] = [];
  settings.watch('a', known, ({ enabled }) => heard.push(enabled));
  await world.advance(1000);
  assert.deepEqual(heard, [false]);
});

test('a store that is away tells nothing, and what changed meanwhile is told when it is back', async () => {
  const { world, book, settings } = scene();
  const heard: boolean[] = [];
  settings.watch('a', UNSAID, ({ enabled }) => heard.push(enabled));
  book.broken = true;
  await world.advance(5000);
  book.say('a', { enabled: false });
  assert.deepEqual(heard, []);
  book.broken = false;
  await world.advance(1000);
  assert.deepEqual(heard, [false]);
});

test('while nobody is connected nothing is read', async () => {
  const { world, book, settings } = scene();
  const stop = settings.watch('a', UNSAID, () => {});
  const stopOther = settings.watch('b', UNSAID, () => {});
  stop();
  await world.advance(1000);
  assert.ok(book.reads > 0);
  stopOther();
  const { reads } = book;
  await world.advance(60_000);
  assert.equal(book.reads, reads);
  assert.deepEqual(world.waits, []);
});
