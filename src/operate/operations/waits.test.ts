import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type App, open } from '../../app/open.ts';
import { isEngineError } from '../../core/errors.ts';
import type { WaitRequest } from '../../engine/settle/waits.ts';
import { EngineOperator } from '../engine-operator.ts';
import { waitOf } from './waits.ts';

async function scene(t: TestContext) {
  const app: App = await open('memory:', { duties: false, housekeeping: false });
  t.after(() => app.close());
  const { engine } = app;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  /** A task that waits by hand. */
  const parked = async (wait: WaitRequest): Promise<number> => {
    const { task } = await engine.push({ queue: 'q', handler: 'h' });
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    assert.equal((await engine.turn(grant, { then: { go: 'park', ...wait } })).went, 'parked');
    return task;
  };
  return { app, engine, operator: new EngineOperator(engine), parked };
}

test('whatever is shown to who decides is listed: a request, or any other value as its form', async (t) => {
  const { app, operator, parked } = await scene(t);
  await parked({ key: 'one', form: { title: 'Go?', actions: ['go'] } });
  await parked({ key: 'two', form: 'a text' });
  await parked({ key: 'three', form: [1, 2] });
  const { approvals } = await operator.call('listApprovals', { query: { limit: 10 } });
  const shown = approvals.map(({ title, actions, form, queue }) => ({ title, actions, form, queue }));
  const both = ['approve', 'reject'];
  assert.deepEqual(shown, [
    { title: 'Go?', actions: ['go'], form: undefined, queue: 'q' },
    { title: 'two', actions: both, form: 'a text', queue: 'q' },
    { title: 'three', actions: both, form: [1, 2], queue: 'q' },
  ]);
  assert.deepEqual(
    Object.keys((await app.approvals())[1] ?? {}).filter((key) => /^\d+$/.test(key)),
    [],
  );
});

test('a waiting task says what somebody outside could give it, and nothing where nobody can', async (t) => {
  const { engine, operator, parked } = await scene(t);
  const asked = await parked({ key: 'k', form: {} });
  const listening = await parked({ key: 'k', channel: 'word' });
  const sleeping = await parked({ key: 'k', timeout: '1h' });
  assert.deepEqual(await waitOf(engine, asked), { kind: 'approval', title: 'k', actions: ['approve', 'reject'] });
  assert.deepEqual(await waitOf(engine, listening), { kind: 'signal', channel: 'word' });
  assert.equal(await waitOf(engine, sleeping), undefined);
  const { woken } = await operator.call('sendSignal', { body: { channel: 'word', body: 1 } });
  assert.deepEqual(
    woken.map((id) => engine.parseId(id)),
    [listening],
  );
  assert.equal(await waitOf(engine, listening), undefined, 'once it was woken there is nothing to give');
  const decided = await operator.call('decideApproval', {
    params: { id: String(asked) },
    body: { action: 'reject', value: 'no' },
    by: 'ada',
  });
  assert.deepEqual([engine.parseId(decided.id), decided.action, decided.by], [asked, 'reject', 'ada']);
  await assert.rejects(
    operator.call('decideApproval', { params: { id: String(asked) }, body: { action: 'approve' } }),
    (error) => isEngineError(error, 'CONFLICT') && /"leasehold approvals" lists/.test(error.hint ?? ''),
  );
});
