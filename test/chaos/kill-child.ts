/**
 * A client that may be killed at any moment: pushes, claims, completes, fails, gives back and forgets, with short leases.
 * What its predecessor asked without hearing the answer, it asks again first.
 */
import { flushCompileCache } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { openNode } from '../../src/app/node.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { PushRequest } from '../../src/engine/push/push.ts';
import { type Asked, History } from './history.ts';
import { say } from './parent.ts';

type Claimed = Awaited<ReturnType<Engine['claim']>>[number];

const LEASE_MS = 200;
const DUTY_MS = 150;
const [file, history, name, unanswered] = process.argv.slice(2) as [string, string, string, string];
const notes = new History(history);
const node = await openNode(`sqlite:${file}`, { leaseMs: LEASE_MS, dutyMs: DUTY_MS });
const { engine } = node;
const worker = await engine.workers.register({ name: 'client', incarnation: name, slots: 10 });
let calls = 0;

const chance = (share: number): boolean => Math.random() < share;
const below = (n: number): number => Math.floor(Math.random() * n);

function push(request: PushRequest): Promise<unknown> {
  return notes.note({ verb: 'push', request }, async () => ({ task: (await engine.push(request)).task }));
}

async function claim(max: number, op: string | undefined): Promise<readonly Claimed[]> {
  const options = { worker, max, queues: ['kill'], ...(op === undefined ? { waitMs: 100 } : { op }) };
  let claimed: readonly Claimed[] = [];
  await notes.note({ verb: 'claim', op }, async () => {
    claimed = await engine.claim(options);
    return { grants: claimed.map(({ task, attempt, tries, maxTries }) => ({ task, attempt, tries, maxTries })) };
  });
  return claimed;
}

async function pusher(): Promise<void> {
  for (;;) {
    await pause(below(5));
    const op = `${name}/${calls++}`;
    const task = { queue: 'kill', handler: 'run', maxAttempts: 3, retry: { baseMs: 10, maxMs: 50 }, op };
    const kind = Math.random();
    // Keys are shared by all clients; now and then one comes with another input, which must be refused or win for good.
    if (kind < 0.2) await push({ ...task, input: { variant: chance(0.1) ? 1 : 0 }, unique: `key-${below(60)}` });
    else if (kind < 0.3) await push({ ...task, input: { op }, delay: below(200) });
    else await push({ ...task, input: { op } });
  }
}

async function claimer(): Promise<void> {
  for (;;) {
    const op = chance(0.3) ? `${name}/${calls++}` : undefined;
    const claimed = await claim(1 + below(8), op);
    await (claimed.length === 0 ? pause(below(10)) : Promise.all(claimed.map((lease) => work(lease))));
  }
}

async function work(lease: Claimed): Promise<void> {
  const { task, attempt } = lease;
  // Some take longer than their lease, and second attempts take their time: so late answers meet a newer attempt at work.
  const late = chance(0.08);
  await pause(late ? LEASE_MS + below(2 * LEASE_MS) : below(attempt === 1 ? 20 : LEASE_MS));
  const fate = Math.random();
  const settle = (asked: Asked, call: () => Promise<string | void>): Promise<unknown> =>
    notes.note({ ...asked, task, attempt }, async () => ({ state: (await call()) ?? 'completed' }));
  if (fate < 0.05) return; // forgotten: the reaper brings it back
  if (fate < 0.15) await settle({ verb: 'fail' }, () => engine.fail(lease, 'bad luck'));
  else if (fate < 0.18) await settle({ verb: 'fail' }, () => engine.fail(lease, 'no hope', { giveUp: true }));
  else if (fate < 0.25) await settle({ verb: 'release' }, () => engine.release(lease));
  else {
    const result = { by: name, task, attempt };
    await settle({ verb: 'complete', result }, () => engine.complete(lease, result));
  }
}

for (const asked of JSON.parse(unanswered) as readonly Asked[]) {
  if (asked.verb === 'push') await push(asked.request as PushRequest);
  else for (const lease of await claim(8, asked.op)) await work(lease);
}
flushCompileCache(); // a killed process would not leave it to its successor
say({ word: 'working' });
await Promise.all([pusher(), pusher(), pusher(), claimer(), claimer(), claimer()]);
