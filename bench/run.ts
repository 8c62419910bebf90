/** One run of a suite: all contenders, all measures, interleaved; one table. */
import type { Contender } from './contenders/contender.ts';
import { usePackage } from './contenders/library.ts';
import { Figures, percentile } from './figures.ts';
import { describe } from './machine.ts';
import type { Measure, Row, World } from './measures/measure.ts';
import { killChildren, useStore } from './processes.ts';
import { appendResults } from './results.ts';
import type { Suite } from './suites/suite.ts';
import { figureTable, number, type Promised, targetTable } from './table.ts';
import type { Target } from './targets/target.ts';

export interface RunOptions {
  /** Names of measures and contenders, apart by commas; default all. */
  readonly only: string | undefined;
  readonly contenders: string | undefined;
  readonly rounds: number;
  readonly quick: boolean;
  readonly record: boolean;
  /** Prints all figures as JSON instead of the tables. */
  readonly json?: boolean;
}

export function roundsOf(flag: string | undefined, quick: boolean, many: number): number {
  const rounds = Number(flag ?? (quick ? 1 : many));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number from 1');
  return rounds;
}

/** Runs it, prints, records, and ends the process: 1 when something failed. */
export async function runSuite(suite: Suite, options: RunOptions): Promise<never> {
  return runSuites([[suite, options]]);
}

/** One after the other; their targets make one table. */
export async function runSuites(all: readonly (readonly [Suite, RunOptions])[]): Promise<never> {
  const runs: Run[] = [];
  for (const [suite, options] of all) {
    const run = new Run(suite, options);
    await run.all();
    runs.push(run);
  }
  tell(runs);
  process.exit(runs.some(({ failed }) => failed) ? 1 : 0);
}

/** The tables of several runs, what was promised on top. */
function tell(runs: readonly Run[]): void {
  const [first] = runs as readonly [Run];
  const targets = targetTable(...runs.map((run) => run.promised));
  if (first.options.json) console.log(JSON.stringify(first.asJson(), null, 2));
  else console.log([targets, ...runs.flatMap((run) => run.tables(false))].join('\n\n'));
  if (!first.options.record || first.options.quick) return;
  const at = new Date().toISOString().slice(0, 16).replace('T', ' ');
  appendResults(
    `${first.suite.title} · ${at} UTC · rounds ${first.options.rounds} · ${first.minutes()}`,
    first.machine,
    targets,
    ...runs.flatMap((run) => run.tables(true)),
  );
}

class Run {
  readonly suite: Suite;
  readonly options: RunOptions;
  machine = '';
  #took = '';
  readonly #measures: readonly Measure[];
  readonly #contenders: readonly Contender[];
  readonly #started = performance.now();
  readonly #figures = new Figures();
  readonly #failures: string[] = [];
  readonly #notes: string[] = [];
  readonly #lasting = new Map<string, Promise<string>>();
  #places = 0;

  constructor(suite: Suite, options: RunOptions) {
    this.suite = suite;
    this.options = options;
    this.#measures = choose(suite.measures, options.only, '--only');
    this.#contenders = choose(suite.contenders, options.contenders, '--contenders');
  }

  get failed(): boolean {
    return this.#failures.length > 0;
  }

