import type { AfterFailure } from '../../src/core/graph/graph.ts';
import type { PlacementInput } from '../../src/core/placement/placement.ts';
import type { GraphRequest } from '../../src/engine/push/graphs.ts';
import type { PushRequest } from '../../src/engine/push/push.ts';
import type { ChildDependency, ChildEntryRequest } from '../../src/engine/settle/turn-request.ts';
import type { Rng } from './rng.ts';
import type { Run } from './run.ts';

/** What tasks are made of, drawn from the seed. */

export const QUEUES = ['alpha', 'beta'] as const;
const HANDLERS = ['one', 'two'] as const;
export const CHANNELS = ['news', 'mail'] as const;
export const LIMIT = 'sim';
export const TAGS = ['gpu', 'mem=2', 'mem=8'] as const;
const RETRY = { baseMs: 100, factor: 2, maxMs: 1000, jitter: 0.5 };

/** What a handler does before it comes to its end; each is done once in the life of a task, whatever becomes of attempts. */
export type Step =
  | { readonly do: 'remember'; readonly count: number }
  | { readonly do: 'tell'; readonly channel: string; readonly broadcast: boolean }
  | { readonly do: 'signal'; readonly channel: string; readonly timeout?: number }
  | { readonly do: 'time'; readonly timeout: number }
  | { readonly do: 'approval'; readonly timeout: number }
  | { readonly do: 'launch'; readonly count: number }
  | { readonly do: 'children'; readonly count: number; readonly need?: number; readonly timeout?: number };

/** What a task parks for. */
export type WaitStep = Extract<Step, { readonly do: 'signal' | 'time' | 'approval' | 'children' }>;

export interface Input {
  readonly op?: string;
  readonly key?: string;
  readonly other?: boolean;
  readonly poison?: boolean;
  readonly steps?: readonly Step[];
  /** How many have borne each other before it. */
  readonly depth?: number;
}

export type Wish = PushRequest & { readonly op: string; readonly input: Input };

/** A task of its own, or one that is known by a key which others use too. */
export function drawTask(run: Run, op: string, keyed: number): Wish {
  const { rng, plan } = run;
  const key = rng.chance(keyed) ? `key${rng.int(1, plan.keys)}` : undefined;
  const steps = key === undefined && rng.chance(0.4) ? drawSteps(rng) : undefined;
  return {
    queue: key === undefined ? rng.pick(QUEUES) : 'alpha',
    handler: key === undefined ? rng.pick(HANDLERS) : 'one',
    input:
      key === undefined
        ? { op, poison: rng.chance(0.06), ...(steps === undefined ? {} : { steps }) }
        : { key, other: rng.chance(0.15) },
    priority: rng.int(-1, 1),
    maxAttempts: rng.int(1, 4),
    retry: RETRY,
    op,
    // Keyed ones are told apart by their lanes in the model.
    ...(key === undefined && run.limited && rng.chance(0.35) ? { limits: [limitOf(rng)] } : {}),
    ...(key === undefined && rng.chance(0.25) ? { placement: placementOf(run) } : {}),
    ...(key === undefined ? {} : { unique: { key, window: Math.min(plan.retentionMs, rng.pick([500, 100_000])) } }),
  };
}

export function drawTimes(rng: Rng): Pick<PushRequest, 'delay' | 'waitTimeout'> {
  return {
    ...(rng.chance(0.25) ? { delay: rng.int(1, 1500) } : {}),
    ...(rng.chance(0.15) ? { waitTimeout: rng.int(1, 2000) } : {}),
  };
}

/** Each waits for some of those before it, and now and then for a task that is there already. */
export function drawGraph(run: Run, op: string, known: readonly number[]): readonly (Wish & GraphRequest)[] {
  const { rng } = run;
  return Array.from({ length: rng.int(2, 5) }, (_, i) => {
    const ups: (string | number)[] = Array.from({ length: i }, (__, up) => String(up)).filter(() => rng.chance(0.5));
    if (known.length > 0 && rng.chance(0.2)) {
      ups.push(rng.chance(0.3) ? (run.model.board.gone ?? (known[0] as number)) : rng.pick(known));
    }
    const after = ups.map((on) => ({ on, optional: rng.chance(0.3) }));
    return {
      ...drawTask(run, `${op}.${i}`, 0.05),
      ...(after.length === 0 ? drawTimes(rng) : {}),
      after,
      afterFailure: rng.pick<AfterFailure>(['cancel', 'fail', 'run']),
    };
  });
}

/** So deep do trees grow. */
const DEPTH = 2;

