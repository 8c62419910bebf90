import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import type { FinalState } from '../../core/task/task.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { DocumentBody } from './document-body.ts';
import type { DocumentRefusal } from './document-refusals.ts';
import type { Document, DocumentDraft } from './documents.ts';

class Rig {
  readonly engine: Engine;
  readonly worker: number;

  constructor(engine: Engine, worker: number) {
    this.engine = engine;
    this.worker = worker;
  }

  get documents(): Engine['documents'] {
    return this.engine.documents;
  }

  /** `a<r b c?`: below `r`, depends on `b` and, whatever its end, on `c`. */
  plant(...texts: readonly string[]): Promise<readonly Document[]> {
    return this.documents.create(texts.map((text) => draft(text)));
  }

  async stands(id = 'r'): Promise<string> {
    return (await this.documents.tree(id)).map((one) => `${one.id} ${one.status}`).join(', ');
  }

  /** Runs everything that can run, in the order of claims, and ends it so. */
  async runAll(end: (id: string) => FinalState | 'claimed' = () => 'completed'): Promise<readonly string[]> {
    const order: string[] = [];
    for (;;) {
      // The store's watch would report woken tasks, and there is none here.
      this.engine.hint();
      const [grant] = await this.engine.claim({ worker: this.worker, max: 1 });
      if (grant === undefined) return order;
      const [document] = await this.documents.of([grant.task]);
      const id = document?.id as string;
      order.push(id);
      const to = end(id);
      if (to === 'completed') await this.engine.complete(grant, { from: id, with: JSON.parse(grant.payload) });
      else if (to === 'failed') await this.engine.fail(grant, new Error(`${id} failed`), { giveUp: true });
      else if (to === 'cancelled') await this.engine.cancelled(grant);
    }
  }
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  return new Rig(engine, await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 }));
}

function draft(text: string, more: Partial<DocumentBody> = {}): DocumentDraft {
  const [head = '', ...needs] = text.split(' ');
  const [name = '', parent] = head.split('<');
  const [id = '', priority = '2'] = name.split('/');
  const dependencies = needs.map((need) => ({ id: need.replace('?', ''), required: !need.endsWith('?') }));
  const body = { name: 'echo', priority: Number(priority), dependencies, inputs: { own: id }, ...more };
  return { id, parent, user: undefined, body };
}

async function refused(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isEngineError(error), String(error));
    return (error.details?.['refusal'] as DocumentRefusal | undefined) ?? error.code;
  }
  return assert.fail('it was not refused');
}

test('a tree runs when it is executed and not before: children first, by priority, and dependencies before dependents', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'low/3<r', 'c<r b', 'a<r', 'b<r a', 'first<r');
  assert.deepEqual(await it.runAll(), [], 'nothing was executed');
  assert.match(await it.stands(), /^r new, low new/);
  const started = await it.documents.execute('r');
  assert.equal(started.length, 6);
  const order = await it.runAll();
  assert.equal(order.at(-1), 'r');
  assert.ok(order.indexOf('a') < order.indexOf('b') && order.indexOf('b') < order.indexOf('c'), order.join());
  assert.match(await it.stands(), /^r completed, low completed/);
});

test('a group of children waits for the end of those of higher priority', async (t) => {
  const it = await rig(t);
  await it.documents.create([draft('r'), draft('b/3<r'), draft('a/0<r'), draft('c/1<r')]);
  await it.documents.execute('r');
  const held = await it.engine.claim({ worker: it.worker, max: 9 });
  assert.deepEqual(
    held.map(({ payload }) => payload),
    ['{"own":"a"}'],
    'only the most urgent can be claimed',
  );
  await it.engine.fail(held[0] as never, 'no', { giveUp: true });
  assert.deepEqual(await it.runAll(), ['c', 'b', 'r'], 'whatever its end');
});

