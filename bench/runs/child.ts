/**
 * One scene of one contender in a process of its own: `child.ts CONTENDER SCENE RUNS PLACE-AS-JSON`, over IPC. It fails when a run gives
 * what it should not, or when there were more or fewer effects than steps.
 */
import { once } from 'node:events';
import { contenders } from './contenders.ts';
import { AT_ONCE, type Output, type Place, type Runner, type SceneFigures, STEPS, type Told } from './part.ts';

/** Runs that warm it up at most; else as many as are measured. */
const WARM_RUNS = 320;

const [name = '', scene = '', runsText = '', placeText = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(1)); // the bench is gone: leave nothing behind
let told: SceneFigures | { readonly error: string };
try {
  told = await measure(Number(runsText), {
    ...(JSON.parse(placeText) as Place),
    atOnce: scene === 'lone' ? 1 : AT_ONCE,
  });
} catch (error) {
  told = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
process.send?.(told, () => process.exit(0));

async function measure(runs: number, place: Place): Promise<SceneFigures> {
  const contender = contenders.find((one) => one.name === name);
  if (contender === undefined) throw new Error(`no contender "${name}"`);
  const runner = await contender.open(place);
  const warm = Math.min(runs, WARM_RUNS);
  await all(runner, { from: 0, to: warm, atOnce: place.atOnce });
  tell('begin');
  await once(process, 'message');
  const cpu = process.cpuUsage();
  const others = runner.cpuMicros?.() ?? 0;
  const began = performance.now();
  await all(runner, { from: warm, to: warm + runs, atOnce: place.atOnce });
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  const micros = user + system + (runner.cpuMicros?.() ?? 0) - others;
  tell('end');
  const effects = await runner.close();
  const wanted = (warm + runs) * STEPS;
  if (effects !== wanted) throw new Error(`${effects} effects instead of ${wanted}`);
  return { rate: (runs * STEPS) / (ms / 1000), cpuMicros: micros / (runs * STEPS) };
}

async function all(
  runner: Runner,
  { from, to, atOnce }: { readonly from: number; readonly to: number; readonly atOnce: number },
): Promise<void> {
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      const run = next++;
      check(run, await runner.run(run));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

function check(run: number, { n, last }: Output): void {
  if (n !== STEPS || !last.startsWith(`${run}.${STEPS}.`) || last.length !== 300)
    throw new Error(`the run ${run} gave ${n} steps and ${JSON.stringify(last)}`);
}

function tell(what: Told): void {
  process.send?.(what);
}
