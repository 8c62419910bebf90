/**
 * `npm run bench:waiting`: what tasks cost that wait for each other, for a word, or for their next turn: a graph of 10,000 edges,
 * 100,000 parked tasks, and the history of long sessions. Each figure is a ratio or a size within one run, on either store.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { GraphRequest } from '../src/engine/push/graphs.ts';
import { type Engine, open, openNode, task } from '../src/index.ts';
import { query } from './ground/databases.ts';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
    only: { type: 'string' },
  },
  allowNegative: true,
});
const onPostgres = flags.store === 'postgres';
const scale = flags.quick ? 0.1 : 1;
const SLOTS = 500;

const ground = await (onPostgres ? openServer() : openFiles());
process.on('exit', () => ground.close());
const machine = describe(ground.folder, ground.version);
const started = performance.now();
say(machine);
const lines = ['| measure | figure | | wanted | |', '|---|---:|---|---|---|'];

const measures = { graphs, dense, parked, sessions };
for (const [name, measure] of Object.entries(measures)) {
  if (flags.only === undefined || flags.only.split(',').includes(name)) await measure();
}

console.log(`\n${lines.join('\n')}`);
if (flags.record && !flags.quick && flags.only === undefined) {
  const minutes = ((performance.now() - started) / 60_000).toFixed(0);
  const title = `Waiting on ${flags.store} · ${new Date().toISOString().slice(0, 16)} · ${minutes} min`;
  appendResults(title, machine, lines.join('\n'));
}
process.exit(0);

/** The same number of tasks, once as they are and once in layers that wait for each other. */
async function graphs(): Promise<void> {
  const width = 100;
  const layers = 21;
  const fan = Math.round(5 * scale) || 1;
  const count = width * layers;
  const plain = Array.from({ length: count }, () => ({ queue: 'bench', handler: 'h', input: {} }));
  const layered = plain.map((request, i): GraphRequest => {
    const layer = Math.floor(i / width);
    const above = (k: number): string => String((layer - 1) * width + ((i + k * 7) % width));
    return { ...request, after: layer === 0 ? [] : Array.from({ length: fan }, (_, k) => above(k)) };
  });
  const wide = Math.round(5000 * scale);
  const funnel: readonly GraphRequest[] = [
    { queue: 'bench', handler: 'h', input: {} },
    ...Array.from({ length: wide }, () => ({ queue: 'bench', handler: 'h', input: {}, after: ['0'] })),
    { queue: 'bench', handler: 'h', input: {}, after: Array.from({ length: wide }, (_, i) => String(i + 1)) },
  ];
  const edges = (tasks: readonly GraphRequest[]): number =>
    tasks.reduce((sum, { after = [] }) => sum + after.length, 0);
  const base = await pushAndDrain((engine) => engine.pushMany(plain), count);
  for (const [name, tasks] of [
    [`${layers} layers of ${width} tasks`, layered],
    [`1 → ${wide} → 1`, funnel],
  ] as const) {
    const { pushMs, drainMs } = await pushAndDrain((engine) => engine.pushGraph(tasks), tasks.length);
    const rate = (tasks.length / drainMs) * 1000;
    const ratio = rate / ((count / base.drainMs) * 1000);
    lines.push(
      `| graph: ${name}, ${edges(tasks).toLocaleString('en')} edges, pushed | ${pushMs.toFixed(0)} ms | | | |`,
      `| … drained | ${Math.round(rate).toLocaleString('en')} tasks/s | ×${ratio.toFixed(2)} of as many without edges | all end | met |`,
    );
    say(lines.at(-1) as string);
  }
}

/** Ten layers in which each task needs all of the layer before, through the public library. */
async function dense(): Promise<void> {
  const layers = 10;
  const node = task('node', { run: async () => null });
  for (const width of [20, 40]) {
    const place = await ground.create(`d${width}`);
    const app = await open(onPostgres ? place : `sqlite:${place}`);
    await app.worker({ tasks: [node], slots: width }).start();
    const nameOf = (layer: number, i: number): string => `${layer}-${i}`;
    const graph = Array.from({ length: layers * width }, (_, k) => {
      const layer = Math.floor(k / width);
      const after = layer === 0 ? [] : Array.from({ length: width }, (_, i) => nameOf(layer - 1, i));
      return { name: nameOf(layer, k % width), task: node, after };
    });
    const handles = Object.values(await app.pushGraph(graph));
    const from = performance.now();
    await Promise.all(handles.map((handle) => handle.result()));
    const layerMs = (performance.now() - from) / layers;
    await app.close();
    await ground.remove(place);
    lines.push(`| dense graph: ${layers} layers of ${width} tasks | ${layerMs.toFixed(0)} ms a layer | | | |`);
    say(lines.at(-1) as string);
  }
}

async function pushAndDrain(
  push: (engine: Engine) => Promise<unknown>,
  count: number,
): Promise<{ readonly pushMs: number; readonly drainMs: number }> {
  return withEngine(async (engine) => {
    const from = performance.now();
    await push(engine);
    const pushed = performance.now();
    await work(engine, count, async (grant) => engine.complete(grant, null));
    return { pushMs: pushed - from, drainMs: performance.now() - pushed };
  });
}

