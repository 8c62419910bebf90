/**
 * `npm run bench:runs`: durable steps a second beside DBOS and openworkflow, through what a user calls, on the built package. 64 runs at once,
 * and one alone; see "Durable runs" in README.md.
 *
 *     npm run bench:runs -- [--store postgres|sqlite|both] [--rounds 5] [--contenders 'machine,dbos'] [--quick] [--no-record]
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildInto } from './built.ts';
import { Figures } from './figures.ts';
import { openFiles } from './ground/files.ts';
import type { Ground } from './ground/ground.ts';
import { openServer } from './ground/server.ts';
import { describe } from './machine.ts';
import type { Row } from './measures/measure.ts';
import { installPeers } from './peers.ts';
import { keep } from './processes.ts';
import { appendResults } from './results.ts';
import { BATCH, CTX_STEP, contenders, MACHINE, PEERS, type RunsContender, WORKFLOW } from './runs/contenders.ts';
import { type Place, type SceneFigures, type SceneName, STEPS, type Told } from './runs/part.ts';
import { figureTable, targetTable } from './table.ts';
import { atLeast, fastest, type Target } from './targets/target.ts';

const { values: flags } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    rounds: { type: 'string', default: '5' },
    contenders: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

type StoreName = Place['store'];
interface Measured extends SceneFigures {
  readonly serverMicros: number;
}

const SCENES: readonly SceneName[] = ['many', 'lone'];
const CHILD = join(import.meta.dirname, 'runs/child.ts');
const TIME_LIMIT_MS = 180_000;
const STORES: readonly StoreName[] = ['sqlite', 'postgres'];
const TITLES = { sqlite: 'SQLite', postgres: 'Postgres' } as const;

const stores = STORES.filter((store) => flags.store === 'both' || flags.store === store);
if (stores.length === 0) throw new Error(`--store: no "${flags.store}"; there are: sqlite, postgres, both`);
const wanted = flags.contenders?.split(',').map((name) => name.trim());
const unknown = wanted?.find((name) => !contenders.some((one) => one.name === name));
if (unknown !== undefined) throw new Error(`--contenders: no "${unknown}"`);
const rounds = flags.quick ? 1 : Number(flags.rounds);

installPeers();
let failed = false;
for (const store of stores) await onStore(store);
process.exit(failed ? 1 : 0);

async function onStore(store: StoreName): Promise<void> {
  const started = performance.now();
  const ground = await (store === 'postgres' ? openServer() : openFiles());
  process.on('exit', () => ground.close());
  const machine = describe(ground.folder, ground.version);
  console.error(`${machine}\nbuilding`);
  const dist = buildInto(join(ground.folder, 'package'));
  const taking = contenders.filter(({ name, stores: on }) => on.includes(store) && (wanted?.includes(name) ?? true));
  const figures = new Figures();
  const failures: string[] = [];
  let places = 0;
  for (let round = 0; round < rounds; round++) {
    for (const scene of SCENES) {
      // Each round begins with another one, so that what the minutes are like is the same for all.
      for (const contender of [...taking.slice(round % taking.length), ...taking.slice(0, round % taking.length)]) {
        const at = await ground.create(`r${places++}`);
        try {
          const measured = await measure(contender, scene, { store, at, dist }, ground);
          note(figures, scene, contender.name, measured);
          console.error(`round ${round + 1}: ${scene}: ${contender.name}: ${Math.round(measured.rate)} steps/s`);
        } catch (error) {
          failures.push(`${contender.name}, ${scene}: ${error instanceof Error ? error.message : String(error)}`);
          console.error(`FAILED: ${failures.at(-1)}`);
        }
        await ground.remove(at);
      }
    }
  }
  const targets = targetTable({ figures, targets: targetsOn(store) });
  const table = figureTable(figures, {
    rows: rowsOn(store),
    contenders: taking.map(({ name }) => name),
    reference: BATCH,
    spread: true,
  });
  console.log([`\nDurable runs on ${TITLES[store]}`, targets, table, ...failures].join('\n\n'));
  failed ||= failures.length > 0;
  if (!flags.record || flags.quick || wanted !== undefined) return;
  const minutes = ((performance.now() - started) / 60_000).toFixed(0);
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const title = `Durable runs on ${TITLES[store]} · ${date} UTC · rounds ${rounds} · ${minutes} min`;
  appendResults(title, machine, targets, table, ...failures);
}

function note(figures: Figures, scene: SceneName, name: string, { rate, cpuMicros, serverMicros }: Measured): void {
  figures.add(scene, name, rate);
  figures.add(`${scene} cpu`, name, cpuMicros + serverMicros);
  figures.add(`${scene} server`, name, serverMicros);
  figures.add(`${scene} latency`, name, 1000 / rate);
}

/** One scene in a process of its own, on a place of its own. */
function measure(
  { name, runs }: RunsContender,
  scene: SceneName,
  place: Omit<Place, 'atOnce'>,
  ground: Ground,
): Promise<Measured> {
  const count = flags.quick ? Math.ceil(runs[scene] / 10) : runs[scene];
  const child = fork(CHILD, [name, scene, String(count), JSON.stringify(place)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--disable-warning=DeprecationWarning', '--disable-warning=ExperimentalWarning'], // of peers
  });
  keep(child);
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT_MS);
    let before = 0;
    let server = 0;
    let result: Measured | undefined;
    child.on('message', (told: Told) => {
      if (told === 'begin') {
        before = ground.serverMicros();
        child.send('go');
      } else if (told === 'end') server = ground.serverMicros() - before;
      else if ('error' in told) reject(new Error(told.error));
      else result = { ...told, serverMicros: server / (count * STEPS) };
    });
    child.on('exit', (code, signal) => {
      clearTimeout(limit);
      if (result === undefined) reject(new Error(`ended early (${signal ?? code})`));
      else resolve(result); // only now: the store is closed and the cores are free
    });
  });
}

function rowsOn(store: StoreName): readonly Row[] {
  const server = (scene: SceneName): readonly Row[] =>
    store === 'postgres' ? [{ key: `${scene} server`, label: '… of which the server', unit: 'µs' }] : [];
  return [
    { key: 'many', label: '64 runs at once: steps', unit: '/s', ratio: 'reference' },
    { key: 'many cpu', label: '… CPU per step, all in all', unit: 'µs', ratio: 'reference' },
    ...server('many'),
    { key: 'lone', label: 'one run alone: steps', unit: '/s', ratio: 'reference' },
    { key: 'lone latency', label: '… a step', unit: 'ms', ratio: 'reference' },
    { key: 'lone cpu', label: '… CPU per step, all in all', unit: 'µs', ratio: 'reference' },
    ...server('lone'),
  ];
}

/** A lone run waits for one commit a step, as those of others do. */
function targetsOn(store: StoreName): readonly Target[] {
  const better = store === 'postgres' ? 'the better peer' : 'openworkflow';
  return [
    atLeast(`64 runs at once, machine / ${better}`, 2, '×', fastest('many', PEERS, MACHINE)),
    atLeast(`64 runs at once, workflow / ${better}`, 2, '×', fastest('many', PEERS, WORKFLOW)),
    atLeast(`64 runs at once, ctx.step / ${better}`, 2, '×', fastest('many', PEERS, CTX_STEP)),
    atLeast(`one run alone, machine / ${better}`, 1, '×', fastest('lone', PEERS, MACHINE)),
    atLeast(`one run alone, workflow / ${better}`, 1, '×', fastest('lone', PEERS, WORKFLOW)),
    atLeast(`one run alone, ctx.step / ${better}`, 1, '×', fastest('lone', PEERS, CTX_STEP)),
  ];
}
