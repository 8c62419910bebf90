/**
 * `npm run bench:machines`: transitions a second of machines that run within the process, by what a user calls. The rate must not depend on
 * how large the context is, only on what a state touches.
 *
 *     node bench/machines.ts [--rounds 5] [--no-record]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { realWorld } from '../src/app/world.ts';
import { HooksRegistry } from '../src/worker/machine/hooks-registry.ts';
import { runInline } from '../src/worker/machine/inline-driver.ts';
import { loadMachine, readMachineFile } from '../src/worker/machine/load-machine.ts';
import { LocalSignals } from '../src/worker/machine/signals.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, record: { type: 'boolean', default: true } },
  allowNegative: true,
});

interface Scene {
  readonly name: string;
  readonly data: object;
  readonly input: object;
  readonly transitions: number;
}

const TURNS = 20_000;
const counting = (work: object, more: object = {}): object => ({
  context: { n: 0, load: '{{ input.load }}', ...more },
  settings: { max_steps: TURNS + 10 },
  states: {
    count: {
      ...work,
      output_to_context: { n: '{{ context.n + 1 }}' },
      transitions: [{ condition: `context.n >= ${TURNS}`, to: 'end' }, { to: 'count' }],
    },
    end: { type: 'final', output: { n: 'context.n' } },
  },
});
/** Texts of 50 bytes in lists and maps, as a context has them. */
const load = (bytes: number): object => ({
  load: Array.from({ length: Math.ceil(bytes / 100) }, (_, i) => ({ id: i, text: 'x'.repeat(80) })),
});
const chain = (states: number): object => ({
  context: { n: 0 },
  settings: { max_steps: states + 1 },
  states: Object.fromEntries(
    Array.from({ length: states }, (_, i) => [
      `s${i}`,
      i === states - 1
        ? { type: 'final', output: { n: 'context.n' } }
        : { output_to_context: { n: '{{ context.n + 1 }}' }, transitions: [{ to: `s${i + 1}` }] },
    ]),
  ),
});

const sizes: readonly (readonly [string, number])[] = [
  ['empty', 0],
  ['1 KB', 1000],
  ['100 KB', 100_000],
  ['1 MB', 1_000_000],
];
const scenes: readonly Scene[] = [
  ...sizes.map(([name, bytes]) => ({
    name: `loop, context ${name}`,
    data: counting({}),
    input: load(bytes),
    transitions: TURNS,
  })),
  ...sizes.map(([name, bytes]) => ({
    name: `loop with an action, context ${name}`,
    data: counting({ action: 'nothing' }),
    input: load(bytes),
    transitions: TURNS,
  })),
  {
    name: 'loop, context of 1,000 keys',
    data: counting({}, Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, i]))),
    input: load(0),
    transitions: TURNS,
  },
  { name: '1,000 states in a row', data: chain(1000), input: {}, transitions: 999 },
  { name: '1,000 states in a row, context 1 MB', data: chain(1000), input: load(1_000_000), transitions: 999 },
];

const world = realWorld();
const folder = mkdtempSync(join(tmpdir(), 'lh-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const hooks = new HooksRegistry();
const agent = (): Promise<never> => Promise.reject(new Error('there are no agents'));

async function rateOf({ data, input, transitions }: Scene): Promise<number> {
  const file = join(folder, 'machine.json');
  writeFileSync(file, JSON.stringify({ spec: 'flatmachine', spec_version: '4.2.1', data }));
  const own = [{ onAction: (...given: readonly unknown[]) => given.at(-1) }];
  const runnable = await loadMachine(await readMachineFile(file), { hooks, own, agent });
  const runs = Math.max(1, Math.round(TURNS / transitions));
  const begin = performance.now();
  for (let i = 0; i < runs; i++) {
    await runInline(
      runnable,
      { executionId: `run${i}`, input, stop: new AbortController().signal },
      { world, signals: new LocalSignals() },
    );
  }
  return (runs * transitions) / ((performance.now() - begin) / 1000);
}

const rates = new Map<string, number[]>(scenes.map(({ name }) => [name, []]));
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const scene of scenes) rates.get(scene.name)?.push(await rateOf(scene));
}
const rows = scenes.map(({ name }) => {
  const sorted = (rates.get(name) ?? []).toSorted((a, b) => a - b);
  return `| ${name} | ${Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0).toLocaleString('en')} | ${Math.round(sorted[0] ?? 0).toLocaleString('en')}–${Math.round(sorted.at(-1) ?? 0).toLocaleString('en')} |`;
});
const table = ['| machine, within the process | transitions/s | range |', '|---|---|---|', ...rows].join('\n');
process.stdout.write(`${table}\n`);
if (flags.record) {
  appendResults('Machines within the process', describe(folder, 'none'), table);
}
