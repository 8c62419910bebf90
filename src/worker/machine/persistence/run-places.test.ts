import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Machine } from '../../../flow/machine/definition.ts';
import { machineOf } from '../../../flow/machine/test-driver.ts';
import { virtualWorld } from '../../agents/test-world.ts';
import { LocalFileBackend } from './file-backend.ts';
import { MemoryBackend } from './memory-backend.ts';
import { RunPlaces, type RunPlacesOptions } from './run-places.ts';
import { SQLiteCheckpointBackend } from './sqlite/checkpoints.ts';

const machine = (persistence?: object, settings: object = {}): Machine =>
  machineOf({ settings, ...(persistence === undefined ? {} : { persistence }), states: { a: { type: 'final' } } });

function scene(t: TestContext, options: Partial<RunPlacesOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-places-'));
  const places = new RunPlaces({ world: virtualWorld().world, ...options });
  t.after(() => {
    places.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, places };
}

describe('the place of a run', () => {
  test('is nowhere without persistence, or where it is off', (t) => {
    const { folder, places } = scene(t, { memory: new MemoryBackend() });
    assert.equal(places.of(machine(), folder), undefined);
    assert.equal(places.of(machine({ enabled: false, backend: 'local' }), folder), undefined);
    assert.ok(!existsSync(join(folder, '.checkpoints')));
  });

  test('is the folder or the file that the machine names, from its own folder', (t) => {
    const { folder, places } = scene(t);
    const backends = [{ backend: 'local' }, { backend: 'local', path: 'kept' }].map(
      (one) => places.of(machine(one), folder)?.backend as LocalFileBackend,
    );
    assert.deepEqual(
      backends.map((one) => one.folder),
      [join(folder, '.checkpoints'), join(folder, 'kept')],
    );
    assert.ok(places.of(machine({ backend: 'sqlite' }), folder)?.backend instanceof SQLiteCheckpointBackend);
    assert.ok(existsSync(join(folder, 'flatmachines.sqlite')));
    const settings = { backends: { persistence: 'sqlite', sqlite_path: 'other.db' } };
    assert.ok(places.of(machine({ enabled: true }, settings), folder)?.backend instanceof SQLiteCheckpointBackend);
    assert.ok(existsSync(join(folder, 'other.db')));
  });

  test('in memory is written only where somebody can read it', (t) => {
    const memory = new MemoryBackend();
    assert.equal(scene(t).places.of(machine({ enabled: true }), '.'), undefined);
    const place = scene(t, { memory }).places.of(machine({ enabled: true, backend: 'memory' }), '.');
    assert.deepEqual([place?.backend, place?.onlyLatest], [memory, true]);
  });

  test('is shared by machines within, unless they name another; what a program gives goes first', (t) => {
    const { folder, places } = scene(t);
    const around = places.of(machine({ backend: 'local', checkpoint_on: ['execute'] }), folder);
    assert.equal(places.of(machine(), folder, around), around);
    const own = places.of(machine({ enabled: true, checkpoint_on: ['state_exit'] }), folder, around);
    assert.deepEqual([own?.backend, [...(own?.events ?? [])]], [around?.backend, ['state_exit']]);
    const other = places.of(machine({ backend: 'sqlite' }), folder, around);
    assert.notEqual(other?.backend, around?.backend);
    assert.equal(places.of(machine({ backend: 'sqlite' }), folder)?.lock, other?.lock);
    assert.equal(places.of(machine({ enabled: false }), folder, around), undefined);
    const persistence = new MemoryBackend();
    const given = scene(t, { persistence }).places;
    for (const one of [machine(), machine({ backend: 'redis' })])
      assert.equal(given.of(one, folder)?.backend, persistence);
  });

  test('has the events of checkpoint_on that there are', (t) => {
    const { places } = scene(t, { memory: new MemoryBackend() });
    const place = places.of(machine({ enabled: true, checkpoint_on: ['execute', 'never', 'waiting'] }), '.');
    assert.deepEqual([...(place?.events ?? [])], ['execute']);
    assert.throws(() => places.of(machine({ backend: 'redis' }), '.'), /"redis" is not one of local, memory, sqlite/);
  });
});
