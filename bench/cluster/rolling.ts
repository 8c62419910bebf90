/** What users notice while three nodes are restarted one after the other. */
import { setTimeout as delay } from 'node:timers/promises';
import { OUTCOMES } from '../../src/store/codes.ts';
import type { Contender } from '../contenders/contender.ts';
import { percentile } from '../figures.ts';
import { query } from '../ground/databases.ts';
import { micros } from '../jobs/line.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { number } from '../table.ts';
import type { Load, Way } from './client-child.ts';
import { nodesOf, THREE } from './contenders.ts';
import { DutyWatch, type Watched } from './duty-watch.ts';
import { longestGap } from './gap.ts';
import type { Restarted } from './node.ts';
import { Scene } from './scene.ts';
import type { Start } from './words.ts';

const STOPS = 'rolling stops';
const STARTS = 'rolling starts';
const STEADY = 'rolling delay before';
const DELAY = 'rolling delay';

/** What must not happen is told of the worst round. */
const WORST = { percentile: 100 } as const;

const rows = {
  whole: { label: 'all nodes restarted, one by one', key: 'rolling whole', unit: 's' },
  stop: { label: '… SIGTERM until one has ended, longest', key: STOPS, unit: 'ms', ...WORST },
  start: { label: '… its start until `/readyz`, longest', key: STARTS, unit: 'ms', ...WORST },
  failed: { label: '… pushes that failed', key: 'rolling failed', unit: '', ...WORST },
  refused: { label: '… requests that were refused beneath them', key: 'rolling refused', unit: '' },
  pushNext: { label: '… longest push, asking the next node', key: 'rolling push next', unit: 'ms', ...WORST },
  pushOne: { label: '… longest push, keeping to its node', key: 'rolling push one', unit: 'ms', ...WORST },
  steady: { label: '… push to start before, p99', key: STEADY, unit: 'ms', percentile: 99 },
  delay: { label: '… push to start meanwhile, p99', key: DELAY, unit: 'ms', percentile: 99 },
  gapBefore: { label: '… longest without a start, though one could, before', key: 'rolling gap before', unit: 'ms' },
  gap: { label: '… the same meanwhile', key: 'rolling gap', unit: 'ms', ...WORST },
  lost: { label: '… tasks lost', key: 'rolling lost', unit: '', ...WORST },
  repeated: { label: '… attempts that were begun and repeated', key: 'rolling repeated', unit: '', ...WORST },
  expired: { label: '… leases that ran out', key: 'rolling expired', unit: '', ...WORST },
  returned: { label: '… leases given back unstarted', key: 'rolling returned', unit: '' },
  terms: { label: '… terms of leaders', key: 'rolling terms', unit: '' },
  leaderless: { label: '… longest without a leader', key: 'rolling leaderless', unit: 'ms', ...WORST },
  unheld: { label: '… longest that a duty was nobody’s', key: 'rolling unheld', unit: 'ms', ...WORST },
} as const satisfies Record<string, Row>;

const EXPIRED = OUTCOMES.indexOf('expired');
const RELEASED = OUTCOMES.indexOf('released');
const SLOTS = 8;
const PER_SECOND = 60;
/** Every tenth task lasts longer than a node takes to come back: its lease is to outlive the connection. */
const HOLDS_MS = [3000, 10] as const;
const BEFORE_MS = 5000;
const AFTER_MS = 3000;
/** First pushes that do not count: code and caches are cold. */
const WARM_MS = 2000;

export const rolling: Measure = {
  name: 'rolling',
  only: [THREE],
  rows: Object.values(rows),
  async round(world: World, contender: Contender) {
    const scene = await Scene.open(world, { nodes: nodesOf(contender), slots: SLOTS });
    const watch = await DutyWatch.start(scene.place);
    await scene.client.ask('begin', { everyMs: 1000 / PER_SECOND, holdsMs: HOLDS_MS });
    await delay(WARM_MS);
    const begun = micros();
    await delay(world.quick ? BEFORE_MS / 2 : BEFORE_MS);
    const from = micros();
    const restarts: Restarted[] = [];
    for (const node of scene.nodes) {
      restarts.push(await node.restart());
      const { stopMs, startMs } = restarts.at(-1) as Restarted;
      world.say(`${node.name}: ended after ${number(stopMs)} ms, ready ${number(startMs)} ms later`);
    }
    const until = micros();
    await delay(AFTER_MS);
    const load = await scene.client.ask('finish', { stop: true });
    await scene.completed(load.pushed.length);
    const seen: Seen = { load, starts: await scene.starts(), begun, from, until: until + AFTER_MS * 1000 };
    const duties = await watch.stop();
    world.record(contender, rows.whole, (until - from) / 1e6);
    world.samples(
      contender,
      STOPS,
      restarts.map(({ stopMs }) => stopMs),
    );
    world.samples(
      contender,
      STARTS,
      restarts.map(({ startMs }) => startMs),
    );
    tellPushes(world, contender, seen);
    tellStarts(world, contender, seen);
    await tellTasks(world, contender, scene, seen);
    tellDuties(world, contender, duties);
    const connected = await Promise.all(scene.nodes.map((node) => node.connected()));
    world.note(
      `Rolling restart: led by ${duties.leaders.join(', then ')}; afterwards ${connected.join(', ')} workers are connected to the nodes in their order. ` +
        `Refused beneath the pushes: ${JSON.stringify(load.refused)}.`,
    );
    await scene.close();
    if (load.failed.length > 0) throw new Error(`${load.failed.length} pushes failed: ${load.failed[0]}`);
  },
};

