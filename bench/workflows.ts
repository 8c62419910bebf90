/**
 * `npm run bench:workflows`: durable steps a second of workflows in code, through the public library, beside the same steps by `ctx.step` of a
 * handler. Each round in a process and on a store of its own.
 *
 *     node bench/workflows.ts [--store sqlite|postgres] [--rounds 3] [--no-record]
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '3' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

interface Figures {
  readonly rate: number;
  readonly cpuMicros: number;
}

const MEASURES = [
  ['handler', 'steps by `ctx.step` of a handler, 64 runs at once'],
  ['row', 'steps of a workflow, 64 runs at once'],
  ['branches', 'steps of a workflow in 8 branches, 64 runs at once'],
  ['alone', 'steps of a workflow, one run'],
  ['children', 'children of one run, by `wf.map` with a window of 100'],
] as const;

const onPostgres = flags.store === 'postgres';
const ground = await (onPostgres ? openServer() : openFiles());
process.on('exit', () => ground.close());
const machine = describe(ground.folder, ground.version);
const found = new Map<string, Figures[]>(MEASURES.map(([what]) => [what, []]));
let places = 0;
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const [what] of MEASURES) {
    const place = await ground.create(`w${places++}`);
    const address = onPostgres ? place : `sqlite:${place}`;
    const out = execFileSync(process.execPath, [join(import.meta.dirname, 'workflows/child.ts'), address, what], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const figures = JSON.parse(out.trim().split('\n').at(-1) as string) as Figures;
    found.get(what)?.push(figures);
    console.error(`round ${round + 1}: ${what} ${Math.round(figures.rate)}/s`);
    await ground.remove(place);
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const count = (value: number): string => Math.round(value).toLocaleString('en');
const rows = MEASURES.map(([what, words]) => {
  const own = found.get(what) as readonly Figures[];
  const rates = own.map(({ rate }) => rate);
  return `| ${words} | ${count(median(rates))} | ${count(Math.min(...rates))}–${count(Math.max(...rates))} | ${count(median(own.map(({ cpuMicros }) => cpuMicros)))} |`;
});
const table = [
  `| medians of ${flags.rounds} rounds | /s | range | CPU µs of the process |`,
  '|---|---:|---:|---:|',
  ...rows,
].join('\n');
console.log(`\n${table}`);
if (flags.record)
  appendResults(`Workflows on ${flags.store} · ${new Date().toISOString().slice(0, 16)}`, machine, table);
process.exit(0);
