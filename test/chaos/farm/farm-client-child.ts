/** Pushes its part of the work as fast as the farm allows, signals and cancels, and writes down what it was told. */
import { setTimeout as pause } from 'node:timers/promises';
import { open } from '../../../src/app/open.ts';
import { Rng } from '../../sim/rng.ts';
import type { Word } from '../children.ts';
import { say } from '../parent.ts';
import { countCalls } from './farm-calls.ts';
import { KINDS, numberOf, schedule } from './farm-kinds.ts';
import { usesOf } from './farm-limits.ts';
import { type Ask, type Told as Note, Notes, now, type Upstream } from './farm-notes.ts';
import { APART, INLINE, SHELL, SHELL_TRIES, shellInput } from './farm-tasks.ts';

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

/** So many tasks of one graph at least. */
const GRAPH = 5;
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
let words = 0;
let taken = 0;

process.on('message', (word) => {
  if ((word as Word).word === 'upTo') allowed = Math.floor(((word as Word)['share'] as number) * plan.length);
});

/** Asks until it is told, or once if a second time could do it again. */
async function ask<T>(
  what: Pick<Ask, 'verb' | 'kind' | 'keys' | 'after'>,
  repeatable: boolean,
  act: () => Promise<T>,
  say: (answer: T) => Pick<Note, 'pushed' | 'cancel' | 'woken'>,
): Promise<T | undefined> {
  for (;;) {
    const call = `${name}/${calls++}`;
    notes.write({ note: 'ask', call, ...what });
    try {
      const answer = await act();
      notes.write({ note: 'told', call, ...say(answer), at: now() });
      return answer;
    } catch (error) {
      notes.write({ note: 'told', call, error: String(error), at: now() });
      if (!repeatable) return undefined;
      await pause(50);
    }
  }
}

/** What can be repeated has an operation id, so that it happens once. */
function push(kind: string, keys: readonly string[]): Promise<readonly Told[] | undefined> {
  return ask(
    { verb: 'push', kind, keys },
    isRepeatable(kind),
    () => (isPlain(kind) ? many(kind, keys) : app.engine.pushMany(keys.map((key) => request(kind, key)))),
    pushed,
  );
}

function pushed(answers: readonly Told[]): Pick<Note, 'pushed'> {
  return { pushed: answers.map(({ id, task }) => ({ id, task })) };
}

/** A task of a graph that exists. */
interface Member extends Told {
  readonly key: string;
}

/** Newest last: new graphs wait for some of them. */
const members: Member[] = [];

/** A random graph: each waits for some that come before it, in this graph or in earlier ones. */
async function pushGraph(nodes: readonly { readonly kind: string; readonly key: string }[]): Promise<void> {
  const before = members.slice(-10);
  const after = nodes.map((_, i): readonly Upstream[] => {
    const those = [...before, ...nodes.slice(Math.max(0, i - 5), i)].filter(() => rng.chance(0.2));
    return those.map(({ key }) => ({ key, optional: rng.chance(0.4) }));
  });
  const upstream = ({ key, optional }: Upstream) => ({ on: before.find((one) => one.key === key) ?? key, optional });
  const keys = nodes.map(({ key }) => key);
  const send = () =>
    ask(
      { verb: 'push', kind: 'graph', keys, after },
      ops,
      async () => {
        const handles = await app.pushGraph(
          nodes.map(({ kind, key }, i) => ({
            name: key,
            task: tasks.get(kind) as (typeof INLINE)[number],
            input: request(kind, key).input,
            after: (after[i] as readonly Upstream[]).map(upstream),
            ...(ops ? { op: key } : {}),
          })),
        );
        return keys.map((key) => ({ key, id: handles[key]?.id as string, task: handles[key]?.task as number }));
      },
      pushed,
    );
  const told = await send();
  if (ops && rng.chance(0.1)) await send();
  members.push(...(told ?? []));
  for (const { id } of told ?? []) if (rng.chance(0.02)) cancelling.push(cancel('graph', id));
}

