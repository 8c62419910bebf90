/**
 * `npm run bench:turns`: what durable steps and children cost, through the public library: steps a second beside the floor of
 * one INSERT a commit, children that are spawned and waited for, and plain tasks, which must pay nothing for trees and turns.
 *
 *     node bench/turns.ts [--store sqlite|postgres] [--rounds 3] [--against CHECKOUT]
 *
 * With `--against` another checkout, of a commit before, takes turns with this one: ratios of the same minutes.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { openFiles } from './ground/files.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '3' },
    against: { type: 'string' },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

interface Figures {
  readonly rate: number;
  readonly cpuMicros: number;
  readonly walBytes: number;
}

const onPostgres = flags.store === 'postgres';
const here = join(import.meta.dirname, '..');
const ground = await (onPostgres ? openServer() : openFiles());
process.on('exit', () => ground.close());
const machine = describe(ground.folder, ground.version);
const contenders = [
  { name: 'this', source: here },
  ...(flags.against === undefined ? [] : [{ name: 'before', source: flags.against }]),
];
const MEASURES = [
  ['steps', 'durable steps, 64 runs at once'],
  ['spawns', 'children spawned one by one, then waited for'],
  ['together', 'children spawned together, then waited for'],
  ['plain', 'plain tasks, pushed together'],
] as const;

const found = new Map<string, Figures[]>();
const floors: number[] = [];
let places = 0;
for (let round = 0; round < Number(flags.rounds); round++) {
  floors.push(await floor());
  for (const [what] of MEASURES) {
    // In turn, and the other first every second time: what the minutes are like is the same for both.
    for (const { name, source } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const place = await ground.create(`t${places++}`);
      const address = onPostgres ? place : `sqlite:${place}`;
      const out = execFileSync(process.execPath, [join(here, 'bench/turns/child.ts'), source, address, what], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const figures = JSON.parse(out.trim().split('\n').at(-1) as string) as Figures;
      found.set(`${name} ${what}`, [...(found.get(`${name} ${what}`) ?? []), figures]);
      console.error(`round ${round + 1}: ${name} ${what} ${Math.round(figures.rate)}/s`);
      await ground.remove(place);
    }
  }
}

const lines = [
  `| medians of ${flags.rounds} rounds | /s | CPU µs of the process | log bytes | ${flags.against === undefined ? '' : 'rate / before | bytes / before |'}`,
  `|---|---:|---:|---:|${flags.against === undefined ? '' : '---:|---:|'}`,
  `| one INSERT a commit, one connection (floor) | ${count(median(floors))} | | | ${flags.against === undefined ? '' : '| |'}`,
];
for (const [what, words] of MEASURES) {
  const own = found.get(`this ${what}`) as Figures[];
  const old = found.get(`before ${what}`);
  const of = (key: keyof Figures, list: readonly Figures[]): number => median(list.map((one) => one[key]));
  const against =
    old === undefined
      ? ''
      : ` ×${median(own.map(({ rate }, i) => rate / (old[i] as Figures).rate)).toFixed(2)} | ×${(of('walBytes', own) / of('walBytes', old)).toFixed(2)} |`;
  lines.push(
    `| ${words} | ${count(of('rate', own))} | ${of('cpuMicros', own).toFixed(0)} | ${count(of('walBytes', own))} |${against}`,
  );
  if (what === 'steps')
    lines.push(
      `| … / floor | ×${(of('rate', own) / median(floors)).toFixed(2)} | | |${old === undefined ? '' : ' | |'}`,
    );
}
console.log(`\n${lines.join('\n')}`);
if (flags.record)
  appendResults(`Turns on ${flags.store} · ${new Date().toISOString().slice(0, 16)}`, machine, lines.join('\n'));
process.exit(0);

/** 300 bytes a row, each durable before the next. */
async function floor(): Promise<number> {
  const text = 'x'.repeat(300);
  const place = await ground.create(`f${places++}`);
  const rows = 2000;
  let from = 0;
  if (onPostgres) {
    const client = new Client({ connectionString: place });
    await client.connect();
    await client.query('CREATE TABLE step (task bigint, key text, value text, PRIMARY KEY (task, key))');
    from = performance.now();
    for (let i = 0; i < rows; i++) {
      await client.query({
        name: 'add',
        text: 'INSERT INTO step VALUES ($1, $2, $3)',
        values: [i % 64, `k${i}`, text],
      });
    }
    await client.end();
  } else {
    const db = new DatabaseSync(place);
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE step (task, key, value, PRIMARY KEY (task, key))',
    );
    const add = db.prepare('INSERT INTO step VALUES (?, ?, ?)');
    from = performance.now();
    for (let i = 0; i < rows; i++) add.run(i % 64, `k${i}`, text);
    db.close();
  }
  const rate = rows / ((performance.now() - from) / 1000);
  await ground.remove(place);
  return rate;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}
