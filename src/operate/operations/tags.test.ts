import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { operate } from '../../app/operate.ts';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { EngineOperator } from '../engine-operator.ts';

const folder = tempFolder('operate-tags');
let stores = 0;

async function scene(t: TestContext): Promise<EngineOperator> {
  stores += 1;
  const operator = await operate({ store: `sqlite:${join(folder, `${stores}.db`)}`, create: true });
  t.after(() => operator.close());
  return operator;
}

const list = async (operator: EngineOperator) => (await operator.call('listTags')).tags;
const refusedWith = (code: string, text: RegExp) => (error: unknown) =>
  isEngineError(error) && error.code === code && text.test(error.message);

/** A worker with two tags, and something of each kind that names one of them. */
async function furnish(operator: EngineOperator): Promise<void> {
  const { engine } = operator;
  await engine.workers.register({ name: 'box', incarnation: 'b', slots: 1, tags: ['own'] });
  await operator.call('editWorker', { params: { name: 'box' }, body: { addTags: ['gpu=nvidia'] } });
  await operator.call('putPool', { body: { name: 'fleet', worker: { tags: ['gpu=nvidia'] } } });
  const task = { queue: 'nightly', placement: { requires: ['gpu'] } };
  await operator.call('putSchedule', { body: { name: 'nightly', daily: '03:00', ...task } });
  const push = { handler: 'h', ...task };
  await operator.call('putTrigger', { body: { name: 'upload', kind: 'manual', push } });
  const nodes = { a: { typeId: 'start' }, b: { typeId: 'x/y', agentConfig: { requiredTags: ['gpu'] } } };
  const graph = { nodes, connections: [] };
  await operator.call('applyWorkflow', { body: { name: 'flow', workflow: graph } });
  await operator.engine.push({ queue: 'wide', handler: 'h', placement: { requires: ['gpu', 'memory_gb>=16'] } });
}

test('tags are listed with who carries them, who was given them and what asks for them, and then what nobody has', async (t) => {
  const operator = await scene(t);
  await furnish(operator);
  const usedBy = ['pool fleet', 'schedule nightly', 'trigger upload', 'workflow flow'].map((text) => {
    const [kind, name] = text.split(' ');
    return { kind, name };
  });
  const none = { wantedBy: [], made: false, givenTo: [], usedBy: [], missing: false };
  assert.deepEqual(await list(operator), [
    { ...none, tag: 'gpu=nvidia', workers: 1, names: ['box'], wantedBy: ['wide'], givenTo: ['box'], usedBy },
    { ...none, tag: 'own', workers: 1, names: ['box'] },
    { ...none, tag: 'memory_gb>=16', workers: 0, names: [], wantedBy: ['wide'], missing: true },
  ]);
});

test('a worker and a pool may carry any text, and the others are listed all the same', async (t) => {
  const operator = await scene(t);
  await furnish(operator);
  const odd = '${odd}<b>';
  await operator.engine.workers.register({ name: 'odd', incarnation: 'o', slots: 1, tags: [odd] });
  await operator.call('putPool', { body: { name: 'odd', worker: { tags: ['a;b'] } } });
  const listed = await list(operator);
  assert.deepEqual(
    listed.map(({ tag }) => tag),
    [odd, 'gpu=nvidia', 'own', 'memory_gb>=16'],
  );
  assert.equal(listed[0]?.missing, false);
});

test('what is asked for is missing when only disabled workers have it, whoever asks', async (t) => {
  const operator = await scene(t);
  await furnish(operator);
  const missing = async () => (await list(operator)).filter((tag) => tag.missing).map(({ tag }) => tag);
  assert.deepEqual(await missing(), ['memory_gb>=16']);
  await operator.call('editWorker', { params: { name: 'box' }, body: { enabled: false } });
  assert.deepEqual(await missing(), ['gpu=nvidia', 'memory_gb>=16']);
  const placement = { requires: ['tpu'], credentials: ['openai'] };
  await operator.call('putSchedule', { body: { name: 'later', daily: '03:00', queue: 'q', placement } });
  assert.deepEqual(await missing(), ['gpu=nvidia', 'credential:openai', 'memory_gb>=16', 'tpu']);
});

