/** What a worker process of the library costs to start, and to keep without work. */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import { treeMicros } from '../ground/cpu.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { keep } from '../processes.ts';

const rows = {
  cpu: { label: 'worker process, CPU until a second after its first 100 tasks', key: 'start cpu', unit: 's' },
  bare: { label: '… CPU of a bare Node', key: 'start bare', unit: 's' },
  rss: { label: 'worker process, memory (RSS) after 45 s without work', key: 'idle rss', unit: 'MB' },
} as const satisfies Record<string, Row>;

const PROGRAM = join(import.meta.dirname, '../resident.js');
/** Threads that start late have started by then. */
const SETTLED_MS = 1000;
/** By then the threads of the library, which it ends after 30 s without work, are gone. */
const REST_MS = 45_000;

export function start(dist: string, url: (place: string) => string): Measure {
  const entry = pathToFileURL(join(dist, 'index.js')).href;
  return {
    name: 'start',
    rows: Object.values(rows),
    only: [LIBRARY],
    async round(world: World, contender: Contender) {
      world.record(contender, rows.bare, await within([], SETTLED_MS, treeSeconds));
      const address = url(await world.fresh());
      let cpu = Number.NaN;
      const first = contender.name === LIBRARY && !rested && !world.quick;
      rested ||= first;
      const rssMb = await within([entry, address], SETTLED_MS, async (pid) => {
        cpu = treeSeconds(pid);
        if (first) await delay(REST_MS);
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
      });
      world.record(contender, rows.cpu, cpu);
      if (first) world.record(contender, rows.rss, rssMb);
    },
  };
}

/** Memory hardly differs from round to round: a program is left idle once a run. */
let rested = false;

const treeSeconds = (pid: number): number => treeMicros(pid) / 1e6;

/** Looks at a program that has done its tasks and has nothing left to do. */
async function within(
  args: readonly string[],
  ms: number,
  look: (pid: number) => number | Promise<number>,
): Promise<number> {
  const child = fork(PROGRAM, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] });
  keep(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    void gone.then(() => reject(new Error('the idle worker ended early')));
  });
  await delay(ms);
  const figure = await look(child.pid ?? 0);
  child.kill('SIGKILL');
  await gone;
  return figure;
}
