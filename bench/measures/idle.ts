/** What a worker costs that has nothing to do. */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { buildInto } from '../built.ts';
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import { keep, run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const rows = {
  rss: { label: 'memory (RSS), idle worker', key: 'rss idle', unit: 'MB' },
  cpu: { label: 'CPU, idle worker', key: 'cpu idle', unit: 'ms/s' },
  source: { label: 'memory (RSS), idle for 45 s after 100 tasks, from source', key: 'rss source', unit: 'MB' },
  built: { label: 'memory (RSS), idle for 45 s after 100 tasks, built package', key: 'rss built', unit: 'MB' },
} as const satisfies Record<string, Row>;

const HERE = join(import.meta.dirname, '..');
/** By then the threads of the library, which it ends after 30 s without work, are gone. */
const REST_MS = 45_000;

/** Memory hardly differs from round to round: a program is left idle once a run. */
let rested = false;

export const idle: Measure = {
  name: 'idle',
  rows: Object.values(rows),
  async round(world: World, contender: Contender) {
    const { rssMb, cpuMillisPerSecond } = await run(contender, 'idle', await world.fresh(), {
      ms: world.quick ? 300 : 1000,
    });
    world.record(contender, rows.rss, rssMb);
    world.record(contender, rows.cpu, cpuMillisPerSecond);
    if (contender.name !== LIBRARY || rested || world.quick) return;
    rested = true;
    const built = join(buildInto(join(world.ground.folder, 'package')), 'index.js');
    const [fromSource, fromBuilt] = await Promise.all([
      resident(join(HERE, '../src/index.ts'), await world.fresh()),
      resident(built, await world.fresh()),
    ]);
    world.record(contender, rows.source, fromSource);
    world.record(contender, rows.built, fromBuilt);
  },
};

/** MB of a process with nothing in it but the library and a worker. */
async function resident(entry: string, file: string): Promise<number> {
  const child = fork(join(HERE, 'resident.js'), [pathToFileURL(entry).href, `sqlite:${file}`], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  keep(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    void gone.then(() => reject(new Error(`the idle worker of ${entry} ended early`)));
  });
  await delay(REST_MS);
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  child.kill('SIGKILL');
  await gone;
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}