test('a tag that was made is listed while nobody carries it, and is made once', async (t) => {
  const operator = await scene(t);
  const made = await operator.call('createTag', { body: { name: 'gpu' } });
  assert.deepEqual([made.tag, made.made, made.workers], ['gpu', true, 0]);
  assert.deepEqual(
    (await list(operator)).map(({ tag }) => tag),
    ['gpu'],
  );
  await assert.rejects(operator.call('createTag', { body: { name: 'gpu' } }), refusedWith('CONFLICT', /already/));
  for (const name of ['', 'credential:x', 'memory>=4', '-gpu', 'gpu=', 'a b=\n']) {
    await assert.rejects(operator.call('createTag', { body: { name } }), refusedWith('INVALID_INPUT', /./), name);
  }
});

test('the tag of a credential is given to nobody by hand, and one that was can be taken away', async (t) => {
  const operator = await scene(t);
  const tag = 'credential:hub';
  const params = { name: 'box' };
  await assert.rejects(
    operator.call('editWorker', { params, body: { addTags: ['gpu', tag] } }),
    refusedWith('INVALID_INPUT', /by holding it/),
  );
  await assert.rejects(
    operator.call('createWorker', { body: { name: 'new', tags: [tag] } }),
    refusedWith('INVALID_INPUT', /by holding it/),
  );
  const { settings } = await operator.call('listWorkers');
  assert.deepEqual(settings, []);
  await operator.engine.workers.set({ name: 'box', tags: [tag, 'gpu'] });
  const left = await operator.call('editWorker', { params, body: { removeTags: [tag] } });
  assert.deepEqual(left.tags, ['gpu']);
});

test('a rename changes the workers and tells what still asks for the old name', async (t) => {
  const operator = await scene(t);
  await furnish(operator);
  const renamed = await operator.call('renameTag', { params: { name: 'gpu=nvidia' }, body: { name: 'cuda' } });
  assert.deepEqual([renamed.tag, renamed.changed, renamed.names], ['cuda', ['box'], ['box']]);
  assert.deepEqual(renamed.still.queues, ['wide']);
  assert.deepEqual(
    renamed.still.definitions.map(({ kind }) => kind),
    ['pool', 'schedule', 'trigger', 'workflow'],
  );
  const own = await operator.call('createTag', { body: { name: 'own' } });
  assert.equal(own.workers, 1);
  const brought = await operator.call('renameTag', { params: { name: 'own' }, body: { name: 'mine' } });
  assert.deepEqual([brought.changed, brought.still.workers], [[], ['box']]);
  const again = operator.call('renameTag', { params: { name: 'absent' }, body: { name: 'x' } });
  await assert.rejects(again, refusedWith('NOT_FOUND', /absent/));
  const taken = operator.call('renameTag', { params: { name: 'mine' }, body: { name: 'cuda' } });
  await assert.rejects(taken, refusedWith('CONFLICT', /cuda/));
});

test('a tag that is used is removed by force only, and from those that were given it', async (t) => {
  const operator = await scene(t);
  await furnish(operator);
  const params = { name: 'gpu=nvidia' };
  await assert.rejects(
    operator.call('removeTag', { params }),
    refusedWith('CONFLICT', /worker box, queue wide, pool fleet/),
  );
  assert.equal((await list(operator))[0]?.tag, 'gpu=nvidia');
  const removed = await operator.call('removeTag', { params, query: { force: '1' } });
  assert.deepEqual([removed.changed, removed.still.queues], [['box'], ['wide']]);
  await assert.rejects(operator.call('removeTag', { params, query: { force: '1' } }), refusedWith('NOT_FOUND', /gpu/));
  await operator.call('createTag', { body: { name: 'free' } });
  assert.deepEqual((await operator.call('removeTag', { params: { name: 'free' } })).changed, []);
});

test('what is done to tags is written down', async (t) => {
  const operator = await scene(t);
  await operator.call('createTag', { body: { name: 'gpu' } });
  await operator.call('editWorker', { params: { name: 'w' }, body: { addTags: ['gpu'] } });
  await operator.call('renameTag', { params: { name: 'gpu' }, body: { name: 'cuda' } });
  await operator.call('removeTag', { params: { name: 'cuda' }, query: { force: '1' } });
  const { entries } = await operator.call('listAudit');
  const told = entries.filter(({ action }) => action.endsWith('Tag'));
  assert.deepEqual(
    told.map(({ action, target, outcome }) => [action, target, outcome]),
    [
      ['removeTag', 'cuda', 'done'],
      ['renameTag', 'gpu', 'done'],
      ['createTag', 'gpu', 'done'],
    ],
  );
  assert.deepEqual(told[0]?.before, { made: true, givenTo: ['w'] });
});
