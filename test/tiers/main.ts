/** `node test/tiers/main.ts test|merge|all [STAGE …] [--record]`, or `share` for the part of the last that CI runs: see tiers.ts. */
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../support/servers.ts';
import { closingTable, isOver } from './closing.ts';
import { commitOfCheckout } from './commit.ts';
import { record } from './costs.ts';
import type { Scale } from './job.ts';
import { cpuOfTree, endAll } from './measured.ts';
import { judgeNeeds, needs } from './needs.ts';
import { everyPart, shareTier } from './share.ts';
import { runStage, type Stage, type StageResult } from './stage.ts';
import { type Tier, tiers } from './tiers.ts';
import { Yardstick } from './yardstick.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false }, commit: { type: 'string' }, every: { type: 'string' } },
});
const [name = '', ...names] = positionals;

function usage(problem: string): never {
  console.error(
    `${problem}\nUsage: node test/tiers/main.ts test|merge|all|share [STAGE …] [--record] [--commit HASH] [--every middle|full]`,
  );
  process.exit(2);
}

function chosenTier(): Tier {
  const commit = values.commit ?? commitOfCheckout();
  if (name === 'share') return values.every === undefined ? shareTier(commit) : everyPart(values.every as Scale);
  const tier = tiers(commit).find((one) => one.name === name);
  return tier ?? usage(`There is no tier ${JSON.stringify(name)}.`);
}

function chosenStages({ stages }: Tier): readonly Stage[] {
  const unknown = names.find((one) => !stages.some((stage) => stage.name === one));
  if (unknown !== undefined)
    usage(`There is no stage ${unknown}; there are ${stages.map((one) => one.name).join(', ')}.`);
  return names.length === 0 ? stages : stages.filter((stage) => names.includes(stage.name));
}

async function runAll(tier: Tier): Promise<readonly StageResult[]> {
  const results: StageResult[] = [];
  const none = { pass: 0, fail: 0, skipped: 0, wallS: 0, cpuS: 0, spentByFile: [], skips: [], again: [] };
  for (const stage of chosenStages(tier)) {
    const failed = results.some(({ verdict }) => verdict === 'FAILED');
    results.push(failed ? { name: stage.name, verdict: 'not tried', ...none } : await runStage(stage, tier.scale));
  }
  return results;
}

/** The groups of the jobs are not ours: the terminal tells only us. */
function endWithTheirs(signal: 'SIGINT' | 'SIGTERM', status: number): void {
  process.once(signal, () => {
    endAll();
    process.exit(status);
  });
}

async function main(): Promise<void> {
  endWithTheirs('SIGINT', 130);
  endWithTheirs('SIGTERM', 143);
  const tier = chosenTier();
  const { told, refused } = judgeNeeds(
    needs(),
    process.env['CI'] === 'true',
    (process.env['LEASEHOLD_WITHOUT'] ?? '').split(/[ ,]+/),
  );
  for (const line of told) console.log(line);
  if (refused) {
    console.log('\n0 passed, 1 failed');
    process.exitCode = 1;
    return;
  }
  const startedAt = performance.now();
  const yardstick = new Yardstick();
  await globalSetup();
  const results = await runAll(tier);
  await globalTeardown();
  const jobsCpuS = results.reduce((sum, { cpuS }) => sum + cpuS, 0);
  const wallS = (performance.now() - startedAt) / 1000;
  const whole = { wallS, cpuS: cpuOfTree() ?? jobsCpuS, dearness: yardstick.stop() };
  // A part of a tier has no budget of its own.
  const measured = names.length === 0 ? tier : { ...tier, cpuBudgetS: undefined };
  console.log(closingTable(measured, results, whole));
  if (values.record) record(results.flatMap(({ spentByFile }) => spentByFile));
  const failed = results.find(({ verdict }) => verdict === 'FAILED');
  if (failed !== undefined && name !== 'share')
    console.log(`  To try it again: npx node test/tiers/main.ts ${name} ${failed.name}`);
  const sum = (of: (result: StageResult) => number): number => results.reduce((total, one) => total + of(one), 0);
  const late = isOver(whole, measured.cpuBudgetS) ? 1 : 0;
  const fail = sum(({ fail }) => fail) + late;
  // A stage without counts, such as lint, fails as one; so does a budget.
  console.log(`\n${sum(({ pass }) => pass)} passed, ${failed === undefined ? fail : Math.max(1, fail)} failed`);
  process.exitCode = failed === undefined && fail === 0 ? 0 : 1;
}

await main();