/** Memory after a tenth and after all of them are parked; then each gets its signal and ends. */
async function parked(): Promise<void> {
  const count = 100_000 * scale;
  await withEngine(async (engine) => {
    const heap = async (from: number, to: number): Promise<number> => {
      for (let i = from; i < to; i += 5000) {
        const more = Array.from({ length: Math.min(5000, to - i) }, (_, k) => ({
          queue: 'bench',
          handler: 'h',
          input: { n: i + k },
        }));
        await engine.pushMany(more);
      }
      await work(engine, to - from, async (grant) => {
        const { n } = JSON.parse(grant.payload) as { n: number };
        await engine.turn(grant, { then: { go: 'park', key: 'word', channel: `c${n}` } });
      });
      return heapMb();
    };
    const few = await heap(0, count / 10);
    const from = performance.now();
    const many = await heap(count / 10, count);
    const parkRate = (count * 0.9) / ((performance.now() - from) / 1000);
    const signalled = performance.now();
    for (let i = 0; i < count; i += 1000) {
      await Promise.all(Array.from({ length: 1000 }, (_, k) => engine.waits.signal(`c${i + k}`, k)));
    }
    await work(engine, count, async (grant) => engine.complete(grant, null));
    const wakeRate = count / ((performance.now() - signalled) / 1000);
    const ratio = many / few;
    const told = count.toLocaleString('en');
    lines.push(
      `| heap with ${told} waiting tasks | ${many.toFixed(1)} MB | ×${ratio.toFixed(2)} of a tenth of them | ≤ ×1.2 | ${ratio <= 1.2 ? 'met' : 'NOT MET'} |`,
      `| pushed, claimed and parked | ${Math.round(parkRate).toLocaleString('en')} tasks/s | | | |`,
      `| signalled, claimed and completed | ${Math.round(wakeRate).toLocaleString('en')} tasks/s | | all end | met |`,
    );
    for (const line of lines.slice(-3)) say(line);
  });
}

/** A session calls a model n times with a context that grows by 2 kB a call. */
async function sessions(): Promise<void> {
  const many = 10;
  // Noise, because Postgres packs what repeats itself.
  const message = (): string => randomBytes(1536).toString('base64');
  const listed = task('listed', {
    async run(calls: number, ctx) {
      const context = ctx.list<string>('context');
      for (let i = 0; i < calls; i++) await context.push(await ctx.step('call', () => message()));
    },
  });
  const whole = task('whole', {
    async run(calls: number, ctx) {
      let context: string[] = [];
      for (let i = 0; i < calls; i++) context = await ctx.step('call', () => [...context, message()]);
    },
  });
  const sizes = new Map<string, number>();
  for (const [name, definition] of [
    ['list', listed],
    ['whole', whole],
  ] as const) {
    for (const calls of [50, 100]) {
      const place = await ground.create(`h${name}${calls}`);
      const app = await open(onPostgres ? place : `sqlite:${place}`);
      const before = await sizeOf(place);
      const worker = app.worker({ tasks: [definition], slots: 4 });
      await worker.start();
      const handles = await Promise.all(Array.from({ length: many }, () => app.push(definition, calls)));
      for (const handle of handles) await handle.result();
      await app.close();
      sizes.set(`${name} ${calls}`, ((await sizeOf(place)) - before) / many / 1024);
      await ground.remove(place);
    }
  }
  const kb = (name: string): number => sizes.get(name) as number;
  const growth = kb('list 100') / kb('list 50');
  lines.push(
    `| history of a session of 100 calls, 200 kB of context | ${kb('list 100').toFixed(0)} kB | ×${growth.toFixed(2)} of 50 calls | ≤ ×2.2 (linear) | ${growth <= 2.2 ? 'met' : 'NOT MET'} |`,
    `| the same with the whole context in every step | ${kb('whole 100').toFixed(0)} kB | ×${(kb('whole 100') / kb('whole 50')).toFixed(2)} of 50 calls | quadratic, to compare | |`,
  );
  for (const line of lines.slice(-2)) say(line);
}

async function sizeOf(place: string): Promise<number> {
  if (onPostgres) {
    const [row] = await query(place, 'SELECT pg_database_size(current_database()) AS n');
    return Number(row?.['n']);
  }
  return ['', '-wal'].reduce(
    (sum, suffix) => sum + (statSync(place + suffix, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function withEngine<T>(body: (engine: Engine) => Promise<T>): Promise<T> {
  const place = await ground.create(`w${randomUUID().replaceAll('-', '').slice(0, 8)}`);
  const node = await openNode(onPostgres ? place : `sqlite:${place}`);
  try {
    return await body(node.engine);
  } finally {
    await node.close();
    await ground.remove(place);
  }
}

/** Four claims take turns until so many tasks went through `each`. */
async function work(
  engine: Engine,
  count: number,
  each: (grant: Awaited<ReturnType<Engine['claim']>>[number]) => Promise<unknown>,
): Promise<void> {
  const worker = await engine.workers.register({ name: 'bench', incarnation: randomUUID(), slots: SLOTS });
  let done = 0;
  const turn = async (): Promise<void> => {
    while (done < count) {
      const grants = await engine.claim({ worker, max: SLOTS / 4, waitMs: 200 });
      await Promise.all(
        grants.map(async (grant) => {
          await each(grant);
          done++;
        }),
      );
    }
  };
  await Promise.all([turn(), turn(), turn(), turn()]);
}

/** What is really in use: after a collection. */
function heapMb(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

function say(text: string): void {
  console.error(`[${Math.round((performance.now() - started) / 1000)} s] ${text}`);
}
