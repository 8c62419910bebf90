/** The default handler of runs: the agent behind a gateway. */
import { isMap, type ValueMap } from '../../../app/library/gateways.ts';
import { usualSecrets } from '../../../app/library/run-pools.ts';
import { type GatewayEvent, type GatewayResult, type GatewaySession, ResultOfEvents } from '../gateway-shapes.ts';
import type { AgentGateway } from '../gateways.ts';
import { type RunAnswer, RunFailure, type RunHandler } from './run-handler.ts';

/** What a run of an agent keeps for its next attempt, after each iteration. */
interface AgentCheckpoint {
  readonly session_id: string;
  readonly iteration: number;
  readonly tool_calls: number;
  readonly tokens: number;
}

/** What the agent said is in the log as well; beyond this the result has its end. */
const MOST_TEXT = 200_000;

/**
 * A run is a session of its own name, so that the next attempt goes on in it. Each iteration is a checkpoint; the next attempt asks for what is
 * left of the iterations, and says where it stands. The request has the same key in each attempt.
 */
export function gatewayHandler(gateway: AgentGateway): RunHandler {
  return async (runId, workspaceDir, context) => {
    const { run, checkpoint, signal, attempt } = context;
    const before = readCheckpoint(checkpoint);
    const most = run.max_iterations ?? undefined;
    if (most !== undefined && before !== undefined && before.iteration >= most) throw tooMany(most);
    const session = await sessionOf(gateway, before?.session_id ?? runId, runId, workspaceDir);
    const tally = new Tally(session, before);
    const stop = new AbortController();
    const request = {
      user_input: run.last_job_prompt,
      ...(most === undefined ? {} : { max_iterations: most - tally.iteration }),
      metadata: { run_id: runId, attempt, ...(before === undefined ? {} : { resume: { ...before } }) },
    };
    const result = new ResultOfEvents(session.session_id);
    const until = AbortSignal.any([signal, stop.signal]);
    try {
      for await (const event of gateway.execute(session, request, { signal: until, key: `run:${runId}` })) {
        result.take(event);
        context.emit(event);
        if (!tally.take(event)) continue;
        await context.saveCheckpoint(tally.checkpoint);
        if (most !== undefined && tally.iteration > most) throw tooMany(most);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RunFailure) throw error;
      throw gatewayError(error);
    } finally {
      stop.abort();
    }
    signal.throwIfAborted();
    return answerOf(result.end(), tally);
  };
}

/** Iterations, calls and tokens of all attempts together. */
class Tally {
  readonly #session: string;
  #iteration: number;
  #calls: number;
  #tokens: number;

  constructor({ session_id }: GatewaySession, before: AgentCheckpoint | undefined) {
    this.#session = session_id;
    this.#iteration = before?.iteration ?? 0;
    this.#calls = before?.tool_calls ?? 0;
    this.#tokens = before?.tokens ?? 0;
  }

  get iteration(): number {
    return this.#iteration;
  }

  get checkpoint(): AgentCheckpoint {
    const { iteration } = this;
    return { session_id: this.#session, iteration, tool_calls: this.#calls, tokens: this.#tokens };
  }

  /** Whether an iteration has ended with it. */
  take({ type, data = {} }: GatewayEvent): boolean {
    if (type === 'tool_call') this.#calls++;
    if (type !== 'iteration_end') return false;
    // Counted here: some gateways count those of a request, others those of a session.
    this.#iteration++;
    const { tokens_used: tokens } = data;
    if (typeof tokens === 'number' && tokens > 0) this.#tokens += tokens;
    return true;
  }
}

async function sessionOf(
  gateway: AgentGateway,
  session_id: string,
  runId: string,
  workspace_dir: string,
): Promise<GatewaySession> {
  const found = await gateway.resumeSession(session_id).catch(() => undefined);
  if (found !== undefined) return found;
  try {
    const workspace = workspace_dir === '' ? {} : { workspace_dir };
    return await gateway.createSession({ user_id: `worker_${runId}`, ...workspace, session_id });
  } catch (error) {
    throw gatewayError(error);
  }
}

function answerOf(
  { success, error, response_text, trace_id, metadata }: GatewayResult,
  { checkpoint: { session_id, iteration, tool_calls, tokens } }: Tally,
): RunAnswer {
  if (!success) throw gatewayError(error ?? 'the gateway said that it failed');
  const text = response_text.length > MOST_TEXT ? response_text.slice(-MOST_TEXT).toWellFormed() : response_text;
  const result = { session_id, response_text: text, iterations: iteration, tool_calls, tokens, trace_id, metadata };
  return { success, result: usualSecrets().hideIn(result) };
}

function readCheckpoint(value: unknown): AgentCheckpoint | undefined {
  const { session_id, iteration, tool_calls, tokens } = isMap(value) ? value : ({} as ValueMap);
  if (typeof session_id !== 'string' || typeof iteration !== 'number') return undefined;
  return { session_id, iteration, tool_calls: countOf(tool_calls), tokens: countOf(tokens) };
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function gatewayError(cause: unknown): RunFailure {
  const words = cause instanceof Error ? cause.message : String(cause);
  return new RunFailure('gateway_error', usualSecrets().hide(words));
}

function tooMany(most: number): RunFailure {
  return new RunFailure('max_iterations', `it has used its ${most} iterations and is not done`);
}