test('results of dependencies are added to the inputs, under their ids or by shared properties', async (t) => {
  const it = await rig(t);
  const out = { output_schema: { properties: { with: { type: 'object' } } } };
  const into = { method: 'echo', input_schema: { properties: { with: { type: 'object' } } } };
  await it.documents.create([
    draft('r'),
    draft('a<r', { params: { key: 1, own: 'params' } }),
    draft('b<r', { schemas: { method: 'echo', ...out } }),
    draft('c<r a b?'),
    draft('d<r a b', { schemas: into }),
    draft('e<r a b', { schemas: { ...into, method: 'aggregate' } }),
    draft('f<r a b', { schemas: { ...into, method: 'aggregate_results_executor' } }),
  ]);
  await it.documents.execute('r');
  const seen = new Map<string, unknown>();
  for (;;) {
    it.engine.hint();
    const [grant] = await it.engine.claim({ worker: it.worker, max: 1 });
    if (grant === undefined) break;
    const input = JSON.parse(grant.payload) as { own: string };
    seen.set(input.own, input);
    await it.engine.complete(grant, { with: { done: input.own } });
  }
  assert.deepEqual(seen.get('a'), { key: 1, own: 'a' }, 'inputs win over params');
  const done = (own: string) => ({ with: { done: own } });
  assert.deepEqual(seen.get('c'), { own: 'c', a: done('a'), b: done('b') });
  assert.deepEqual(seen.get('d'), { own: 'd', a: done('a'), with: { done: 'b' } });
  for (const own of ['e', 'f']) {
    assert.deepEqual(seen.get(own), { own, a: done('a'), b: done('b') }, 'who aggregates gets each of them whole');
  }
});

test('an optional dependency that failed leaves nothing in the inputs; a required one fails its dependents', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r', 'b<r a?', 'c<r a', 'd<r c');
  await it.documents.execute('r');
  const order = await it.runAll((id) => (id === 'a' ? 'failed' : 'completed'));
  assert.deepEqual(order, ['a', 'b', 'r']);
  assert.equal(await it.stands(), 'r completed, a failed, b completed, c failed, d failed');
  const [, , b, c] = await it.documents.tree('r');
  const result = JSON.parse((await it.engine.get(b?.task as number))?.result as string);
  assert.deepEqual(result.with, { own: 'b' });
  assert.equal((await it.engine.get(c?.task as number))?.reason, 'dependency');
});

test('what failed runs again with those that depend on it, and completed ones keep their results', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r', 'b<r a', 'c<r b', 'd<r');
  await it.documents.execute('r');
  await it.runAll((id) => (id === 'b' ? 'failed' : 'completed'));
  const before = await it.documents.tree('r');
  assert.equal(await it.stands(), 'r completed, a completed, b failed, c failed, d completed');
  const again = await it.documents.execute('r');
  assert.deepEqual(
    again.map(({ document }) => document.id),
    ['b', 'c'],
  );
  assert.deepEqual(await it.runAll(), ['b', 'c']);
  const after = await it.documents.tree('r');
  assert.deepEqual(
    after.map(({ run }) => run),
    [1, 1, 2, 2, 1],
  );
  assert.deepEqual(
    after.map(({ task }, i) => task === before[i]?.task),
    [true, true, false, false, true],
  );
  assert.equal(await refused(it.documents.execute('r')), 'transition', 'nothing is left');
});

test('of many simultaneous executions of one tree one wins; other trees are not affected', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r');
  await it.plant('s');
  const answers = await Promise.allSettled([...Array(8)].map((_, i) => it.documents.execute(i % 2 === 0 ? 'r' : 'a')));
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const answer of answers) {
    if (answer.status === 'rejected') assert.equal(await refused(Promise.reject(answer.reason)), 'running');
  }
  assert.equal((await it.documents.execute('s')).length, 1);
  assert.equal(await refused(it.documents.execute('r')), 'running');
  await it.runAll();
  assert.deepEqual(
    (await it.documents.tree('r')).map(({ run }) => run <= 1),
    [true, true],
  );
});

