/**
 * `npm run bench:graphs`: runs of graphs by size, through the public library: a chain, layers, and fans of 500 with their fan-in. Each in a process
 * and on a store of its own. What matters is the growth: time a node at each size beside that at the smallest.
 *
 *     node bench/graphs.ts [--store sqlite|postgres|both] [--shapes chain,layers,fan] [--sizes 1000,2000,4000,8000] [--no-record]
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SHAPES } from './graphs/shapes.ts';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    shapes: { type: 'string', default: Object.keys(SHAPES).join(',') },
    sizes: { type: 'string', default: '1000,2000,4000,8000' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

interface Figures {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
}

const sizes = flags.sizes.split(',').map(Number);
const shapes = flags.shapes.split(',');
const [smallest = 1] = sizes;
const count = (value: number): string => Math.round(value).toLocaleString('en');

for (const store of ['sqlite', 'postgres'] as const) {
  if (flags.store !== 'both' && flags.store !== store) continue;
  const ground = await (store === 'postgres' ? openServer() : openFiles());
  process.on('exit', () => ground.close());
  const machine = describe(ground.folder, ground.version);
  const lines = [
    `| graph, on ${store === 'postgres' ? 'Postgres' : 'SQLite'} | nodes | s | nodes/s | CPU µs a node | × time a node at ${count(smallest)} | × time of the size before | MiB |`,
    '|---|---|---|---|---|---|---|---|',
  ];
  for (const shape of shapes) {
    const times: number[] = [];
    for (const [i, nodes] of sizes.entries()) {
      const place = await ground.create(`${shape}${nodes}`);
      const address = store === 'postgres' ? place : `sqlite:${place}`;
      const { ms, cpuMs, mib } = measured(address, shape, nodes);
      await ground.remove(place);
      times.push(ms);
      const first = (times[0] as number) / smallest;
      const before =
        i === 0
          ? '–'
          : `${(ms / (times[i - 1] as number)).toFixed(2)} (${(nodes / (sizes[i - 1] as number)).toFixed(1)} × nodes)`;
      const cells = [
        SHAPES[shape]?.what ?? shape,
        count(nodes),
        (ms / 1000).toFixed(1),
        count(nodes / (ms / 1000)),
        count((cpuMs * 1000) / nodes),
        (ms / nodes / first).toFixed(2),
        before,
        count(mib),
      ];
      lines.push(`| ${cells.join(' | ')} |`);
      console.error(`${store} ${shape} ${nodes}: ${(ms / 1000).toFixed(1)} s`);
    }
  }
  const text = [machine, '', ...lines, ''].join('\n');
  console.log(text);
  if (flags.record) appendResults('Graphs by size', text);
}
process.exit(0);

function measured(address: string, shape: string, nodes: number): Figures {
  const args = [join(import.meta.dirname, 'graphs/child.ts'), address, shape, String(nodes)];
  const out = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(out.trim().split('\n').at(-1) as string) as Figures;
}
