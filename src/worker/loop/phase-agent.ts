/**
 * The agent of a phase: it asks the one that the run has brought, in the folder of the workspace, until it answers or its tries are over. It never
 * fails: how it ended is its answer, so that the loop decides what follows.
 */
import { pause } from '../../core/pause.ts';
import type { World } from '../../core/world.ts';
import { type AgentError, type AgentResult, totalCost } from '../../flow/agent/result.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { worktreeIn } from '../../flow/loop/git/worktree-state.ts';
import { loopStateIn } from '../../flow/loop/loop-state.ts';
import { wholePrompt } from '../../flow/loop/prompts.ts';
import { nextAttempt } from '../../flow/loop/records.ts';
import { type AgentFailure, retryDelay, type Tried, triedAgain } from '../../flow/loop/retry.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import type { AgentExecutor, CallOptions } from '../agents/executor.ts';
import { withinMs } from '../agents/within.ts';
import { hookedLoops, logLine } from './hooked-loop.ts';
import { withFiles } from './loop-files.ts';
import type { LoopHost } from './loop-host.ts';
import { folderOfRun, placeOfRun } from './place-of-run.ts';

export interface PhaseAgentDeps {
  readonly host: LoopHost;
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** The agent of a run, whose programs run in this folder. */
  readonly executor: (agent: string | ValueMap, folder: string) => Promise<AgentExecutor>;
}

/** The input of a phase, as `machines/loop.yml` gives it. */
interface PhaseInput {
  readonly phase: string;
  readonly workspace: string;
  readonly agent: string | ValueMap;
  readonly prompt: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly backoffMs: number;
}

/** A function may pass its signal by. */
const ENDING_MS = 5000;
/** What is kept of what an agent said: a journal holds 8 MiB, of all phases of a run. All of it is in the log. */
const KEPT_OUTPUT = 16 * 1024;

export function phaseAgent(deps: PhaseAgentDeps): AgentExecutor {
  return {
    metadata: {},
    tools: [],
    execute: (input, call) => filed(readInput(input), call, deps),
  };
}

/** Its files are written before the phase counts. */
async function filed(input: PhaseInput, call: CallOptions, deps: PhaseAgentDeps): Promise<AgentResult> {
  const { context } = call;
  const prompt = wholePrompt(input.prompt, context['given']);
  let result: AgentResult = {};
  const phase = input.phase === 'review' ? 'review' : 'implementation';
  const output = await withFiles(phase, { host: deps.host, context, prompt }, async () => {
    result = await new PhaseCall(input, call, deps).run();
    return result.output ?? {};
  });
  return { ...result, output };
}

class PhaseCall {
  readonly #input: PhaseInput;
  readonly #call: CallOptions;
  readonly #deps: PhaseAgentDeps;
  #usage: ValueMap = {};
  #cost = 0;

  constructor(input: PhaseInput, call: CallOptions, deps: PhaseAgentDeps) {
    this.#input = input;
    this.#call = call;
    this.#deps = deps;
  }