test('a tree that cannot run to its end is refused, and nothing of it is kept', async (t) => {
  const it = await rig(t);
  for (const [texts, refusal] of [
    [['r', 'a<r b', 'b<r a'], 'circle'],
    [['r', 'a<r x'], 'reference'],
    [['r', 'a<x'], 'parent'],
    [['r', 's'], 'tree'],
    [['r', 'r'], 'tree'],
    [['a<b', 'b<a'], 'parent'],
  ] as const) {
    assert.equal(await refused(it.plant(...texts)), refusal, texts.join());
    assert.equal(await it.documents.find('r'), undefined);
  }
  assert.equal(
    await refused(it.documents.create([...Array(1001)].map((_, i) => draft(i === 0 ? 'r' : `n${i}<r`)))),
    'tree',
  );
});

test('a branch is added to a tree while its parent is pending, and only then', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r');
  await it.plant('b<a', 'c<b a?').then(
    () => assert.fail('it waits for what is above it'),
    (error) => assert.equal(error.details.refusal, 'circle'),
  );
  await it.plant('b<r a', 'c<b');
  assert.equal(await it.stands('c'), 'r new, a new, b new, c new');
  assert.equal(await refused(it.plant('a<r')), 'tree', 'the id is taken');
  assert.equal(await refused(it.plant('x', 'y<r')), 'tree');
  await it.plant('s');
  assert.equal(await refused(it.plant('x<r', 'y<s')), 'tree');
  await it.documents.execute('r');
  assert.equal(await refused(it.plant('d<r')), 'parent');
});

test('a document is changed while it is pending, only in the version that was read, and never into a cycle', async (t) => {
  const it = await rig(t);
  const [, a] = await it.plant('r', 'a<r', 'b<r a');
  const edited = await it.documents.edit('a', () => ({ body: { name: 'other' }, user: 'ada', version: a?.version }));
  assert.deepEqual([edited.body.name, edited.user, edited.version], ['other', 'ada', 2]);
  assert.equal(await refused(it.documents.edit('a', () => ({ version: 1 }))), 'CONFLICT');
  const needs = (id: string) => () => ({ body: { dependencies: [{ id, required: true }] } });
  assert.equal(await refused(it.documents.edit('a', needs('b'))), 'circle');
  assert.equal(await refused(it.documents.edit('a', needs('x'))), 'reference');
  assert.equal(await refused(it.documents.edit('a', () => ({ parent: 'x' }))), 'parent');
  assert.equal(await refused(it.documents.edit('r', () => ({ parent: 'a' }))), 'parent');
  assert.equal((await it.documents.edit('b', () => ({ parent: 'a', body: { dependencies: [] } }))).parent, 'a');
  assert.equal(await refused(it.documents.edit('none', () => ({}))), 'NOT_FOUND');
  await it.documents.execute('r');
  assert.equal(await refused(it.documents.edit('a', () => ({ user: 'eve' }))), 'transition');
});

test('a document is removed with all below it, unless one was executed or a remaining one depends on it', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r', 'b<a', 'c<r b?');
  assert.equal(await refused(it.documents.remove('a')), 'removal');
  assert.deepEqual(await it.documents.remove('c'), ['c']);
  assert.deepEqual(await it.documents.remove('a'), ['a', 'b']);
  assert.equal(await it.stands(), 'r new');
  await it.plant('d<r');
  await it.documents.execute('d');
  assert.equal(await refused(it.documents.remove('r')), 'removal');
  await it.plant('s', 't<s');
  assert.deepEqual(await it.documents.remove('s'), ['s', 't']);
  assert.equal(await it.documents.find('t'), undefined);
});

test('a document that was cancelled before it ran never runs, and its dependents cannot be executed', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r', 'b<r a');
  assert.deepEqual(await it.documents.drop(['a']), ['a']);
  assert.deepEqual(await it.documents.drop(['a']), []);
  assert.equal(await refused(it.documents.execute('r')), 'unmet');
  assert.equal(await refused(it.documents.execute('a')), 'transition');
  await it.documents.edit('b', () => ({ body: { dependencies: [] } }));
  await it.documents.execute('r');
  assert.deepEqual(await it.runAll(), ['b', 'r']);
});

