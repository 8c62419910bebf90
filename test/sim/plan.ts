import type { Rng } from './rng.ts';

/** How one run is set up: drawn from the seed, so that some runs are calm and some are storms. */
export interface Plan {
  readonly processes: number;
  readonly clients: number;
  readonly leaseMs: number;
  readonly dutyMs: number;
  readonly retentionMs: number;
  /** Rows that one step of the pruner walks. */
  readonly pruneBatch: number;
  readonly keys: number;
  readonly untilMs: number;
  /** One verb is slow throughout: what lies between a look and the write that follows it gets time to happen. */
  readonly clogged: string | undefined;
  readonly faults: Faults;
}

/** Probabilities, per message or per moment. */
export interface Faults {
  readonly slow: number;
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly double: number;
  readonly crashBefore: number;
  readonly crashAfter: number;
  readonly freeze: number;
  readonly kill: number;
  readonly clockJump: number;
  /** Of a handler: walks away without a word. */
  readonly abandon: number;
}

/** So short that tasks go while others run. */
export const SHORT_MS = 1500;

/** After so long every call that was under way when the faults ended has ended too. */
export const SETTLED_MS = 2500;

const CLOGGABLE = [
  'leaseReap',
  'leaseReap',
  'leaseReap',
  'taskStage',
  'triggerFire',
  'taskSettle',
  'taskReturn',
  'leaseRenew',
  'taskClaim',
  'taskTurn',
  undefined,
] as const;

export const CALM: Faults = {
  slow: 0,
  lostRequest: 0,
  lostAnswer: 0,
  double: 0,
  crashBefore: 0,
  crashAfter: 0,
  freeze: 0,
  kill: 0,
  clockJump: 0,
  abandon: 0,
};

export function drawPlan(rng: Rng): Plan {
  const storm = rng.pick([0, 0.3, 1, 1, 2]);
  const some = (probability: number): number => (rng.chance(0.7) ? probability * storm : 0);
  const retentionMs = rng.chance(0.2) ? SHORT_MS : 600_000;
  return {
    processes: rng.int(2, 4),
    clients: rng.int(1, 3),
    leaseMs: rng.pick([300, 600, 1000]),
    dutyMs: rng.pick([600, 1500]),
    retentionMs,
    pruneBatch: retentionMs === SHORT_MS ? 2 : 500,
    keys: rng.int(1, 4),
    untilMs: rng.int(4000, 9000),
    clogged: rng.pick(CLOGGABLE),
    faults: {
      slow: some(0.05),
      lostRequest: some(0.02),
      lostAnswer: some(0.03),
      double: some(0.05),
      crashBefore: some(0.004),
      crashAfter: some(0.004),
      freeze: some(0.15),
      kill: some(0.1),
      clockJump: some(0.1),
      abandon: some(0.15),
    },
  };
}