/** Children of one turn: mostly plain, some known by a key, some with steps of their own, some that wait for others. */
export function drawChildren(run: Run, parent: Parent, prefix: string, count: number): readonly ChildEntryRequest[] {
  const { rng } = run;
  return Array.from({ length: count }, (_, i) => {
    const key = `${prefix}/${i}`;
    const after: (string | number | ChildDependency)[] =
      i > 0 && rng.chance(0.3) ? [`${prefix}/${rng.int(0, i - 1)}`] : [];
    const others = run.model.tasks.size;
    const { gone } = run.model.board;
    if (others > 0 && rng.chance(gone === undefined ? 0.06 : 0.25)) {
      const any = rng.int(1, others);
      // Once some are gone, one of those: that is refused.
      after.push({ on: gone ?? any, optional: rng.chance(0.5) });
    }
    return {
      key,
      kind: 'child',
      child: {
        ...(rng.chance(0.12) ? keyedChild(run) : drawChild(run, `child/${parent.task}/${key}`, parent.depth + 1)),
        ...(after.length === 0 && rng.chance(0.1) ? { delay: rng.int(1, 500) } : {}),
      },
      ...(after.length > 0 ? { after, afterFailure: rng.pick<AfterFailure>(['cancel', 'fail', 'run']) } : {}),
    };
  });
}

export interface Parent {
  readonly task: number;
  readonly depth: number;
}

/** Something that its parent does not know may keep it waiting: a task of another, or one that a key leads to. */
export function mayHang({ child, after = [] }: ChildEntryRequest): boolean {
  return child.unique !== undefined || after.some((one) => typeof one !== 'string');
}

function keyedChild(run: Run): ChildEntryRequest['child'] {
  const { op: _, ...wish } = drawTask(run, '', 1);
  return wish;
}

function drawChild(run: Run, op: string, depth: number): ChildEntryRequest['child'] {
  const { rng } = run;
  const steps = depth <= DEPTH && rng.chance(0.25) ? [drawStep(rng)] : undefined;
  return {
    queue: rng.pick(QUEUES),
    handler: 'two',
    input: { op, depth, ...(steps === undefined ? {} : { steps }) },
    maxAttempts: rng.int(1, 3),
    retry: RETRY,
    ...(run.limited && rng.chance(0.2) ? { limits: [limitOf(rng)] } : {}),
  };
}

export function drawTags(rng: Rng): readonly string[] {
  return TAGS.filter(() => rng.chance(0.3));
}

function drawSteps(rng: Rng): readonly Step[] {
  const steps = Array.from({ length: rng.int(1, 3) }, () => drawStep(rng));
  // Now and then the same wait again, which a second signal may be there for.
  const [first] = steps;
  return first?.do === 'signal' && rng.chance(0.5) ? [first, ...steps] : steps;
}

const STEPS = ['remember', 'tell', 'signal', 'signal', 'signal', 'time', 'approval', 'children', 'launch'] as const;

function drawStep(rng: Rng): Step {
  const timeout = rng.int(50, 2000);
  const maybe = rng.chance(0.5) ? { timeout } : {};
  switch (rng.pick(STEPS)) {
    case 'remember':
      return { do: 'remember', count: rng.int(1, 3) };
    case 'tell':
      return { do: 'tell', channel: rng.pick(CHANNELS), broadcast: rng.chance(0.25) };
    case 'launch':
      return { do: 'launch', count: rng.int(1, 2) };
    case 'signal':
      return { do: 'signal', channel: rng.pick(CHANNELS), ...maybe };
    case 'time':
      return { do: 'time', timeout };
    case 'approval':
      return { do: 'approval', timeout };
    case 'children': {
      const count = rng.int(1, 4);
      return { do: 'children', count, ...(rng.chance(0.4) ? { need: rng.int(1, count) } : {}), ...maybe };
    }
  }
}

function limitOf(rng: Rng): { name: string; key?: string; weight: number } {
  return { name: LIMIT, weight: rng.int(1, 2), ...(rng.chance(0.6) ? { key: rng.pick(['ann', 'bob']) } : {}) };
}

/** Whatever it is, some worker fits it when all of them live and have all tags. */
function placementOf({ rng, workerNames }: Run): PlacementInput {
  switch (rng.pick(['tag', 'number', 'only', 'never', 'most', 'most', 'both'] as const)) {
    case 'tag':
      return { requires: ['gpu'] };
    case 'number':
      return { requires: ['mem>=4'] };
    case 'only':
      return { only: [rng.pick(workerNames)] };
    case 'never':
      return { never: [rng.pick(workerNames)] };
    case 'most':
      return { maxPerWorker: 1 };
    case 'both':
      return { requires: ['gpu'], maxPerWorker: 2 };
  }
}
