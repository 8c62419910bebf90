import { fault } from '../../core/errors.ts';
import { PRIORITY_MAX } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Value } from '../../flow/expression/values.ts';
import {
  demandOf,
  isLoop,
  keyText,
  LIMIT_DEFAULTS,
  LOOP,
  type LoopDemand,
  priorityOf,
} from '../../flow/loop/demand.ts';
import { readLoopInput } from '../../flow/loop/loop-input.ts';
import type { Machine } from '../../flow/machine/definition.ts';

/** What a run of a loop is started with, besides what every run of a machine is. */
export interface LoopTerms extends LoopDemand {
  readonly kind: typeof LOOP;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Runs that wait, of which the one with the highest priority is among the newest. */
const MOST_SEEN = 50;

/** Undefined: the machine is no loop. Throws what is wrong with the input. */
export async function loopTerms(
  engine: Pick<Engine, 'limits' | 'runs' | 'get'>,
  machine: Machine | typeof LOOP | undefined,
  given: Value,
): Promise<LoopTerms | undefined> {
  if (machine === undefined || (machine !== LOOP && !isLoop(machine))) return undefined;
  const { input, problems } = readLoopInput(given ?? {});
  if (input === undefined) throw refused(problems);
  await makeLimits(engine);
  const { queue_policy: policy } = input.config;
  const waiting = policy === 'fifo' ? [] : await prioritiesOf(engine);
  return {
    ...demandOf(input),
    kind: LOOP,
    priority: priorityOf(policy, waiting, PRIORITY_MAX),
    labels: { workspace: keyText(input.workspace) },
  };
}

/** Until an operator says otherwise, a workspace has one run at a time. A task names no limit that is not there. */
async function makeLimits({ limits }: Pick<Engine, 'limits'>): Promise<void> {
  const there = new Set((await limits.list()).map(({ name }) => name));
  for (const [name, limit] of Object.entries(LIMIT_DEFAULTS)) if (!there.has(name)) await limits.set(name, limit);
}

async function prioritiesOf(engine: Pick<Engine, 'runs' | 'get'>): Promise<readonly number[]> {
  const { runs: waiting } = await engine.runs.list({ kind: LOOP, states: ['ready'], limit: MOST_SEEN });
  const records = await Promise.all(waiting.map(({ task }) => engine.get(task)));
  return records.flatMap((record) => record?.priority ?? []);
}

export function refused(problems: readonly string[]): Error {
  const [only] = problems;
  return fault(
    'INVALID_INPUT',
    { field: 'input', problem: problems.length === 1 ? only : `it has ${problems.length} problems` },
    problems.length === 1 ? {} : { hint: problems.join('\n') },
  );
}
