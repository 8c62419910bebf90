/** Pushes its part of the work as fast as the farm allows, cancels some of it, and writes down what it was told. */
import { setTimeout as pause } from 'node:timers/promises';
import { open } from '../../src/app/open.ts';
import { Rng } from '../sim/rng.ts';
import type { Word } from './children.ts';
import { countCalls } from './farm-calls.ts';
import { KINDS, schedule } from './farm-kinds.ts';
import { Notes, now } from './farm-notes.ts';
import { APART, INLINE, SHELL, SHELL_TRIES, shellInput } from './farm-tasks.ts';
import { say } from './parent.ts';

/** What both ways to push answer. */
interface Told {
  readonly id: string;
  readonly task: number;
}

/** What the farm wants of this client. */
interface Order {
  readonly client: number;
  readonly clients: number;
  readonly seed: number;
  readonly count: number;
  readonly ops: boolean;
  readonly without: readonly string[];
}

const [url, folder, order] = process.argv.slice(2) as [string, string, string];
const { client, clients, seed, count, ops, without } = JSON.parse(order) as Order;
const name = `client${client}`;
const rng = new Rng(seed);
const notes = new Notes(folder, 'client');
const tasks = new Map([...INLINE, ...APART].map((one) => [one.name, one]));
const made = await countCalls(url);
const app = await open(url, { duties: false });
const plan = schedule(count, rng, client, clients, without);
let allowed = 0;
let calls = 0;
let pushed = 0;

process.on('message', (word) => {
  if ((word as Word).word === 'upTo') allowed = Math.floor(((word as Word)['share'] as number) * plan.length);
});

/** Asks until it is told; what can be repeated has an operation id, so that it happens once. */
async function push(kind: string, keys: readonly string[]): Promise<readonly Told[] | undefined> {
  const repeatable = isRepeatable(kind);
  for (;;) {
    const call = `${name}/${calls++}`;
    notes.write({ note: 'ask', call, verb: 'push', kind, keys });
    try {
      const answers = isPlain(kind)
        ? await many(kind, keys)
        : await app.engine.pushMany(keys.map((key) => ({ ...request(kind, key), ...(ops ? { op: key } : {}) })));
      const told = answers.map(({ id, task }) => ({ id, task }));
      notes.write({ note: 'told', call, pushed: told, at: now() });
      return answers;
    } catch (error) {
      notes.write({ note: 'told', call, error: String(error), at: now() });
      if (!repeatable) return undefined;
      await pause(50);
    }
  }
}

function isPlain(kind: string): boolean {
  return kind === 'quick' || kind === 'turn';
}

function isRepeatable(kind: string): boolean {
  return ops && !isPlain(kind);
}

function many(kind: string, keys: readonly string[]): Promise<readonly Told[]> {
  const definition = tasks.get(kind) as (typeof INLINE)[number];
  return app.pushMany(
    definition,
    keys.map((key) => ({ key })),
  );
}

function request(kind: string, key: string) {
  if (kind === 'shell' || kind === 'shell-fails') {
    const input = shellInput(folder, key, kind === 'shell' ? 0 : 3);
    return { ...SHELL, input, maxAttempts: SHELL_TRIES[kind] };
  }
  const { queue, retry, maxAttempts, timeoutMs } = tasks.get(kind) as (typeof INLINE)[number];
  // Of the key, so that a repeated request is the same.
  const chance = (Number(key.split('-').at(-1)) * 7919) % 1000;
  const input = { key, ms: kind === 'busy' ? 5 + chance / 12 : 20 + chance * 0.7 };
  return {
    queue,
    handler: kind,
    input,
    ...(retry === undefined ? {} : { retry }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  };
}

async function cancel(kind: string, id: string): Promise<void> {
  for (;;) {
    const call = `${name}/${calls++}`;
    notes.write({ note: 'ask', call, verb: 'cancel', kind, keys: [id] });
    try {
      notes.write({ note: 'told', call, cancel: await app.cancel(id), at: now() });
      return;
    } catch (error) {
      notes.write({ note: 'told', call, error: String(error), at: now() });
      await pause(50);
    }
  }
}

/** Most are cancelled while they run, some before. Returns when the task has ended. */
async function cancelInTime(kind: string, id: string): Promise<void> {
  const handle = app.handle(id);
  const patience = now() + rng.int(0, 1500);
  while (now() < patience && (await handle.state()) !== 'running') await pause(30);
  await pause(rng.int(0, 300));
  await cancel(kind, id);
  await app.engine.finished(app.engine.parseId(id));
  notes.write({ note: 'saw', id, state: await handle.state(), at: now() });
}

const cancelling: Promise<void>[] = [];
const endless = new Set(KINDS.filter(({ ends }) => ends === 'cancelled').map((kind) => kind.name));
while (pushed < plan.length) {
  if (pushed >= allowed) {
    await pause(20);
    continue;
  }
  const batch = plan.slice(pushed, Math.min(allowed, pushed + rng.int(1, 100)));
  const groups = Map.groupBy(
    batch.map((kind, i) => ({ kind, key: `${name}-${pushed + i}` })),
    ({ kind }) => kind,
  );
  pushed += batch.length;
  for (const [kind, members] of groups) {
    const keys = members.map(({ key }) => key);
    const told = await push(kind, keys);
    for (const { id } of told ?? []) {
      if (endless.has(kind)) cancelling.push(cancelInTime(kind, id));
      // Few of the others, and at once: some wait still, some run, some have ended.
      else if (rng.chance(0.005)) cancelling.push(cancel(kind, id));
    }
    // As after an answer that never came.
    if (rng.chance(0.1) && isRepeatable(kind)) await push(kind, keys);
  }
}
say({ word: 'pushed' });
await Promise.all(cancelling);
say({ word: 'done' });
await app.close();
notes.write({ note: 'calls', ...made });
process.exit(0);
