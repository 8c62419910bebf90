import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLOOR } from '../../../src/engine/claim/ready-lanes.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { PushRequest } from '../../../src/engine/push/push.ts';
import { Rng } from '../../sim/rng.ts';
import { scaled } from '../../support/scale.ts';
import { type GroundMaker, inMemory, onPostgres } from './scheduling-grounds.ts';

/** Tasks that are given out in a world. */
const TURNS = 160;
const MOST = 8;

type Body = (engine: Engine, worker: number, rng: Rng) => Promise<void>;

async function inWorlds(make: GroundMaker, count: number, body: Body): Promise<void> {
  for (let seed = 1; seed <= count; seed++) {
    const ground = await make(seed);
    const [engine] = ground.engines;
    try {
      const tags = ['t0', 't1', 't2', 't3'];
      const worker = await engine.workers.register({ name: 'w', incarnation: `${seed}`, slots: 100, tags });
      await body(engine, worker, new Rng(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    } finally {
      await ground.close();
    }
  }
}

/** The inputs of the tasks as they are given out, in claims of random size. */
async function turns(engine: Engine, worker: number, rng: Rng): Promise<readonly string[]> {
  const given: string[] = [];
  while (given.length < TURNS) {
    const grants = await engine.claim({ worker, max: rng.int(1, MOST) });
    assert.ok(grants.length > 0, 'there was work, and nobody got it');
    given.push(...grants.map(({ payload }) => JSON.parse(payload) as string));
    await Promise.all(grants.map((grant) => engine.complete(grant)));
  }
  return given;
}

function times(count: number, request: PushRequest): PushRequest[] {
  return Array.from({ length: count }, () => request);
}

/** Keys with more than enough to do, each in several places, get what their weights say. */
async function shares(engine: Engine, worker: number, rng: Rng): Promise<void> {
  const keys = Array.from({ length: rng.int(2, 5) }, (_, i) => ({ key: `k${i}`, weight: rng.int(1, 5) }));
  const requests = keys.flatMap(({ key, weight }) => {
    const places = rng.int(1, 4);
    return Array.from({ length: places }, (_, i) => ({ tag: `t${i}` })).flatMap(({ tag }) =>
      times(TURNS, { queue: 'q', handler: 'h', input: key, fairness: { key, weight }, placement: { requires: [tag] } }),
    );
  });
  await engine.pushMany(requests);
  const given = await turns(engine, worker, rng);
  const all = keys.reduce((sum, { weight }) => sum + weight, 0);
  for (const { key, weight } of keys) {
    const due = (given.length * weight) / all;
    const got = given.filter((input) => input === key).length;
    assert.ok(Math.abs(got - due) <= 2 + weight, `${key} of weight ${weight} got ${got} of ${due.toFixed(1)}`);
  }
}

/** What is most urgent comes first, and yet every place gets its turn before long, however little its tasks matter. */
async function floors(engine: Engine, worker: number, rng: Rng): Promise<void> {
  const queues = Array.from({ length: rng.int(2, 6) }, (_, i) => ({ queue: `q${i}`, priority: rng.int(-2, 2) }));
  await engine.pushMany(
    queues.flatMap(({ queue, priority }) => times(TURNS + MOST, { queue, handler: 'h', input: queue, priority })),
  );
  const given = await turns(engine, worker, rng);
  const top = Math.max(...queues.map(({ priority }) => priority));
  const urgent = new Set(queues.filter(({ priority }) => priority === top).map(({ queue }) => queue));
  const first = given.filter((input) => urgent.has(input)).length;
  assert.ok(first >= given.length * (1 - 2 / FLOOR), `only ${first} of ${given.length} were urgent`);
  const longest = (FLOOR + MOST) * queues.length;
  for (const { queue } of queues) {
    let since = 0;
    for (const input of given) {
      since = input === queue ? 0 : since + 1;
      assert.ok(since <= longest, `${queue} was passed over ${since} times`);
    }
  }
}

for (const [what, body] of [
  ['keys share what there is in proportion to their weights, however many places each has', shares],
  ['the most urgent come first, and nothing is passed over for long', floors],
] as const) {
  test(`in memory, ${what}`, () => inWorlds(inMemory, scaled(20, 200), body));
  test(`on Postgres, ${what}`, async () => inWorlds(await onPostgres(), scaled(2, 20), body));
}
