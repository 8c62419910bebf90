/** What files of tests cost when they were last measured (`--record`): the dearest start first, so that no core is idle at the end. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { FileSpent, Scale } from './job.ts';

const PATH = join(import.meta.dirname, 'costs.json');
/** What is cheaper is not written down. */
const LEAST_S = 1;

/** Of what starts whole processes and was not measured yet: none of these is cheap, and one that starts last keeps a core idle. */
const UNMEASURED_S = 8;
const PROCESSES = /^test\/(attacks|browser|chaos|e2e|skew)\//;

type Spent = readonly [wallS: number, cpuS: number];

interface Costs {
  readonly measured: string;
  readonly machine: string;
  /** Of files and tools. */
  readonly spent: Readonly<Partial<Record<Scale, Readonly<Record<string, Spent>>>>>;
}

const costs = read();

function read(): Costs {
  return existsSync(PATH)
    ? (JSON.parse(readFileSync(PATH, 'utf8')) as Costs)
    : { measured: '', machine: '', spent: {} };
}

export function isKnown(name: string, scale: Scale): boolean {
  return costs.spent[scale]?.[name] !== undefined;
}

/** By how much more is done than at the short size, where it was not measured: most numbers are ten to twenty times as large at full length. */
const MORE: Readonly<Record<Scale, number>> = { short: 1, middle: 4, full: 15 };

/** CPU seconds, or a quarter of the wall time where that was spent waiting: it was measured beside four others who wanted the same two cores. */
export function costOf(name: string, scale: Scale): number {
  const measured = costs.spent[scale]?.[name];
  const least = PROCESSES.test(name) ? UNMEASURED_S : LEAST_S;
  const [wallS, cpuS] = measured ?? costs.spent.short?.[name] ?? [least, least];
  return Math.max(wallS / 4, cpuS) * (measured === undefined ? MORE[scale] : 1);
}

export function record(spent: readonly FileSpent[]): void {
  // Another run may have written meanwhile.
  const before = read();
  const round = (seconds: number): number => Math.round(seconds * 10) / 10;
  const recorded = (scale: Scale): readonly [Scale, Readonly<Record<string, Spent>>] => {
    const now = spent.filter((one) => one.scale === scale);
    const kept = Object.entries(before.spent[scale] ?? {}).filter(([file]) => !now.some((one) => one.file === file));
    const dear = now.filter(({ wallS, cpuS }) => scale !== 'short' || Math.max(wallS, cpuS) >= LEAST_S);
    const all = [...kept, ...dear.map(({ file, wallS, cpuS }): [string, Spent] => [file, [round(wallS), round(cpuS)]])];
    return [scale, Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))];
  };
  const written: Costs = {
    measured: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} cores, shared`,
    spent: Object.fromEntries((['short', 'middle', 'full'] as const).map(recorded)),
  };
  // As the formatter wants it: a file a line.
  const pairs = /\[\n\s+([\d.]+),\n\s+([\d.]+)\n\s+\]/g;
  writeFileSync(PATH, `${JSON.stringify(written, undefined, 2).replaceAll(pairs, '[$1, $2]')}\n`);
}
