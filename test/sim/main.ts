/** `npm run sim -- --seeds N --from S [--steps N] [--defect NAME] [--seed S]`: runs seeds and prints what was reached. */
import { parseArgs } from 'node:util';
import { DEFECTS, type DefectName } from './defects.ts';
import { GATES, Gates } from './gates.ts';
import { Run, type RunResult } from './run.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '300' },
    seed: { type: 'string' },
    defect: { type: 'string' },
  },
});
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const minSteps = Number(values.steps);
if (values.defect !== undefined && !Object.hasOwn(DEFECTS, values.defect)) {
  console.error(`There is no defect ${values.defect}; there are: ${Object.keys(DEFECTS).join(', ')}`);
  process.exit(2);
}
const statements = values.defect === undefined ? {} : DEFECTS[values.defect as DefectName].statements;

const started = performance.now();
const gates = new Gates();
let steps = 0;
let tasks = 0;
let simulatedMs = 0;
let shortest = Number.POSITIVE_INFINITY;
for (let seed = from; seed < from + count; seed++) {
  const result = await Run.seed(seed, { minSteps, statements });
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
for (const gate of GATES) console.log(`  ${String(gates.times(gate)).padStart(8)}  ${gate}`);
const missing = gates.missing();
if (count >= 100 && missing.length > 0) {
  console.error(`Never reached, so the run has not shown it: ${missing.join(', ')}`);
  // The first hundred reach everything, and any change shows there; others may miss what comes once in fifty.
  if (from === 1) process.exit(1);
}

function fail({ seed, steps, failure }: RunResult): never {
  console.error(`\nseed ${seed}, step ${steps}: ${failure?.error.stack ?? failure?.error.message}\n`);
  for (const line of failure?.trace ?? []) console.error(line);
  console.error(
    `\nReplay: npm run sim -- --seed ${seed} --steps ${minSteps}${values.defect ? ` --defect ${values.defect}` : ''}`,
  );
  process.exit(1);
}