/** Times are monotonic µs. */
interface Seen {
  readonly load: Load;
  readonly starts: readonly Start[];
  /** Measured from here on; the restarts begin; all is as before. */
  readonly begun: number;
  readonly from: number;
  readonly until: number;
}

function tellPushes(world: World, contender: Contender, { load, from, until }: Seen): void {
  const { pushed, failed, refused } = load;
  const longest = (of: Way): number =>
    Math.max(
      ...pushed
        .filter(({ way, sent }) => way === of && sent >= from && sent < until)
        .map(({ sent, answered }) => (answered - sent) / 1000),
    );
  world.record(contender, rows.failed, failed.length);
  world.record(
    contender,
    rows.refused,
    Object.values(refused).reduce((sum, count) => sum + count, 0),
  );
  world.record(contender, rows.pushNext, longest('next'));
  world.record(contender, rows.pushOne, longest('one'));
}

function tellStarts(world: World, contender: Contender, { load, starts, begun, from, until }: Seen): void {
  const answered = new Map(load.pushed.map((one) => [one.n, one.answered]));
  const waits = starts.map(({ n, at }) => ({ readyAt: answered.get(n) ?? at, startedAt: at }));
  world.record(contender, rows.gapBefore, longestGap(waits, begun, from) / 1000);
  world.record(contender, rows.gap, longestGap(waits, from, until) / 1000);
  // From the answer: how long a call took is told of the pushes.
  const delays = (low: number, high: number): readonly number[] =>
    waits
      .filter(({ readyAt }) => readyAt >= low && readyAt < high)
      .map(({ readyAt, startedAt }) => Math.max(0, startedAt - readyAt) / 1000);
  world.samples(contender, STEADY, delays(begun, from));
  world.samples(contender, DELAY, delays(from, until));
  world.say(`longest from push to start meanwhile: ${number(percentile(delays(from, until), 100) ?? 0)} ms`);
}

/** By the numbers that the workers noted, and by what the store says of attempts. */
async function tellTasks(world: World, contender: Contender, scene: Scene, { load, starts }: Seen): Promise<void> {
  const begun = new Set(starts.map(({ n }) => n));
  const lost = load.pushed.filter(({ n }) => !begun.has(n)).length;
  const [row] = await query(
    scene.place,
    `SELECT count(*)::int AS done, (SELECT count(*) FROM leasehold.attempt WHERE outcome = ${EXPIRED})::int AS expired,
      (SELECT count(*) FROM leasehold.attempt WHERE outcome = ${RELEASED})::int AS released FROM leasehold.done WHERE state = 4`,
  );
  const { done, expired, released } = row as {
    readonly done: number;
    readonly expired: number;
    readonly released: number;
  };
  const repeated = starts.length - begun.size;
  const unfinished = Math.max(0, load.pushed.length - done);
  world.record(contender, rows.lost, Math.max(lost, unfinished));
  world.record(contender, rows.repeated, repeated);
  world.record(contender, rows.expired, expired);
  world.record(contender, rows.returned, released);
  if (lost > 0 || unfinished > 0) throw new Error(`of ${load.pushed.length} tasks ${lost} never began, ${done} ended`);
  if (done > load.pushed.length + load.failed.length) throw new Error(`${done} tasks of ${load.pushed.length} pushes`);
}

function tellDuties(world: World, contender: Contender, { leaders, leaderlessMs, unheldMs, unheld }: Watched): void {
  world.record(contender, rows.terms, leaders.length);
  world.record(contender, rows.leaderless, leaderlessMs);
  world.record(contender, rows.unheld, unheldMs);
  world.say(`the duty that was nobody’s for longest: ${unheld}`);
}