  get promised(): Promised {
    return { figures: this.#figures, targets: this.suite.targets.filter((target) => this.#wanted(target)) };
  }

  async all(): Promise<void> {
    const { rounds } = this.options;
    useStore(this.suite.store);
    usePackage(this.suite.dist);
    const ground = await this.suite.open();
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const)
      process.on(signal, () => process.exit(status));
    process.on('exit', () => {
      killChildren();
      ground.close();
    });
    this.machine = describe(ground.folder, ground.version);
    this.#progress(this.machine);
    for (let round = 1; round <= rounds; round++) {
      for (const measure of this.#measures) {
        if (round > (measure.rounds ?? rounds)) continue;
        for (const contender of rotated(this.#contenders, round)) {
          if (round === 1 || !contender.slow) await this.#once(ground, measure, contender, round);
        }
      }
    }
    this.#took = this.minutes();
  }

  tables(spread: boolean): readonly string[] {
    const rows = this.#measures.flatMap((measure) => measure.rows);
    const contenders = this.#contenders.map(({ name }) => name);
    const table = figureTable(this.#figures, { rows, contenders, reference: this.suite.reference, spread });
    return [
      `${this.suite.title}, ${this.#took}:`,
      table,
      ...this.#notes,
      ...this.#failures.map((failure) => `**FAILED** ${failure}`),
    ];
  }

  /** With `--only`, what was not measured is not said to be missing. */
  #wanted(target: Target): boolean {
    return this.options.only === undefined || target.figure(this.#figures) !== undefined;
  }

  /** Every figure of every round; of samples what the table says. */
  asJson(): object {
    const rows = this.#measures.flatMap((measure) => measure.rows);
    const { machine } = this;
    const names = this.#contenders.map(({ name }) => name);
    const under = this.suite.reference;
    return {
      title: this.suite.title,
      machine,
      rounds: this.options.rounds,
      rows: rows.map(({ label, key, unit, percentile: percent, ratio }) => ({
        label,
        unit,
        figures: names.flatMap((contender) => {
          const values = this.#figures.get(key, contender);
          if (values.length === 0) return [];
          const figure = percentile(values, percent ?? 50);
          const against =
            ratio === 'reference' ? this.#figures.ratio({ key, contender }, { key, contender: under }) : undefined;
          return [{ contender, figure, ratio: against, ...(percent === undefined ? { rounds: values } : {}) }];
        }),
      })),
      targets: this.suite.targets.map((target) => ({
        label: target.label,
        figure: target.figure(this.#figures),
        wanted: `${target.bound} ${target.wanted} ${target.unit}`.trimEnd(),
      })),
      notes: this.#notes,
      failures: this.#failures,
    };
  }

  /** One round of one measure of one contender. After a failure that pair is not tried again. */
  async #once(ground: World['ground'], measure: Measure, contender: Contender, round: number): Promise<void> {
    const pair = `${measure.name}, ${contender.name}`;
    if (measure.only?.includes(contender.name) === false || contender.without?.includes(measure.name)) return;
    if (this.#failures.some((failure) => failure.startsWith(`${pair}:`))) return;
    const used: string[] = [];
    try {
      await measure.round(this.#world(ground, contender, round, used), contender);
    } catch (error) {
      killChildren();
      this.#failures.push(`${pair}: ${error instanceof Error ? error.message : String(error)}`);
      this.#progress(`FAILED ${this.#failures.at(-1)}`);
    }
    for (const place of used) await ground.remove(place);
  }

  /** `used`: the places that go after the round. */
  #world(ground: World['ground'], contender: Contender, round: number, used: string[]): World {
    const { rounds, quick } = this.options;
    const say = (what: string): void =>
      this.#progress(`round ${round}/${rounds}  ${contender.name.padEnd(20)} ${what}`);
    return {
      quick,
      ground,
      fresh: async () => {
        const place = await ground.create(`fresh_${this.#places++}`);
        used.push(place);
        return place;
      },
      lasting: (name, like) => {
        const known = this.#lasting.get(name) ?? ground.create(`lasting_${this.#lasting.size}`, like);
        this.#lasting.set(name, known);
        return known;
      },
      say,
      note: (text) => void this.#notes.push(text),
      record: (of: Contender, row: Row, figure: number) => {
        this.#figures.add(row.key, of.name, figure);
        say(`${row.label}: ${number(figure)} ${row.unit}`);
      },
      samples: (of, key, values) => {
        this.#figures.add(key, of.name, ...values);
        say(`${key}: p50 ${number(percentile(values, 50) ?? Number.NaN)} ms of ${values.length}`);
      },
    };
  }

  minutes(): string {
    const seconds = Math.round((performance.now() - this.#started) / 1000);
    return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }

  #progress(text: string): void {
    console.error(`[${this.minutes()}] ${text}`);
  }
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
