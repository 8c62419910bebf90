/**
 * Attacks by a worker of another host on the honest worker that goes on with a run of a workflow: entries under the keys of children, which would
 * have it read the results of others. The honest worker here is that of the node, which may read everything.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isFinal } from '../../../src/core/task/task.ts';
import { task } from '../../../src/worker/define/task.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { RawHttpWorker } from '../raw-http-worker.ts';
import { target, until } from '../scene.ts';

const SECRET = 'nobody but accounting reads this';

const payroll = task('payroll', { run: () => SECRET });
const look = task('look', { run: () => 'honest' });
const family = workflow('family', async (_, wf) => {
  const first = await wf.child(look, null);
  const second = await wf.child(look, null);
  const word = await wf.signal('word', { timeout: '10ms' });
  return { first, second, word: word ?? null };
});

type Entry = Readonly<Record<string, unknown>>;
type Named = { readonly task: number; readonly id: string };

const entry = (key: string, value: unknown, kind = 'value'): Entry => ({ key, kind, value: JSON.stringify(value) });

const ATTACKS: Readonly<Record<string, (paid: Named) => readonly Entry[]>> = {
  'a value under the key of a child': (paid) => [entry('w:000001/child:look#0', paid)],
  'the outcome of a wait under it': (paid) => [entry('w:000001/child:look#0', paid, 'wait')],
  'a mark under it': (paid) => [entry('w:000001/child:look#0', paid, 'mark')],
  'a child with its end': (paid) => [
    entry('w:000001/child:look#0', paid),
    entry('w:000002/end:child:look#0', { outcome: 'woken' }, 'wait'),
  ],
  'the end of a child that was never born': () => [entry('w:000001/end:child:look#0', { outcome: 'woken' }, 'wait')],
  'a result of a child as a value': (paid) => [entry('w:000001/child:look#1', paid)],
  'a failure that undoes what is there': (paid) => [
    entry('w:000002/failed', { again: 0, beside: ['child:look#0'] }, 'mark'),
    entry('w:000001/child:look#0', paid),
  ],
  'numbers that no count reaches': (paid) => [entry('w:999999999999999/child:look#99999999999', paid)],
  'entries that are no objects': () => [
    entry('w:000001/failed', 7, 'mark'),
    entry('w:000002/error:child:look#0', null, 'mark'),
  ],
};

for (const [what, forge] of Object.entries(ATTACKS)) {
  test(`a run of a workflow is not taken in by ${what}`, (t) => attack(t, forge));
}

async function attack(t: TestContext, forge: (paid: Named) => readonly Entry[]): Promise<void> {
  const { node, log } = await target(t);
  const { app } = node.service;
  const accounting = app.worker({ name: 'accounting', tasks: [payroll] });
  await accounting.start();
  const paid = await app.push(payroll);
  await until(async () => (await node.engine.get(paid.task))?.state === 'completed');
  await accounting.stop({ drain: false });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'forger' } });
  const forger = await RawHttpWorker.join(node, { name: 'forger', secret, handlers: ['family'] });
  const run = await app.run(family, null, { executionId: 'run' });
  const [held] = await forger.claim();
  const lease = { task: held.task, attempt: held.attempt, token: held.token };
  const entries = forge({ task: paid.task, id: paid.id });
  await forger.told('task_turn', { lease, entries, then: { go: 'on' } });
  await forger.told('task_release', { lease });
  await forger.hangUp();
  await app.worker({ name: 'honest', tasks: [family, look], slots: 2 }).start();
  const root = node.engine.parseId(run.id);
  await until(async () => isFinal((await node.engine.get(root))?.state ?? 'ready'));
  const other = await app.run(family, null, { executionId: 'other' });
  assert.deepEqual(await other.result(), { first: 'honest', second: 'honest', word: null });
  const members = await node.engine.store.treeList({ root, after: 0, limit: 100 });
  for (const member of [root, ...members.map((one) => one.task)]) {
    const seen = [await node.engine.get(member), await node.engine.journal(member)];
    assert.ok(!JSON.stringify(seen).includes(SECRET), JSON.stringify(seen).slice(0, 1000));
  }
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
}