  async run(): Promise<AgentResult> {
    const { retries, backoffMs } = this.#input;
    const { signal } = this.#call;
    let tried: Tried = { transient: 0, others: 0 };
    for (let tries = 1; ; tries++) {
      const { error, ...result } = await this.#ask(tries);
      if (error === undefined) return this.#committed(result, tries);
      const failure = failureOf(error);
      const delay = retryDelay(failure, tried, { retries, backoffMs });
      logLine(`the agent failed: ${error.type}: ${error.message}`);
      if (delay === undefined) return this.#ended(result, { ok: false, tries, error });
      tried = triedAgain(failure, tried);
      await pause(this.#deps.world.timers, delay, { signal });
      signal.throwIfAborted();
    }
  }

  async #ask(tries: number): Promise<AgentResult> {
    const { phase, workspace, agent, timeoutMs } = this.#input;
    const { host, world, executor } = this.#deps;
    const { signal, key, context } = this.#call;
    const prompt = wholePrompt(this.#input.prompt, context['given']);
    let running: Promise<AgentResult> | undefined;
    try {
      const folder = await folderOfRun(host, workspace, context['worktree'] as Value, signal);
      const asked = await executor(agent, folder);
      const result = await withinMs(world.timers, timeoutMs, signal, (own) => {
        running = asked.execute(
          { task: prompt, prompt, phase, workspace: folder },
          { ...this.#call, signal: own, onText: logLine, key: tries === 1 ? key : `${key}/${tries}` },
        );
        return running;
      });
      this.#count(result);
      return result;
    } catch (error) {
      // A program takes a moment to end, and the next one works in the same folder: also after a cancel, when the next one is another run.
      await this.#gone(running);
      signal.throwIfAborted();
      if (error instanceof StateError && error.type === 'TimeoutError')
        return { error: { code: 'timeout', type: error.type, message: error.message, retryable: true } };
      return { error: thrown(error) };
    }
  }

  /** What the agent has changed is a commit before its phase counts: whoever goes on finds it on the branch. */
  async #committed(result: AgentResult, tries: number): Promise<AgentResult> {
    const { context, signal } = this.#call;
    const tree = worktreeIn(context['worktree'] as Value);
    if (tree === undefined) return this.#ended(result, { ok: true, tries });
    try {
      const { phase } = this.#input;
      const n = nextAttempt(loopStateIn(context).records, phase === 'review' ? 'review' : 'implementation');
      const title = `${phase === 'review' ? 'Review' : 'Implementation'} ${n}`;
      const message = `${title}\n\nRun: ${hookedLoops.getStore()?.executionId ?? 'unknown'}`;
      const commit = await placeOfRun(this.#deps.host, tree).commit(message, signal);
      return this.#ended(result, { ok: true, tries, commit });
    } catch (error) {
      signal.throwIfAborted();
      return this.#ended(result, { ok: false, tries, error: thrown(error) });
    }
  }

  async #gone(running: Promise<AgentResult> | undefined): Promise<void> {
    if (running === undefined) return;
    const over = new AbortController();
    const done = running.then(
      () => over.abort(),
      () => over.abort(),
    );
    await Promise.race([done, pause(this.#deps.world.timers, ENDING_MS, { signal: over.signal })]);
  }

  #count(result: AgentResult): void {
    const names = new Set([...Object.keys(this.#usage), ...Object.keys(result.usage ?? {})]);
    const amount = (usage: unknown, name: string): number => Number((usage as ValueMap | undefined)?.[name] ?? 0);
    this.#usage = Object.fromEntries(
      [...names].map((name) => [name, amount(this.#usage, name) + amount(result.usage, name)]),
    );
    this.#cost += totalCost(result);
  }

  #ended(
    { content, output }: AgentResult,
    {
      ok,
      tries,
      error,
      commit,
    }: { readonly ok: boolean; readonly tries: number; readonly error?: AgentError; readonly commit?: string },
  ): AgentResult {
    const said = content ?? saidIn(output) ?? '';
    return {
      output: {
        status: ok ? 'SUCCEEDED' : 'FAILED',
        exit_code: ok ? 0 : (error?.exit_code ?? null),
        tries,
        output: said.slice(-KEPT_OUTPUT),
        ...(commit === undefined ? {} : { commit }),
        ...(error === undefined ? {} : { message: `${error.type}: ${error.message}` }),
      },
      ...(Object.keys(this.#usage).length === 0 ? {} : { usage: this.#usage }),
      ...(this.#cost === 0 ? {} : { cost: this.#cost }),
    };
  }
}

function readInput(input: Value): PhaseInput {
  const given = isMap(input) ? input : {};
  const { phase, workspace, agent, prompt } = given;
  const whole = (name: string): number => (Number.isSafeInteger(given[name]) ? (given[name] as number) : 0);
  if (typeof phase !== 'string' || typeof workspace !== 'string' || typeof prompt !== 'string')
    throw new StateError('ValidationError', 'a phase of a loop has "phase", "workspace", "agent" and "prompt"');
  if (typeof agent !== 'string' && !isMap(agent))
    throw new StateError('ValidationError', 'the agent of a loop is a name, or {type, ref, config}');
  const [timeoutMs, retries, backoffMs] = [whole('timeout_ms'), whole('retries'), whole('backoff_ms')];
  return { phase, workspace, agent, prompt, timeoutMs, retries, backoffMs };
}

const failureOf = ({ code, message, status_code: status }: AgentError): AgentFailure => ({ code, message, status });

function thrown(error: unknown): AgentError {
  const type = error instanceof Error ? error.name : 'Error';
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'unknown', type, message, retryable: false };
}

/** Of an agent that gives a map: what it says in it, else all of it. */
function saidIn(output: ValueMap | undefined): string | undefined {
  if (output === undefined) return undefined;
  const text = ['output', 'content', 'result', 'text']
    .map((name) => output[name])
    .find((one) => typeof one === 'string');
  return typeof text === 'string' ? text : JSON.stringify(output);
}