/** A word for one of those who wait on the channel, now or later. */
async function signal(channel: string): Promise<void> {
  const body = `${name}-word-${words++}`;
  const send = () =>
    ask(
      { verb: 'signal', kind: channel, keys: [body] },
      ops,
      () => app.engine.waits.signal(channel, body, ops ? { op: body } : {}),
      ({ woken }) => ({ woken }),
    );
  await send();
  if (ops && rng.chance(0.1)) await send();
}

async function signalLater(channel: string, ms: number): Promise<void> {
  await pause(ms);
  await signal(channel);
}

/** One word for each who listens, some before it comes and most while it waits; too few for the impatient. */
async function speak(kind: string, keys: readonly string[]): Promise<void> {
  if (kind !== 'listener' && kind !== 'impatient') return;
  for (const key of keys) {
    const channel = channelOf(kind, key) as string;
    if (kind === 'listener' && rng.chance(0.4)) await signal(channel);
    else if (kind === 'listener' || rng.chance(0.6))
      cancelling.push(signalLater(channel, rng.int(0, kind === 'listener' ? 1000 : 1500)));
  }
}

/** Several listen on each channel. */
function channelOf(kind: string, key: string): string | undefined {
  if (kind === 'listener') return `listen-${numberOf(key) % 4}`;
  return kind === 'impatient' ? 'impatient' : undefined;
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
    return { ...SHELL, input, maxAttempts: SHELL_TRIES[kind], ...(ops ? { op: key } : {}) };
  }
  const { queue, retry, maxAttempts, timeoutMs, waitTimeoutMs } = tasks.get(kind) as (typeof INLINE)[number];
  // Of the key, so that a repeated request is the same.
  const chance = (numberOf(key) * 7919) % 1000;
  const channel = channelOf(kind, key);
  const ms = kind === 'busy' ? 5 + chance / 12 : 20 + chance * 0.7;
  const input = { key, ms, ...(channel === undefined ? {} : { channel }) };
  const limits = usesOf(kind, key);
  const waitTimeout = kind === 'hasty' ? Math.ceil(ms) : waitTimeoutMs;
  return {
    queue,
    handler: kind,
    input,
    ...(ops ? { op: key } : {}),
    ...(limits.length === 0 ? {} : { limits }),
    ...(waitTimeout === undefined ? {} : { waitTimeout }),
    ...(retry === undefined ? {} : { retry }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  };
}

async function cancel(kind: string, id: string): Promise<void> {
  await ask(
    { verb: 'cancel', kind, keys: [id] },
    true,
    () => app.cancel(id),
    (answer) => ({ cancel: answer }),
  );
}

/** Most are cancelled while they run, some before. Returns when the task has ended. */
async function cancelInTime(kind: string, id: string): Promise<void> {
  const handle = app.handle(id);
  // A few are waited for: on a busy host none of the others has started when it is cancelled.
  const patient = rng.chance(0.15);
  const patience = now() + (patient ? 30_000 : rng.int(0, 1500));
  while (now() < patience && (await handle.state()) !== 'running') await pause(patient ? 150 : 30);
  await pause(rng.int(0, 300));
  await cancel(kind, id);
  await app.engine.finished(app.engine.parseId(id));
  notes.write({ note: 'saw', id, state: await handle.state(), at: now() });
}

const cancelling: Promise<void>[] = [];
const endless = new Set(KINDS.filter(({ ends }) => ends === 'cancelled').map((kind) => kind.name));
/** Those that are kept until there are enough for a graph. */
let nodes: { readonly kind: string; readonly key: string }[] = [];
while (taken < plan.length) {
  if (taken >= allowed) {
    await pause(20);
    continue;
  }
  const batch = plan.slice(taken, Math.min(allowed, taken + rng.int(1, 100)));
  const named = batch.map((kind, i) => ({ kind, key: `${name}-${taken + i}` }));
  const groups = Map.groupBy(named, ({ kind }) => (kind.endsWith('node') ? 'graph' : kind));
  taken += batch.length;
  nodes.push(...(groups.get('graph') ?? []));
  groups.delete('graph');
  if (nodes.length >= GRAPH || taken === plan.length) {
    await pushGraph(nodes);
    nodes = [];
  }
  for (const [kind, of] of groups) {
    const keys = of.map(({ key }) => key);
    await speak(kind, keys);
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
