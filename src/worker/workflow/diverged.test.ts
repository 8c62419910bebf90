// Code that changed under a run, and journals that are not those of a workflow.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DurableScene } from '../../../test/support/runs/durable-scene.ts';
import { BrokenJournal, readHistory } from '../../flow/workflow/workflow-journal.ts';
import { task } from '../define/task.ts';
import { workflow } from './workflow.ts';
import type { WorkflowContext } from './workflow-context.ts';

const child = task('child', { run: () => 'child' });

type Body = (wf: WorkflowContext, effects: string[]) => Promise<unknown>;

const note = (wf: WorkflowContext, effects: string[], name: string) =>
  wf.step(name, () => {
    effects.push(name);
    return name;
  });

const BEFORE: Body = async (wf, effects) => {
  await note(wf, effects, 'one');
  await note(wf, effects, 'two');
  await wf.signal('go');
  return note(wf, effects, 'three');
};

const CHANGED: Readonly<Record<string, readonly [body: Body, expected: string, came: string]>> = {
  'another order': [
    async (wf, effects) => {
      await note(wf, effects, 'two');
      await note(wf, effects, 'one');
      await wf.signal('go');
      return 'changed';
    },
    'step "one"',
    'step "two"',
  ],
  'another name': [
    async (wf, effects) => {
      await note(wf, effects, 'uno');
      return BEFORE(wf, effects);
    },
    'step "one"',
    'step "uno"',
  ],
  'another kind': [
    async (wf, effects) => {
      await wf.child(child, undefined, { name: 'one' });
      return BEFORE(wf, effects);
    },
    'step "one"',
    'child "one"',
  ],
  'one of the same name less': [
    async (wf, effects) => {
      await note(wf, effects, 'one');
      await wf.signal('go');
      return 'changed';
    },
    'step "two"',
    'signal "go"',
  ],
  'an earlier end': [async (wf, effects) => note(wf, effects, 'one'), 'step "two"', 'the end'],
};

describe('a workflow whose code has changed', () => {
  for (const [what, [changed, expected, came]] of Object.entries(CHANGED)) {
    test(`${what}: the run fails without an effect, says what was expected, and goes on with the right code`, async (t) => {
      let body = BEFORE;
      const effects: string[] = [];
      const flow = workflow('flow', (_, wf) => body(wf, effects));
      const scene = await DurableScene.open(t, { tasks: [flow, child] });
      const run = await scene.push(flow);
      await scene.work();
      body = changed;
      const record = await scene.engine.get(run);
      assert.ok(record);
      await scene.engine.waits.signal(`${scene.engine.idOf(record)}:go`, 1);
      await scene.work();
      const { state, output } = await scene.end(run);
      assert.equal(state, 'failed');
      const text = `The workflow does not do what its run has recorded: ${expected} was expected, and ${came} came.`;
      assert.match(JSON.stringify(output).replaceAll('\\', ''), new RegExp(text));
      assert.deepEqual(effects, ['one', 'two']);
      body = BEFORE;
      await scene.engine.retry(run);
      await scene.work();
      assert.deepEqual(await scene.end(run), { state: 'completed', output: 'three' });
      assert.deepEqual(effects, ['one', 'two', 'three']);
    });
  }

  test('code that only awaits something of its own has not changed', async (t) => {
    const effects: string[] = [];
    const flow = workflow('flow', async (_, wf) => {
      const other = (async () => {
        await new Promise<void>((go) => scene.world.timers.after(500, go));
        return note(wf, effects, 'late');
      })();
      await Promise.all([note(wf, effects, 'soon'), other]);
      await wf.sleep('1m');
      return 'ok';
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'ok' });
    assert.deepEqual(effects, ['soon', 'late']);
  });

  test('code that takes its time before it asks for the first has not changed', async (t) => {
    const effects: string[] = [];
    const flow = workflow('flow', async (_, wf) => {
      await new Promise<void>((go) => scene.world.timers.after(5000, go));
      await note(wf, effects, 'one');
      await wf.sleep('1m');
      return 'ok';
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual([await scene.end(run), effects], [{ state: 'completed', output: 'ok' }, ['one']]);
  });

  test('a step of the policy exact that may have run is not run again', async (t) => {
    let ran = 0;
    const flow = workflow('flow', async (_, wf) =>
      wf.step('pay', () => ++ran, { policy: 'exact' }).catch((error: { code?: string; message: string }) => error.code),
    );
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    // The mark is the first commit; the process dies before that of the value.
    await scene.work({ crashBefore: 2 });
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'STEP_UNCERTAIN' });
    assert.deepEqual([ran, scene.crashes], [1, 1]);
  });

  test('calls inside of a step, and after the end, are refused', async (t) => {
    const late = Promise.withResolvers<unknown>();
    const flow = workflow('flow', async (_, wf) => {
      setTimeout(() => {
        try {
          void wf.step('late', () => 1);
        } catch (error) {
          late.resolve((error as { code: string }).code);
        }
      }, 20);
      return wf.step('outer', () => wf.step('inner', () => 1)).catch((error: { code?: string }) => error.code);
    });
    const scene = await DurableScene.open(t, { tasks: [flow] });
    const run = await scene.push(flow);
    await scene.work();
    assert.deepEqual(await scene.end(run), { state: 'completed', output: 'INVALID_INPUT' });
    assert.equal(await late.promise, 'CONFLICT');
  });
});

describe('a journal of a workflow', () => {
  const entry = (key: string, value: unknown, isChild?: true) => ({
    key,
    value: JSON.stringify(value),
    ...(isChild === undefined ? {} : { child: isChild }),
  });

  test('is read in the order of its numbers, whatever else is in it', () => {
    const { outcomes, born, notes, next } = readHistory([
      entry('w:000007/end:child:look#0', {}),
      entry('w:000002/child:look#0', { id: 'x', task: 9 }, true),
      entry('w:000003/step:error:step:a#0', 1),
      entry('w:000001/now:now#0', 5),
      entry('other', 1),
    ]);
    assert.deepEqual(
      outcomes.map(({ place }) => place),
      ['step:error:step:a#0', 'child:look#0'],
    );
    assert.deepEqual([born.get('child:look#0'), notes.get('now:now#0'), next], [9, '5', 8]);
  });

  for (const [what, forged] of Object.entries({
    'a child that only a worker speaks of': [entry('w:000001/child:look#0', { id: 'x', task: 4711 })],
    'the end of a child that was never born': [entry('w:000001/end:child:look#0', {})],
    'two outcomes of one call': [entry('w:000001/step:a#0', 1), entry('w:000002/step:a#0', 2)],
    'an error without a message': [entry('w:000001/error:step:a#0', { name: 7 })],
    'a failure of another form': [entry('w:000001/failed', { again: 'x' })],
    'a failure that is no object': [entry('w:000001/failed', null)],
  })) {
    test(`is not believed with ${what}`, () => {
      assert.throws(() => readHistory(forged), BrokenJournal);
    });
  }
});
