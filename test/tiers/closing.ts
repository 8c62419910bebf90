/** What a tier says at its end. */
import { styleText } from 'node:util';
import { heading, type StageResult } from './stage.ts';
import type { Tier } from './tiers.ts';

const SLOWEST = 20;

export interface Whole {
  readonly wallS: number;
  readonly cpuS: number;
  /** How dear a second of CPU was: see yardstick.ts. */
  readonly dearness: number;
}

export function closingTable({ name, cpuBudgetS }: Tier, results: readonly StageResult[], whole: Whole): string {
  const over = isOver(whole, cpuBudgetS);
  const dear = `${cpuBudgetS} s, × ${whole.dearness.toFixed(2)} for this machine today`;
  const budget = cpuBudgetS === undefined ? '' : ` of ${dear}`;
  const total = `  ${'total'.padEnd(20)}${seconds(whole.wallS)}${seconds(whole.cpuS)} CPU${budget}`;
  const passed = `  That is more CPU than the tier may use (${dear}; test/tiers/tiers.ts): make it cheaper, or move a file to a later tier.`;
  return [
    heading(`the ${SLOWEST} slowest files of the tier ${name}`),
    ...slowest(results),
    heading(`tier ${name}`),
    ...results.map(stageLine),
    total,
    ...(over ? [styleText('red', passed)] : []),
    ...skipped(results),
    ...heldAgain(results),
  ].join('\n');
}

export function isOver({ cpuS, dearness }: Whole, cpuBudgetS: number | undefined): boolean {
  return cpuBudgetS !== undefined && cpuS > cpuBudgetS * dearness;
}

function stageLine({ name, verdict, wallS, cpuS, pass, fail, skipped }: StageResult): string {
  const counted = pass + fail + skipped > 0 ? `   ${pass} passed, ${fail} failed, ${skipped} skipped` : '';
  const line = `  ${name.padEnd(10)}${verdict.padEnd(10)}${seconds(wallS)}${seconds(cpuS)} CPU${counted}`;
  return verdict === 'FAILED' ? styleText('red', line) : line;
}

function slowest(results: readonly StageResult[]): readonly string[] {
  const all = results.flatMap(({ spentByFile }) => spentByFile);
  const first = all.toSorted((a, b) => b.wallS - a.wallS).slice(0, SLOWEST);
  return first.map(({ file, wallS, cpuS }) => `  ${seconds(wallS)}${seconds(cpuS)} CPU   ${file}`);
}

/** What was left out and why, each reason once. */
function skipped(results: readonly StageResult[]): readonly string[] {
  const reasons = Map.groupBy(
    results.flatMap(({ skips }) => skips),
    (why) => why,
  );
  return [...reasons].map(([why, all]) => `  ${all.length} skipped: ${why === '' ? 'no reason given' : why}`);
}

function heldAgain(results: readonly StageResult[]): readonly string[] {
  const again = results.flatMap(({ again }) => again);
  const count = `  Held at the second try only: ${again.length}`;
  return [count, ...again.map((file) => `    ${file}`)];
}

function seconds(value: number): string {
  return `${value.toFixed(1).padStart(8)} s`;
}
