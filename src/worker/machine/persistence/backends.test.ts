import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { PersistenceBackend } from './backends.ts';
import { LocalFileBackend } from './file-backend.ts';
import { latestKey, stepKey } from './keys.ts';
import { incompleteExecutions, latestOf, type PruneOptions } from './latest.ts';
import { MemoryBackend } from './memory-backend.ts';
import { SQLiteCheckpointBackend } from './sqlite/checkpoints.ts';
import { RunFile } from './sqlite/run-file.ts';
import { cloneSnapshot, type WireSnapshot } from './wire-snapshot.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-persistence-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Prunable = PersistenceBackend & { prune(options: PruneOptions): Promise<number> };

const kinds: Readonly<Record<string, (t: TestContext) => Prunable>> = {
  memory: () => new MemoryBackend(),
  local: (t) => new LocalFileBackend(join(folderOf(t), '.checkpoints')),
  sqlite: (t) => {
    const file = new RunFile(join(folderOf(t), 'runs.sqlite'), { owner: 'me', now: Date.now });
    t.after(() => file.close());
    return new SQLiteCheckpointBackend(file);
  },
};

function wire(id: string, more: Partial<WireSnapshot> = {}): WireSnapshot {
  return {
    execution_id: id,
    machine_name: 'm',
    spec_version: '4.2.1',
    current_state: 'a',
    context: { n: 1 },
    step: 1,
    created_at: new Date().toISOString(),
    event: 'execute',
    ...more,
  };
}

async function put(backend: PersistenceBackend, snapshot: WireSnapshot): Promise<void> {
  const key = stepKey(snapshot.execution_id, snapshot.step, snapshot.event ?? 'execute');
  await backend.save(key, { ...snapshot });
  await backend.save(latestKey(snapshot.execution_id), key);
}

for (const [kind, make] of Object.entries(kinds)) {
  describe(`the ${kind} backend`, () => {
    test('loads what was saved, and null for what was not', async (t) => {
      const backend = make(t);
      assert.equal(await backend.load('a/latest'), null);
      assert.equal(await backend.load('a/step_000001_execute.json'), null);
      const snapshot = wire('a');
      await put(backend, snapshot);
      assert.equal(await backend.load('a/latest'), 'a/step_000001_execute.json');
      assert.deepEqual(await latestOf(backend, 'a'), snapshot);
      await put(backend, { ...snapshot, context: { n: 2 } });
      assert.deepEqual((await latestOf(backend, 'a'))?.context, { n: 2 });
    });

    test('lists keys by their beginning, sorted', async (t) => {
      const backend = make(t);
      for (const step of [2, 1]) await put(backend, wire('a', { step }));
      await put(backend, wire('b'));
      const own = ['a/latest', 'a/step_000001_execute.json', 'a/step_000002_execute.json'];
      assert.deepEqual(await backend.list('a/'), own);
      assert.deepEqual(await backend.list(''), [...own, 'b/latest', 'b/step_000001_execute.json']);
      await backend.delete('a/step_000001_execute.json');
      await backend.delete('a/step_000001_execute.json');
      assert.deepEqual(await backend.list('a/step'), ['a/step_000002_execute.json']);
    });

    test('lists runs by their latest event and channel, and those that are incomplete', async (t) => {
      const backend = make(t);
      await put(backend, wire('ended', { event: 'machine_end' }));
      await put(backend, wire('waits', { event: 'waiting', waiting_channel: 'c/1' }));
      await put(backend, wire('waits-elsewhere', { event: 'waiting', waiting_channel: 'c/2' }));
      await put(backend, wire('went-on', { event: 'waiting', waiting_channel: 'c/1' }));
      await put(backend, wire('went-on', { step: 2 }));
      assert.deepEqual(await backend.listExecutionIds(), ['ended', 'waits', 'waits-elsewhere', 'went-on']);
      assert.deepEqual(await backend.listExecutionIds({ event: 'machine_end' }), ['ended']);
      assert.deepEqual(await backend.listExecutionIds({ waiting_channel: 'c/1' }), ['waits']);
      assert.deepEqual(await backend.listExecutionIds({ event: 'waiting', waiting_channel: 'c/2' }), [
        'waits-elsewhere',
      ]);
      assert.deepEqual(await incompleteExecutions(backend), ['waits', 'waits-elsewhere', 'went-on']);
    });

    test('deletes a run with all that it has; one that is not there is no error', async (t) => {
      const backend = make(t);
      await put(backend, wire('a'));
      await put(backend, wire('ab'));
      await backend.deleteExecution('a');
      await backend.deleteExecution('a');
      await backend.deleteExecution('never');
      assert.deepEqual(await backend.listExecutionIds(), ['ab']);
    });

    const bad = [
      '../a/latest',
      'a/../../b',
      '/etc/passwd',
      'a/b\0c',
      'a\\b/latest',
      'C:/x/latest',
      '',
      'a',
      'a//b',
      'a/b/c',
      '.a/latest',
    ];
    for (const key of bad) {
      test(`refuses the key ${JSON.stringify(key)}`, async (t) => {
        const backend = make(t);
        await assert.rejects(backend.save(key, wire('a') as never), /checkpoint key/);
        await assert.rejects(backend.load(key), /checkpoint key/);
        await assert.rejects(backend.delete(key), /checkpoint key/);
        if (!/^[^/\\:.\0]+$/.test(key)) await assert.rejects(backend.deleteExecution(key), /execution id/);
      });
    }

    const hour = 3_600_000;
    const aged = async (backend: PersistenceBackend): Promise<void> => {
      for (const [i, age] of [3 * hour, 2 * hour, hour / 12, 0].entries()) {
        await put(backend, wire(`run${i}`, { created_at: new Date(Date.now() - age).toISOString() }));
      }
    };

    test('prunes by age', async (t) => {
      const backend = make(t);
      await aged(backend);
      assert.equal(await backend.prune({ maxAgeSeconds: 86_400 }), 0);
      assert.equal(await backend.prune({ maxAgeSeconds: 3600 }), 2);
      assert.deepEqual(await backend.listExecutionIds(), ['run2', 'run3']);
    });

    test('prunes by count, the oldest first', async (t) => {
      const backend = make(t);
      await aged(backend);
      assert.equal(await backend.prune({ maxCount: 9 }), 0);
      assert.equal(await backend.prune({ maxCount: 3 }), 1);
      assert.deepEqual(await backend.listExecutionIds(), ['run1', 'run2', 'run3']);
      assert.equal(await backend.prune({ maxCount: 0 }), 3);
      assert.equal(await backend.prune({ maxCount: 0 }), 0);
    });

    test('prunes by both, and what cannot be read as the oldest', async (t) => {
      const backend = make(t);
      await aged(backend);
      await backend.save('orphan/step_000001_execute.json', { no: 'snapshot' });
      assert.equal(await backend.prune({ maxAgeSeconds: 3600, maxCount: 1 }), 4);
      assert.deepEqual(await backend.listExecutionIds(), ['run3']);
    });
  });
}

