/** The ways of a state to call its agent: once, again, several times at once, or by a vote. */
import { pause } from '../../core/pause.ts';
import type { World } from '../../core/world.ts';
import { type Execution, retryDelayMs } from '../../flow/agent/execution.ts';
import { type AgentResult, payloadOf } from '../../flow/agent/result.ts';
import { answerRules, Ballot, candidateOf } from '../../flow/agent/voting.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';

export interface ExecutionSurroundings {
  readonly world: Pick<World, 'timers' | 'random'>;
  readonly metadata: ValueMap;
  readonly signal: AbortSignal;
}

type Run = () => Promise<AgentResult>;

/** Calls as `execution` says. Rejects with what the last call threw, or with the reason of the signal. */
export function executeAgent(execution: Execution, run: Run, around: ExecutionSurroundings): Promise<AgentResult> {
  switch (execution.type) {
    case 'default':
      return run();
    case 'retry':
      return retried(execution, run, around);
    case 'parallel':
      return sampled(execution.samples, run, around);
    case 'mdap_voting':
      return voted(execution, run, around);
  }
}

/** What a call throws is always tried again; an error that it gives back only if it may pass. */
async function retried(
  execution: Execution & { readonly type: 'retry' },
  run: Run,
  { world, signal }: ExecutionSurroundings,
): Promise<AgentResult> {
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt === execution.backoffs.length;
    const { result, thrown } = await attempted(run, signal);
    if (result !== undefined) {
      const isEmpty = execution.retryOnEmpty && result.error === undefined && isNothing(payloadOf(result));
      if (isEmpty && isLast) return { ...result, error: EMPTY, finish_reason: 'error' };
      if (!isEmpty && (result.error === undefined || !result.error.retryable || isLast)) return result;
    } else if (isLast) throw thrown;
    const ms = retryDelayMs(execution, attempt, result?.rate_limit?.retry_after, world.random());
    await pause(world.timers, ms, { signal });
    signal.throwIfAborted();
  }
}

const EMPTY = { code: 'invalid_output', type: 'AgentError', message: 'the answer is empty', retryable: true };

const isNothing = (payload: ValueMap): boolean =>
  Object.values(payload).every((value) => value === undefined || value === null || value === '');

async function attempted(run: Run, signal: AbortSignal): Promise<{ result?: AgentResult; thrown?: unknown }> {
  try {
    return { result: await run() };
  } catch (thrown) {
    // A run that was told to stop is not tried again, and a prompt that cannot be rendered never can.
    signal.throwIfAborted();
    if (thrown instanceof StateError) throw thrown;
    return { thrown };
  }
}

/** The answers of those that succeeded, in the order of the calls. If none did, the last error is the error of all. */
async function sampled(samples: number, run: Run, { signal }: ExecutionSurroundings): Promise<AgentResult> {
  const all = await Promise.all(Array.from({ length: samples }, () => attempted(run, signal)));
  const good = all.flatMap(({ result }) => (result === undefined || result.error !== undefined ? [] : [result]));
  if (good.length > 0) return { output: { results: good.map(payloadOf), count: good.length }, finish_reason: 'stop' };
  const failed = all.findLast(({ result }) => result !== undefined)?.result;
  if (failed !== undefined) return failed;
  throw all.at(-1)?.thrown;
}

/** One call after the other, until one candidate is far enough ahead. A call that fails casts no vote. */
async function voted(
  { margin, candidates, maxResponseTokens }: Execution & { readonly type: 'mdap_voting' },
  run: Run,
  { metadata, signal }: ExecutionSurroundings,
): Promise<AgentResult> {
  const rules = answerRules(metadata, maxResponseTokens);
  const ballot = new Ballot(margin);
  let samples = 0;
  const ended = (output: ValueMap | undefined): AgentResult => ({
    ...(output === undefined ? {} : { output }),
    metadata: { samples, red_flags: ballot.flags },
  });
  while (samples < candidates) {
    samples++;
    const { result } = await attempted(run, signal);
    if (result === undefined) continue;
    const winner = ballot.vote(result.error === undefined ? candidateOf(rules, result) : 'format_error');
    if (winner !== undefined) return ended(winner);
  }
  return ended(ballot.leader);
}
