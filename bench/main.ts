/** `npm run bench`: all contenders, all measures, interleaved in one run; one table. See README.md. */
import { parseArgs } from 'node:util';
import type { Contender } from './contenders/contender.ts';
import { Figures, percentile } from './figures.ts';
import { describe } from './machine.ts';
import type { Measure, Row, World } from './measures/measure.ts';
import { installPeers } from './peers.ts';
import { killChildren, useStore } from './processes.ts';
import { appendResults } from './results.ts';
import { suiteOf } from './suites/index.ts';
import { figureTable, number, targetTable } from './table.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    contenders: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 3));
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number from 1');
const suite = suiteOf(flags.store);
const chosenMeasures = choose(suite.measures, flags.only, '--only');
const chosenContenders = choose(suite.contenders, flags.contenders, '--contenders');

const started = performance.now();
const figures = new Figures();
const failures: string[] = [];
const lasting = new Map<string, Promise<string>>();
let places = 0;
installPeers();
useStore(suite.store);
const ground = await suite.open();
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.on(signal, () => process.exit(status));
process.on('exit', () => {
  killChildren();
  ground.close();
});

const machine = describe(ground.folder, ground.version);
progress(machine);
for (let round = 1; round <= rounds; round++) {
  for (const measure of chosenMeasures) {
    for (const contender of rotated(chosenContenders, round)) await once(measure, contender, round);
  }
}

const rows = chosenMeasures.flatMap((measure) => measure.rows);
const names = chosenContenders.map(({ name }) => name);
const columns = { rows, contenders: names, reference: suite.reference };
const problems = failures.map((failure) => `**FAILED** ${failure}`);
console.log(
  [figureTable(figures, { ...columns, spread: false }), targetTable(figures, suite.targets), ...problems].join('\n\n'),
);
if (flags.record && !flags.quick) {
  const at = new Date().toISOString().slice(0, 16).replace('T', ' ');
  appendResults(
    `${suite.title} · ${at} UTC · rounds ${rounds} · ${minutes()}`,
    machine,
    figureTable(figures, { ...columns, spread: true }),
    targetTable(figures, suite.targets),
    ...problems,
  );
}
process.exit(failures.length > 0 ? 1 : 0);

/** One round of one measure of one contender. After a failure that pair is not tried again. */
async function once(measure: Measure, contender: Contender, round: number): Promise<void> {
  const pair = `${measure.name}, ${contender.name}`;
  if (measure.only?.includes(contender.name) === false || contender.without?.includes(measure.name)) return;
  if (failures.some((failure) => failure.startsWith(`${pair}:`))) return;
  const used: string[] = [];
  const say = (what: string): void => progress(`round ${round}/${rounds}  ${contender.name.padEnd(20)} ${what}`);
  const world: World = {
    quick: flags.quick,
    ground,
    async fresh() {
      const place = await ground.create(`fresh_${places++}`);
      used.push(place);
      return place;
    },
    lasting(name, like) {
      const known = lasting.get(name) ?? ground.create(`lasting_${lasting.size}`, like);
      lasting.set(name, known);
      return known;
    },
    say,
    record(of: Contender, row: Row, figure: number) {
      figures.add(row.key, of.name, figure);
      say(`${row.label}: ${number(figure)} ${row.unit}`);
    },
    samples(of, key, values) {
      figures.add(key, of.name, ...values);
      say(`${key}: p50 ${number(percentile(values, 50) ?? Number.NaN)} ms of ${values.length}`);
    },
  };
  try {
    await measure.round(world, contender);
  } catch (error) {
    killChildren();
    failures.push(`${pair}: ${error instanceof Error ? error.message : String(error)}`);
    progress(`FAILED ${failures.at(-1)}`);
  }
  for (const place of used) await ground.remove(place);
}

function choose<T extends { readonly name: string }>(
  all: readonly T[],
  flag: string | undefined,
  option: string,
): readonly T[] {
  if (flag === undefined) return all;
  const wanted = flag.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !all.some((item) => item.name === name));
  if (unknown !== undefined)
    throw new Error(`${option}: no "${unknown}"; there are: ${all.map(({ name }) => name).join(', ')}`);
  return all.filter(({ name }) => wanted.includes(name));
}

/** Each round begins with another contender. */
function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function minutes(): string {
  const seconds = Math.round((performance.now() - started) / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function progress(text: string): void {
  console.error(`[${minutes()}] ${text}`);
}
