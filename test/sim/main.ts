/**
 * `npm run sim -- --seeds N --from S [--steps N] [--defect NAME] [--seed S]`: runs seeds and prints what was reached. With `--machines` the
 * processes run machines as durable runs, and the defects are those of their driver.
 */
import { parseArgs } from 'node:util';
import { DEFECTS, type DefectName } from './defects.ts';
import { GATES, Gates, MACHINE_GATES } from './gates.ts';
import { Machines } from './machines/cast.ts';
import { DRIVER_DEFECTS, type DriverDefectName } from './machines/driver-defects.ts';
import { plantedDriver } from './machines/planted-driver.ts';
import { Run, type RunOptions, type RunResult } from './run.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '300' },
    seed: { type: 'string' },
    defect: { type: 'string' },
    machines: { type: 'boolean', default: false },
  },
});
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const minSteps = Number(values.steps);
const known = values.machines ? DRIVER_DEFECTS : DEFECTS;
if (values.defect !== undefined && !Object.hasOwn(known, values.defect)) {
  console.error(`There is no defect ${values.defect}; there are: ${Object.keys(known).join(', ')}`);
  process.exit(2);
}
const optionsFor = values.machines ? await withMachines() : withTasks();
const due = values.machines ? MACHINE_GATES : GATES;

const started = performance.now();
const gates = new Gates();
let steps = 0;
let tasks = 0;
let simulatedMs = 0;
let shortest = Number.POSITIVE_INFINITY;
for (let seed = from; seed < from + count; seed++) {
  const result = await Run.seed(seed, await optionsFor(seed));
  if (result.failure !== undefined) fail(result);
  gates.add(result.gates);
  steps += result.steps;
  tasks += result.tasks;
  simulatedMs += result.simulatedMs;
  shortest = Math.min(shortest, result.steps);
  if (process.stdout.isTTY) process.stdout.write(`\r${seed - from + 1} of ${count} seeds`);
}
const seconds = (performance.now() - started) / 1000;
if (process.stdout.isTTY) process.stdout.write('\r');
console.log(
  `${count} seeds from ${from}, 0 violations: ${steps} steps (at least ${shortest} a seed), ${tasks} tasks, ` +
    `${(simulatedMs / 3_600_000).toFixed(1)} simulated hours in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(1)} seeds/s`,
);
for (const gate of due) console.log(`  ${String(gates.times(gate)).padStart(8)}  ${gate}`);
const missing = gates.missing(due);
if (count >= 100 && missing.length > 0) {
  console.error(`Never reached, so the run has not shown it: ${missing.join(', ')}`);
  // The first hundred reach everything, and any change shows there; others may miss what comes once in fifty.
  if (from === 1) process.exit(1);
}

function withTasks(): (seed: number) => RunOptions {
  const statements = values.defect === undefined ? {} : DEFECTS[values.defect as DefectName].statements;
  return () => ({ minSteps, statements });
}

async function withMachines(): Promise<(seed: number) => Promise<RunOptions>> {
  const { defect } = values;
  const planted = defect === undefined ? undefined : DRIVER_DEFECTS[defect as DriverDefectName].edits;
  const driver = planted === undefined ? undefined : await plantedDriver(`${defect}`, planted);
  return async (seed) => ({ minSteps, cast: await Machines.of(seed, driver) });
}

function fail({ seed, steps, failure }: RunResult): never {
  console.error(`\nseed ${seed}, step ${steps}: ${failure?.error.stack ?? failure?.error.message}\n`);
  for (const line of failure?.trace ?? []) console.error(line);
  console.error(
    `\nReplay: npm run sim -- --seed ${seed} --steps ${minSteps}${values.machines ? ' --machines' : ''}${
      values.defect ? ` --defect ${values.defect}` : ''
    }`,
  );
  process.exit(1);
}
