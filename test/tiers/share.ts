/**
 * The share of the tier `all` that CI runs: what does more at full length, dealt into shares of a few minutes, one of which the commit chooses. So
 * each part is run once in so many commits.
 */
import { DEFECTS as PLANTED } from '../sim/defects.ts';
import { chosenBy } from './commit.ts';
import { costOf, isKnown } from './costs.ts';
import { asksForScale, testFiles } from './files.ts';
import type { Job, Scale } from './job.ts';
import type { Stage } from './stage.ts';
import { BUILT, built, simulator, type Tier } from './tiers.ts';

/** Seconds of the dearer of wall and CPU, as they were measured, of two jobs at once. On two cores a share takes half as long. */
export const SHARE_S = 200;
/** Files that are longer than a share, by how the names of their tests begin; the rest of the tests is a part too. */
const SPLIT: Readonly<Record<string, readonly string[]>> = {
  'test/chaos/farm/farm.test.ts': ['nothing is lost', 'the same holds'],
  'test/chaos/postgres-faults.test.ts': ['a server that is restarted', 'sessions that are cut off'],
};
const DEFECTS = 'test/sim/defects.test.ts';
const DEFECT_PARTS = 4;
/** CPU of a seed and of a planted defect, as measured: 67 s for 100 seeds, 21 s for 16 defects. */
const [SEED_S, DEFECT_S] = [0.7, 1.3];
/** Of the simulator. The first hundred together: they must reach everything that there is (../sim/main.ts). */
const SEEDS: readonly (readonly [first: number, count: number])[] = [
  [1, 100],
  ...Array.from({ length: 9 }, (_, i) => [101 + 100 * i, 100] as const),
];

export interface Part {
  readonly job: Job;
  readonly costS: number;
  /** Wants both cores. */
  readonly chaos: boolean;
}

/** All parts that there are. What takes longer than a share at full length is done at a length between. */
export function parts(): readonly Part[] {
  const files = testFiles().filter(({ file }) => file !== DEFECTS && asksForScale(file));
  return [
    ...files.flatMap(({ file, kind }): readonly Part[] => {
      const scale = lengthOf(file);
      const chaos = kind === 'chaos';
      const jobs = partsOf({ ...(built([file])[0] as Job), scale });
      // One at a time takes as long as two others.
      return jobs.map((job) => ({ job, costS: (costOf(file, scale) * (chaos ? 2 : 1)) / jobs.length, chaos }));
    }),
    ...Array.from({ length: DEFECT_PARTS }, (_, i) => defects(`${i + 1}/${DEFECT_PARTS}`)),
    ...SEEDS.map(([first, count]): Part => {
      return { job: { ...simulator(count, first), scale: 'full' }, costS: count * SEED_S, chaos: false };
    }),
  ];
}

function partsOf(job: Job): readonly Job[] {
  const begins = SPLIT[job.name];
  if (begins === undefined) return [job];
  return [...begins.map((one) => `^${one}`), `^(?!${begins.join('|')})`].map((pattern) => ({
    ...job,
    name: `${job.name} ${pattern}`,
    options: [`--test-name-pattern=${pattern}`],
  }));
}

function defects(which: string): Part {
  const env = { LEASEHOLD_TEST_DEFECTS: which };
  const costS = (Object.keys(PLANTED).length / DEFECT_PARTS) * DEFECT_S;
  return { job: { name: `${DEFECTS} ${which}`, files: [DEFECTS], env, scale: 'full' }, costS, chaos: false };
}

function lengthOf(file: string): Scale {
  return isKnown(file, 'full') && costOf(file, 'full') <= SHARE_S ? 'full' : 'middle';
}

/** Dealt in order, the dearest first, each into the first share that has room. */
export function shares(all: readonly Part[] = parts()): readonly (readonly Part[])[] {
  const dealt: { readonly parts: Part[]; costS: number }[] = [];
  for (const part of all.toSorted((a, b) => b.costS - a.costS)) {
    let share = dealt.find(({ costS }) => costS + part.costS <= SHARE_S);
    if (share === undefined) dealt.push((share = { parts: [], costS: 0 }));
    share.parts.push(part);
    share.costS += part.costS;
  }
  return dealt.map(({ parts }) => parts);
}

export function shareTier(commit: string): Tier {
  const dealt = shares();
  const number = chosenBy(commit, dealt.length);
  return tierOf(`share ${number} of ${dealt.length}, by the commit ${commit.slice(0, 12)}`, dealt[number - 1] ?? []);
}

/** All parts at one length, to measure them. */
export function everyPart(scale: Scale): Tier {
  return tierOf(
    `every part at ${scale} length`,
    parts().map((part) => ({ ...part, job: { ...part.job, scale } })),
  );
}

function tierOf(name: string, chosen: readonly Part[]): Tier {
  const stage = (chaos: boolean, name: string, atOnce: number): Stage => {
    const jobs = chosen.filter((part) => part.chaos === chaos).map(({ job }) => job);
    return { name, what: jobs.map((job) => `${job.name} (${job.scale})`).join(', '), jobs, atOnce, more: 1 };
  };
  const stages = [stage(false, 'deep', 2), stage(true, 'deep-chaos', 1)].filter(({ jobs }) => jobs.length > 0);
  return { name, scale: 'full', stages: [BUILT, ...stages] };
}
