/** Phases of a loop as steps, from the entries of the journal of its run. */
import { isMap, type Value } from '../expression/values.ts';
import { isPhase, type LoopPhase } from './records.ts';

export type StepStatus = 'QUEUED' | 'IN_PROGRESS' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

export interface LoopStep {
  /** The number of the state in the run. It grows from step to step. */
  readonly n: number;
  readonly phase: LoopPhase;
  readonly status: StepStatus;
  /** Counted for each phase of the run. */
  readonly attempt: number;
  /** The attempt of the task that did it, or does it. */
  readonly lease: number;
  /** When the entry before it was stored. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly exitCode: number | undefined;
  /** What came of it: the end of it. */
  readonly output: string | undefined;
  readonly message: string | undefined;
  /** Where its files are, in the words of its worker. Undefined: it has left none. */
  readonly outputPath: string | undefined;
  readonly promptPath: string | undefined;
  /** Of a watchdog. */
  readonly signal: string | undefined;
  readonly decision: string | undefined;
}

/** One entry, as it is stored when its state has ended. */
export interface StateEntry {
  readonly n: number;
  readonly state: string;
  readonly lease: number;
  readonly at: number;
  readonly out: Value;
}

/** Where a run stands that has not ended that state. */
export interface Standing {
  readonly n: number;
  readonly state: string;
  readonly lease: number;
  readonly status: StepStatus;
}

const SHOWN_OUTPUT = 4000;
const LONGEST_PATH = 1000;

export function stepsOfLoop(
  entries: readonly StateEntry[],
  standing: Standing | undefined,
  startedAt: number | undefined,
): readonly LoopStep[] {
  const counts = new Map<LoopPhase, number>();
  const steps: LoopStep[] = [];
  let before = startedAt;
  for (const { n, state, lease, at, out } of entries) {
    if (isPhase(state)) steps.push({ ...begun(n, state, lease, counts, before), endedAt: at, ...endOf(out) });
    before = at;
  }
  if (standing === undefined || !isPhase(standing.state)) return steps;
  const { n, state, lease, status } = standing;
  return [...steps, { ...begun(n, state, lease, counts, before), status }];
}

function begun(
  n: number,
  phase: LoopPhase,
  lease: number,
  counts: Map<LoopPhase, number>,
  startedAt: number | undefined,
): LoopStep {
  const attempt = (counts.get(phase) ?? 0) + 1;
  counts.set(phase, attempt);
  return {
    n,
    phase,
    status: 'IN_PROGRESS',
    attempt,
    lease,
    startedAt,
    endedAt: undefined,
    exitCode: undefined,
    output: undefined,
    message: undefined,
    outputPath: undefined,
    promptPath: undefined,
    signal: undefined,
    decision: undefined,
  };
}

/** An agent gives it as its answer, an action as an entry of the context. */
function endOf(out: Value): Omit<LoopStep, 'n' | 'phase' | 'attempt' | 'lease' | 'startedAt' | 'endedAt'> {
  const inner = isMap(out) && isMap(out['last']) ? out['last'] : out;
  const said = isMap(inner) ? inner : {};
  const text = (name: string): string | undefined =>
    typeof said[name] === 'string' ? (said[name] as string) : undefined;
  const { exit_code: code } = said;
  return {
    status: said['status'] === 'SUCCEEDED' ? 'SUCCEEDED' : 'FAILED',
    exitCode: typeof code === 'number' ? code : undefined,
    output: text('output')?.slice(-SHOWN_OUTPUT),
    message: text('message'),
    outputPath: text('output_path')?.slice(0, LONGEST_PATH),
    promptPath: text('prompt_path')?.slice(0, LONGEST_PATH),
    signal: text('signal'),
    decision: text('decision'),
  };
}
