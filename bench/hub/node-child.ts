/** The node of a scene: `serve` as `leasehold up` calls it, without a worker, with an eye on what it costs. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHeapSnapshot } from 'node:v8';
import { serve } from '../../src/app/serve.ts';
import { answerAll } from './line.ts';
import { type Counts, countStatements } from './statements.ts';

export interface NodeArgs {
  readonly store: string;
  readonly admin: string;
  /** 0 takes any free port. */
  readonly port: number;
}

export interface Sample {
  readonly rssBytes: number;
  /** What is alive, and buffers outside of the heap. */
  readonly heapBytes: number;
  /** User and system time of the whole process since its start. */
  readonly cpuMicros: number;
  /** Since its start. */
  readonly statements: Counts;
}

const args = JSON.parse(process.argv[2] ?? '{}') as NodeArgs;
const counts = countStatements();
const { store, admin, port } = args;
const log = {
  info: () => {},
  warn: (message: string, fields?: object) => console.error(message, fields ?? ''),
  error: (message: string, fields?: object) => console.error(message, fields ?? ''),
};
const secret = { place: 'the bench', read: (): string => 'b'.repeat(43) };
const starting = serve({
  store,
  host: '127.0.0.1',
  port,
  version: '0.0.0-bench',
  adminToken: () => admin,
  secret,
  log,
});
let profiler: Session | undefined;

const verbs = {
  address: async (): Promise<string> => (await starting).address,

  /** `settled`: what is garbage was collected before, and what the heap keeps in reserve given back. */
  sample: async ({ settled }: { readonly settled: boolean }): Promise<Sample> => {
    // Twice, with a turn between: what one collection frees lets go of buffers that the next one finds.
    for (let i = 0; settled && i < 2; i++) {
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      await delay(20);
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return { rssBytes: rss, heapBytes: heapUsed + external, cpuMicros: user + system, statements: counts() };
  },

  profileFrom: async (): Promise<void> => {
    profiler = new Session();
    profiler.connect();
    await profiler.post('Profiler.enable');
    await profiler.post('Profiler.start');
  },

  /** Writes the CPU profile since then, and the heap as it is. */
  profileInto: async ({ folder, name }: { readonly folder: string; readonly name: string }): Promise<void> => {
    const found = await profiler?.post('Profiler.stop');
    writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(found?.profile));
    writeHeapSnapshot(join(folder, `${name}.heapsnapshot`));
  },
};

export type NodeVerbs = typeof verbs;
answerAll(verbs);
