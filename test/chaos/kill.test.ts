import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openNode } from '../../src/app/node.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { PushRequest } from '../../src/engine/push/push.ts';
import { scaled } from '../support/scale.ts';
import { type Child, Nursery, scratch } from './children.ts';
import { type Asked, type Call, History, readHistory } from './history.ts';
import { check } from './kill-checker.ts';
import { look } from './look.ts';

const CLIENTS = 4;
const KILLS = scaled(25, 200);
const LEASE_MS = 200;
/** The share of kills that strike whenever, even while the victim is still opening the file. */
const EARLY = 0.15;

interface Client {
  readonly child: Child;
  readonly history: string;
}

test('what four clients were told stays true when they are killed at random moments', async (t) => {
  const folder = scratch(t, 'kill');
  const file = join(folder, 'kill.db');
  const program = new URL('./kill-child.ts', import.meta.url);
  const nursery = new Nursery(t, {
    environment: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled') },
  });
  const histories: string[] = [];
  const start = (unanswered: readonly Asked[] = []): Client => {
    const name = `client-${histories.length}`;
    const history = join(folder, `${name}.jsonl`);
    histories.push(history);
    return { child: nursery.start(program, [file, history, name, JSON.stringify(unanswered)]), history };
  };

  const clients = Array.from({ length: CLIENTS }, () => start());
  const started = performance.now();
  for (let kill = 0; kill < KILLS; kill++) {
    const place = await pickVictim(clients);
    const { child, history } = clients[place] as Client;
    await pause(Math.random() * 200);
    assert.ok(child.alive, `a client ended by itself:\n${child.errors}`);
    await child.kill();
    clients[place] = start(unanswered(readHistory(history)));
  }
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(clients.map(({ child }) => child.kill()));

  const healing = performance.now();
  const healer = join(folder, 'healer.jsonl');
  await heal(
    file,
    healer,
    histories.flatMap((history) => unanswered(readHistory(history))),
  );
  const healed = performance.now() - healing;

  const seen = check(
    [...histories, healer].flatMap((history) => readHistory(history)),
    look(file),
  );
  t.diagnostic(`${KILLS} kills in ${seconds.toFixed(1)} s, healed in ${healed.toFixed(0)} ms: ${JSON.stringify(seen)}`);
  if (KILLS < 200) return;
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, `the run never met: ${what}`);
});

async function pickVictim(clients: readonly Client[]): Promise<number> {
  if (Math.random() < EARLY) return Math.floor(Math.random() * clients.length);
  await Promise.race(clients.map(({ child }) => child.hear('working')));
  const working = [...clients.keys()].filter((place) => (clients[place] as Client).child.said('working'));
  return working[Math.floor(Math.random() * working.length)] as number;
}

/** Questions that may be asked again as they were. */
function unanswered(calls: readonly Call[]): readonly Asked[] {
  return calls.flatMap(({ asked, outcome }) =>
    outcome === 'unknown' && (asked.verb === 'push' || asked.op !== undefined) ? [asked] : [],
  );
}

/** The faults have stopped: one healthy node asks what was left unanswered, twice, and then finishes all there is. */
async function heal(file: string, history: string, asked: readonly Asked[]): Promise<void> {
  const node = await openNode(`sqlite:${file}`, { leaseMs: LEASE_MS, dutyMs: LEASE_MS });
  const { engine } = node;
  const notes = new History(history);
  for (const { verb, request } of [...asked, ...asked]) {
    if (verb !== 'push') continue;
    await notes.note({ verb, request }, async () => ({ task: (await engine.push(request as PushRequest)).task }));
  }
  const worker = await engine.workers.register({ name: 'healer', incarnation: 'healer', slots: 100 });
  const patience = performance.now() + 100 * LEASE_MS;
  for (;;) {
    const { ready, running, scheduled, waiting } = await engine.stats('kill');
    if (ready + running + scheduled + waiting === 0) break;
    assert.ok(performance.now() < patience, `not healed: ${JSON.stringify(await engine.stats('kill'))}`);
    await finishSome(engine, worker, notes);
  }
  await node.close();
}

async function finishSome(engine: Engine, worker: number, notes: History): Promise<void> {
  let claimed: Awaited<ReturnType<Engine['claim']>> = [];
  await notes.note({ verb: 'claim' }, async () => {
    claimed = await engine.claim({ worker, max: 100, queues: ['kill'], waitMs: 100 });
    return { grants: claimed.map(({ task, attempt, tries, maxTries }) => ({ task, attempt, tries, maxTries })) };
  });
  await Promise.all(
    claimed.map((lease) => {
      const { task, attempt } = lease;
      const result = { by: 'healer', task, attempt };
      return notes.note({ verb: 'complete', task, attempt, result }, async () => {
        await engine.complete(lease, result);
        return { state: 'completed' };
      });
    }),
  );
}
