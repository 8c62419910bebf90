/**
 * `npm run bench:scheduling`: what limits and many lanes cost, as ratios within one run, on either store. Each scene drains
 * its own store in this process; scenes take turns, so that a slow minute of the machine hits all of them.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Engine, PushRequest } from '../src/index.ts';
import { openNode } from '../src/index.ts';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const onPostgres = flags.store === 'postgres';
const scale = flags.quick ? 0.1 : 1;
const pad = 'x'.repeat(375);

interface Scene {
  readonly name: string;
  readonly tasks: number;
  /** Tasks that are claimed at once at most. */
  readonly slots: number;
  readonly prepare?: (engine: Engine) => Promise<void>;
  readonly request: (i: number) => PushRequest;
  /** Tasks besides, which cannot be claimed. */
  readonly held?: { readonly tasks: number; readonly request: (i: number) => PushRequest };
}

const LIMIT = 16;
/** What SQLite does in less than a second says little. */
const MANY = (onPostgres ? 60_000 : 240_000) * scale;
const LANES = 10_000 * scale;
const OPEN = LANES / 10;
const HELD = 900_000 * scale;
const plain = (more: Partial<PushRequest> = {}): PushRequest => ({
  queue: 'bench',
  handler: 'h',
  input: { pad },
  ...more,
});
const bound = async (engine: Engine): Promise<void> => void (await engine.limits.set('bound', { concurrent: LIMIT }));
const manyLimits = async (engine: Engine): Promise<void> => {
  await engine.limits.set('open', { concurrent: 1_000_000, perKey: 1_000_000 });
  await engine.limits.set('shut', { concurrent: 0, perKey: 0 });
};
const lane = (i: number): string => `h${i % LANES}`;

const SCENES: readonly Scene[] = [
  { name: 'one lane', tasks: MANY, slots: 500, request: () => plain() },
  {
    name: 'one lane, 1 M rows',
    tasks: 60_000 * scale,
    slots: 500,
    prepare: manyLimits,
    request: () => plain(),
    held: { tasks: HELD, request: () => plain({ handler: 'held', limits: ['shut'] }) },
  },
  {
    name: 'limit, not binding',
    tasks: MANY,
    slots: 500,
    prepare: async (engine) => void (await engine.limits.set('wide', { concurrent: 1_000_000 })),
    request: () => plain({ limits: ['wide'] }),
  },
  { name: `${LIMIT} slots, no limit`, tasks: 60_000 * scale, slots: LIMIT, request: () => plain() },
  {
    name: `limit of ${LIMIT}, ${4 * LIMIT} slots`,
    tasks: 60_000 * scale,
    slots: 4 * LIMIT,
    prepare: bound,
    request: () => plain({ limits: ['bound'] }),
  },
  {
    name: '10,000 lanes, 90 % blocked, shared limits',
    tasks: 60_000 * scale,
    slots: 500,
    prepare: manyLimits,
    request: (i) => plain({ handler: lane(i % OPEN), limits: ['open'] }),
    held: { tasks: HELD, request: (i) => plain({ handler: lane(OPEN + (i % (LANES - OPEN))), limits: ['shut'] }) },
  },
  {
    name: '10,000 lanes, 90 % blocked, own slots',
    tasks: 60_000 * scale,
    slots: 500,
    prepare: manyLimits,
    request: (i) => plain({ limits: [{ name: 'open', key: `k${i % OPEN}` }] }),
    held: { tasks: HELD, request: (i) => plain({ limits: [{ name: 'shut', key: `k${i % (LANES - OPEN)}` }] }) },
  },
];

const TARGETS = [
  ['limit, not binding', 'one lane', 0.9, 0.9],
  [`limit of ${LIMIT}, ${4 * LIMIT} slots`, `${LIMIT} slots, no limit`, 0.8, 0.9],
  ['10,000 lanes, 90 % blocked, shared limits', 'one lane', 0.75, 0.4],
  ['10,000 lanes, 90 % blocked, own slots', 'one lane', 0.5, 0.4],
] as const;

const chosen = SCENES.filter(({ name }) => flags.only.split(';').some((part) => name.includes(part)));
const ground = await (onPostgres ? openServer() : openFiles());
process.on('exit', () => ground.close());
const machine = describe(ground.folder, ground.version);
const started = performance.now();
say(machine);

