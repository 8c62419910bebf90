/**
 * A machine as a durable run: `app.runs.start` of the library, and `leasehold worker` of the package on the same store, which is how a
 * user runs machines with hooks of a file.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { treeMicros } from '../../ground/cpu.ts';
import { type Output, type Place, type Runner, STEPS } from '../part.ts';

type Guarded = ChildProcessByStdio<Writable, Readable, null>;
type Library = typeof import('../../../src/index.ts');

/** The hooks are there. */
const FOLDER = join(import.meta.dirname, '..');

const MACHINE = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'steps',
    hooks: { file: 'hooks.ts' },
    context: { run: '{{ input.run }}', n: 0, last: '' },
    states: {
      ...Object.fromEntries(
        Array.from({ length: STEPS }, (_, i) => [
          `s${i + 1}`,
          {
            ...(i === 0 ? { type: 'initial' } : {}),
            action: 'step',
            transitions: [{ to: i + 1 === STEPS ? 'end' : `s${i + 2}` }],
          },
        ]),
      ),
      end: { type: 'final', output: { n: '{{ context.n }}', last: '{{ context.last }}' } },
    },
  },
};

export async function openMachine({ store, at, dist, atOnce }: Place): Promise<Runner> {
  process.chdir(FOLDER); // the folder of the machine
  const address = store === 'postgres' ? at : `sqlite:${at}`;
  const { open } = (await import(pathToFileURL(join(dist, 'index.js')).href)) as Library;
  const app = await open(address);
  const effects = join(tmpdir(), `leasehold-bench-effects-${process.pid}`);
  const worker = await startWorker(dist, address, atOnce, effects);
  return {
    async run(run) {
      const started = await app.runs.start({ machine: MACHINE, input: { run } });
      return (await app.handle(started.id).result()) as Output;
    },
    cpuMicros: () => treeMicros(worker.pid as number),
    async close() {
      await app.close();
      worker.stdin.end();
      await once(worker, 'exit');
      return Number(readFileSync(effects, 'utf8'));
    },
  };
}

/** It is asked to end with its standard input, which the kernel closes however this process ends. */
const GUARDED = '"$@" & cat >/dev/null; kill -TERM $!; wait';

/** Ready with its first line. */
async function startWorker(dist: string, address: string, slots: number, effects: string): Promise<Guarded> {
  const worker = [join(dist, 'cli/main.js'), 'worker', '--store', address, '--slots', String(slots), '--allow', 'js'];
  const guard = spawn('sh', ['-c', GUARDED, 'sh', process.execPath, ...worker], {
    cwd: FOLDER,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, LEASEHOLD_BENCH_EFFECTS: effects },
  });
  await once(guard.stdout, 'data');
  guard.stdout.resume();
  return guard;
}