test('admit is called before anything is pushed', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r');
  const asked: unknown[] = [];
  const no = it.documents.execute('r', {
    admit: (tasks) => {
      asked.push([...tasks]);
      throw new Error('not now');
    },
  });
  await assert.rejects(no, /not now/);
  assert.deepEqual(asked, [[['tasks', 2]]]);
  assert.equal(await it.stands(), 'r new, a new');
});

test('inputs that become too large by gathering fail the task, and it is granted to nobody', async (t) => {
  const it = await rig(t);
  const names = ['a', 'b', 'c', 'd', 'e'];
  await it.documents.create([draft('r'), ...names.map((name) => draft(`${name}<r`)), draft(`z<r ${names.join(' ')}`)]);
  await it.documents.execute('r');
  for (const grant of await it.engine.claim({ worker: it.worker, max: 5 })) {
    await it.engine.complete(grant, 'x'.repeat(1_000_000));
  }
  assert.deepEqual(await it.runAll(), [], 'what was claimed has ended at once');
  assert.deepEqual(await it.runAll(), ['r']);
  const z = (await it.documents.tree('r')).find(({ id }) => id === 'z');
  assert.equal(z?.status, 'failed');
  assert.match((await it.engine.get(z?.task as number))?.result as string, /too large/i);
});

test('a task whose inputs cannot be gathered because the store is away goes back with its try', async (t) => {
  const it = await rig(t);
  await it.plant('r', 'a<r', 'b<r a');
  await it.documents.execute('b');
  const [a] = await it.engine.claim({ worker: it.worker, max: 1 });
  await it.engine.complete(a as never, 1);
  it.engine.hint();
  const away = t.mock.method(it.engine.store, 'documentGet', () => Promise.reject(new Error('away')));
  await assert.rejects(it.engine.claim({ worker: it.worker, max: 1 }), /away/);
  away.mock.restore();
  it.engine.hint();
  const [b] = await it.engine.claim({ worker: it.worker, max: 1 });
  assert.deepEqual([b?.attempt, b?.tries, b?.payload], [2, 1, '{"own":"b","a":1}']);
});

test('documents that share a key share a result', async (t) => {
  const it = await rig(t);
  await it.documents.create([draft('r', { idempotencyKey: 'k' })]);
  await it.documents.create([draft('s', { idempotencyKey: 'k' })]);
  for (const id of ['r', 's']) {
    await it.documents.execute(id);
    const [grant] = await it.engine.claim({ worker: it.worker, max: 1 });
    const kept = await it.engine.keptResult(grant as never);
    assert.equal(kept?.value, id === 'r' ? undefined : '"first"');
    await it.engine.keepResult(grant as never, 'first');
    await it.engine.complete(grant as never, 'first');
  }
});

test('of many simultaneous edits of one tree none is lost or gives up, through several engines too', async (t) => {
  const world = new VirtualWorld();
  const file = join(tempFolder('documents'), 'edits.db');
  const engines: Engine[] = [];
  for (let i = 0; i < 3; i++) {
    const store = await openSqlite({ file, world, housekeeping: false });
    t.after(() => store.close());
    engines.push(new Engine({ store, world }));
  }
  const [first] = engines as [Engine];
  await first.documents.create(['r', 'a<r'].map((text) => draft(text, { inputs: {} })));
  const edits = Array.from({ length: 90 }, (_, n) =>
    (engines[n % 3] as Engine).documents.edit(n % 2 === 0 ? 'r' : 'a', ({ body }) => ({
      body: { inputs: { ...body.inputs, [`k${n}`]: n } },
    })),
  );
  await Promise.all(edits);
  const kept = (await first.documents.tree('r')).flatMap(({ body }) => Object.values(body.inputs ?? {}) as number[]);
  assert.deepEqual(
    kept.toSorted((a, b) => a - b),
    edits.map((_, n) => n),
  );
});