const rates = new Map<string, number[]>(SCENES.map(({ name }) => [name, []]));
let places = 0;
for (let round = 1; round <= Number(flags.rounds); round++) {
  for (const scene of chosen) {
    const rate = await drain(scene);
    rates.get(scene.name)?.push(rate);
    say(`round ${round}  ${scene.name}: ${Math.round(rate).toLocaleString('en')} /s`);
  }
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const ratesOf = (name: string): readonly number[] => rates.get(name) ?? [];
/** Of two scenes of one round. */
const ratiosOf = (name: string, base: string): readonly number[] =>
  ratesOf(name).map((rate, i) => rate / (ratesOf(base)[i] ?? Number.NaN));
const lines = [
  '| scene | tasks a second | ratio | wanted | |',
  '|---|---:|---:|---:|---|',
  ...chosen.map(({ name }) => {
    const target = TARGETS.find(([scene]) => scene === name);
    const rate = Math.round(middle(ratesOf(name))).toLocaleString('en');
    if (target === undefined) return `| ${name} | ${rate} | | | |`;
    const [, base, postgres, sqlite] = target;
    const wanted = onPostgres ? postgres : sqlite;
    const ratios = ratiosOf(name, base);
    const ratio = middle(ratios);
    const spread = `${Math.min(...ratios).toFixed(2)}…${Math.max(...ratios).toFixed(2)}`;
    return `| ${name} | ${rate} | ×${ratio.toFixed(2)} (${spread}) of ${base} | ≥ ×${wanted} | ${ratio >= wanted ? 'met' : 'NOT MET'} |`;
  }),
].join('\n');
console.log(`\n${lines}`);
if (flags.record && !flags.quick && flags.only === '') {
  const minutes = ((performance.now() - started) / 60_000).toFixed(0);
  appendResults(
    `Scheduling on ${flags.store} · ${new Date().toISOString().slice(0, 16)} · rounds ${flags.rounds} · ${minutes} min`,
    machine,
    lines,
  );
}
process.exit(0);

async function drain(scene: Scene): Promise<number> {
  const place = await ground.create(`s${++places}`);
  const node = await openNode(onPostgres ? place : `sqlite:${place}`);
  const { engine } = node;
  await scene.prepare?.(engine);
  if (scene.held !== undefined) await fill(engine, scene.held.tasks, scene.held.request);
  await fill(engine, scene.tasks, scene.request);
  // Or the server does it by itself, in the middle of one scene or another.
  await ground.vacuum(place);
  const worker = await engine.workers.register({ name: 'bench', incarnation: randomUUID(), slots: scene.slots });
  // Some to warm up: what is measured is a worker in its stride.
  await work(engine, worker, scene.slots, scene.tasks * 0.1);
  const from = performance.now();
  const own = process.cpuUsage();
  const server = ground.serverMicros();
  const done = await work(engine, worker, scene.slots, scene.tasks * 0.8 - scene.slots);
  const rate = (done / (performance.now() - from)) * 1000;
  const { user, system } = process.cpuUsage(own);
  say(
    `${((user + system) / done).toFixed(1)} µs of CPU a task here, ${((ground.serverMicros() - server) / done).toFixed(1)} in the server`,
  );
  await node.close();
  await ground.remove(place);
  return rate;
}

async function fill(engine: Engine, tasks: number, request: (i: number) => PushRequest): Promise<void> {
  for (let i = 0; i < tasks; i += 5000) {
    await engine.pushMany(Array.from({ length: Math.min(5000, tasks - i) }, (_, k) => request(i + k)));
  }
}

/** Four claims take turns, so that while the tasks of one end, the others are on their way. */
async function work(engine: Engine, worker: number, slots: number, tasks: number): Promise<number> {
  let done = 0;
  const max = Math.ceil(slots / 4);
  const turn = async (): Promise<void> => {
    while (done < tasks) {
      const grants = await engine.claim({ worker, max, queues: ['bench'], waitMs: 500 });
      await Promise.all(
        grants.map(async (grant) => {
          await engine.complete(grant, null);
          done++;
        }),
      );
    }
  };
  await Promise.all([turn(), turn(), turn(), turn()]);
  return done;
}

function say(text: string): void {
  console.error(`[${Math.round((performance.now() - started) / 1000)} s] ${text}`);
}
