import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { type Sample, Series } from './series.ts';

function rig(kept = 4) {
  const world = new VirtualWorld();
  let sample: Partial<Sample> | undefined = {};
  let looks = 0;
  const look = (): Promise<Sample> => {
    looks++;
    if (sample === undefined) return Promise.reject(new Error('away'));
    return Promise.resolve({ completed: 0, failed: 0, waiting: 0, running: 0, ageMs: 0, ...sample });
  };
  const series = new Series({ world, look, kept });
  const step = async (next: Partial<Sample> | undefined): Promise<void> => {
    sample = next;
    await series.tick();
    world.elapse(5000);
  };
  return { world, series, step, looks: () => looks };
}

test('before the first look nothing is known', () => {
  const { series } = rig();
  const { stepMs, completed, waiting } = series.figures();
  assert.deepEqual([stepMs, completed, waiting], [5000, [], []]);
});

test('totals are told by the second, the rest as it was; of the first step there is no rate', async () => {
  const { world, series, step } = rig();
  await step({ completed: 100, failed: 1, waiting: 5, running: 2, ageMs: 9 });
  await step({ completed: 150, failed: 1, waiting: 6, running: 3, ageMs: 0 });
  await step({ completed: 151, failed: 2, waiting: 7, running: 4, ageMs: 1 });
  const figures = series.figures();
  assert.deepEqual(figures.completed, [null, 10, 0.2]);
  assert.deepEqual(figures.failed, [null, 0, 0.2]);
  assert.deepEqual(
    [figures.waiting, figures.running, figures.ageMs],
    [
      [5, 6, 7],
      [2, 3, 4],
      [9, 0, 1],
    ],
  );
  assert.equal(figures.until, world.clock.wall() - 5000);
});

test('only so many steps are kept, the newest', async () => {
  const { series, step } = rig(4);
  for (let i = 0; i < 10; i++) await step({ completed: i * 5, waiting: i });
  assert.deepEqual(series.figures().waiting, [6, 7, 8, 9]);
  assert.deepEqual(series.figures().completed, [1, 1, 1, 1]);
});

test('a look that failed, or never came, leaves a gap, and the rate after it goes over the whole time', async () => {
  const { world, series, step } = rig(8);
  await step({ completed: 0 });
  await step(undefined);
  await step({ completed: 20 });
  world.elapse(10_000);
  await step({ completed: 20 });
  assert.deepEqual(series.figures().completed, [null, null, 2, null, null, 0]);
});

test('a total that became less tells nothing', async () => {
  const { series, step } = rig();
  await step({ completed: 50 });
  await step({ completed: 10 });
  await step({ completed: 15 });
  assert.deepEqual(series.figures().completed, [null, null, 1]);
});

test('two looks of one step are one', async () => {
  const { series } = rig();
  await series.tick();
  await series.tick();
  assert.equal(series.figures().waiting.length, 1);
});

test('it looks at once and then every five seconds, until it is stopped', async () => {
  const { world, series, looks } = rig();
  series.start();
  await world.advance(0);
  assert.equal(looks(), 1);
  await world.advance(5000);
  await world.advance(5000);
  assert.equal(looks(), 3);
  series.stop();
  await world.advance(60_000);
  assert.equal(looks(), 3);
});
