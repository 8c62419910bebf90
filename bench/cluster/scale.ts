/** What a second and a third node on the same Postgres bring and cost: the same four workers, spread over them. */
import type { Contender } from '../contenders/contender.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { nodesOf } from './contenders.ts';
import { Scene } from './scene.ts';

const LATENCY = 'cluster latency';

const rows = {
  rate: { label: 'no-op tasks, 4 worker processes', key: 'cluster rate', unit: '/s', ratio: 'reference' },
  nodes: { label: '… CPU of the nodes, 1000 tasks', key: 'cluster nodes', unit: 'ms', ratio: 'reference' },
  workers: { label: '… CPU of the workers, 1000 tasks', key: 'cluster workers', unit: 'ms', ratio: 'reference' },
  server: { label: '… CPU of Postgres, 1000 tasks', key: 'cluster server', unit: 'ms', ratio: 'reference' },
  claims: { label: '… claims of the nodes, 1000 tasks', key: 'cluster claims', unit: '', ratio: 'reference' },
  p50: { label: 'push to start, 50 a second, p50', key: LATENCY, unit: 'ms', percentile: 50 },
  p99: { label: '… p99', key: LATENCY, unit: 'ms', percentile: 99 },
} as const satisfies Record<string, Row>;

/** As those of the drains elsewhere. */
const SLOTS = 125;
const TASKS = 40_000;
const WARM_TASKS = 6000;
const PER_SECOND = 50;
const SECONDS = 10;
/** First pushes that do not count. */
const WARM_PUSHES = 20;

export const scale: Measure = {
  name: 'scale',
  rows: Object.values(rows),
  async round(world: World, contender: Contender) {
    const scene = await Scene.open(world, { nodes: nodesOf(contender), slots: SLOTS });
    await drain(scene, WARM_TASKS);
    await measured(world, contender, scene, world.quick ? TASKS / 5 : TASKS);
    await latency(world, contender, scene);
    await scene.close();
  },
};

/** Pushed while the workers are away, so that the pushes are no part of it. Answers how long it took, in µs. */
async function drain(scene: Scene, tasks: number, before = async (): Promise<void> => {}): Promise<number> {
  await scene.stopWorkers();
  await scene.client.ask('seed', tasks);
  await before();
  await scene.startWorkers();
  await scene.completed(tasks);
  const starts = await scene.starts();
  const different = new Set(starts.map(({ n }) => n)).size;
  if (starts.length !== tasks || different !== tasks) {
    throw new Error(`${tasks} tasks, ${starts.length} executions of ${different} different ones`);
  }
  const done = await scene.done();
  return Math.max(...done.map(({ lastAt }) => lastAt)) - Math.min(...done.map(({ firstAt }) => firstAt));
}

async function measured(world: World, contender: Contender, scene: Scene, tasks: number): Promise<void> {
  const look = async () => ({
    nodes: scene.nodeMicros,
    workers: scene.workerMicros,
    server: world.ground.serverMicros(),
    claims: await scene.claims(),
  });
  let from = await look();
  const tookMicros = await drain(scene, tasks, async () => {
    await world.ground.analyze(scene.place);
    from = await look();
  });
  const to = await look();
  world.record(contender, rows.rate, tasks / (tookMicros / 1e6));
  // µs a task are ms a thousand tasks.
  for (const key of ['nodes', 'workers', 'server'] as const) {
    world.record(contender, rows[key], (to[key] - from[key]) / tasks);
  }
  world.record(contender, rows.claims, ((to.claims - from.claims) / tasks) * 1000);
}

/** Pushed through all nodes in turn; a worker of any of them may have it. */
async function latency(world: World, contender: Contender, scene: Scene): Promise<void> {
  const before = (await scene.done()).reduce((sum, { completed }) => sum + completed, 0);
  const count = PER_SECOND * (world.quick ? SECONDS / 2 : SECONDS) + WARM_PUSHES;
  await scene.client.ask('begin', { everyMs: 1000 / PER_SECOND, holdsMs: [0, 0], count });
  const { failed } = await scene.client.ask('finish', { stop: false });
  if (failed.length > 0) throw new Error(`${failed.length} pushes failed: ${failed[0]}`);
  await scene.completed(before + count);
  const starts = (await scene.starts()).filter(({ n }) => n >= WARM_PUSHES);
  if (starts.length !== count - WARM_PUSHES) throw new Error(`${starts.length} starts of ${count - WARM_PUSHES} tasks`);
  world.samples(
    contender,
    LATENCY,
    starts.map(({ at, sent }) => (at - sent) / 1000),
  );
}