describe('the local backend', () => {
  test('has the files of the language, and leaves none of its own behind', async (t) => {
    const folder = folderOf(t);
    await put(new LocalFileBackend(folder), wire('a', { step: 12, event: 'state_exit' }));
    assert.deepEqual(readdirSync(join(folder, 'a')).toSorted(), ['latest', 'step_000012_state_exit.json']);
    assert.equal(readFileSync(join(folder, 'a', 'latest'), 'utf8'), 'a/step_000012_state_exit.json');
  });

  test('does not believe a file that is no snapshot, or that points elsewhere', async (t) => {
    const folder = folderOf(t);
    const backend = new LocalFileBackend(folder);
    await put(backend, wire('a'));
    writeFileSync(join(folder, 'a', 'step_000001_execute.json'), '{"context": []}');
    await assert.rejects(latestOf(backend, 'a'), /not a snapshot/);
    for (const leasehold of [{ phase: 'nowhere' }, { phase: 'ended' }, { results: {} }, { agentCalls: '1' }, []]) {
      writeFileSync(join(folder, 'a', 'step_000001_execute.json'), JSON.stringify({ ...wire('a'), leasehold }));
      await assert.rejects(latestOf(backend, 'a'), /not a snapshot/);
    }
    writeFileSync(join(folder, 'a', 'step_000001_execute.json'), '{');
    await assert.rejects(latestOf(backend, 'a'), /no JSON/);
    writeFileSync(join(folder, 'a', 'latest'), '../../etc/passwd');
    await assert.rejects(latestOf(backend, 'a'), /checkpoint key/);
  });
});

describe('backends in memory', () => {
  test('share nothing', async () => {
    const [one, other] = [new MemoryBackend(), new MemoryBackend()];
    await put(one, wire('a'));
    assert.deepEqual(await other.listExecutionIds(), []);
  });
});

describe('a clone of a snapshot', () => {
  test('has a new id and time, the source as its parent, nothing to launch, and shares nothing', () => {
    const pending_launches = [{ execution_id: 'c', machine: 'm', input: {}, launched: false }];
    const source = wire('a', { created_at: '2020-01-01T00:00:00.000Z', context: { list: [1] }, pending_launches });
    const clone = cloneSnapshot(source, 'b', 0);
    assert.deepEqual(clone, {
      ...wire('b', { created_at: new Date(0).toISOString(), context: { list: [1] } }),
      parent_execution_id: 'a',
    });
    assert.equal('pending_launches' in clone, false);
    assert.notEqual(clone.context['list'], source.context['list']);
  });
});
