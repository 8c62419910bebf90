/** The hooks `loop`: the actions of `machines/loop.yml`. */
import { isDeepStrictEqual } from 'node:util';
import { fault } from '../../core/errors.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { LOOP_CHANNELS } from '../../flow/loop/channels.ts';
import { decide, type PhaseEnd, triedAgain } from '../../flow/loop/decide.ts';
import { placeShown, worktreeIn } from '../../flow/loop/git/worktree-state.ts';
import { type LoopInput, readLoopInput } from '../../flow/loop/loop-input.ts';
import { contextOf, FIRST, type LoopState, loopStateIn } from '../../flow/loop/loop-state.ts';
import { checkedBoxes, implementationPrompt, reviewPrompt } from '../../flow/loop/prompts.ts';
import { isPhase, iterationsOf, type LoopPhase } from '../../flow/loop/records.ts';
import { decisionOn } from '../../flow/loop/watchdog.ts';
import { fileBelow } from '../../workspace/shared-folder.ts';
import type { HookContext, HookedRun, MachineHooks } from '../machine/machine-hooks.ts';
import { hookedLoops, logLine } from './hooked-loop.ts';
import { summarized, withActionFiles } from './loop-files.ts';
import type { LoopHost } from './loop-host.ts';
import { conflictText, mergeTitle } from './merge-answer.ts';
import { folderOfRun, openPlace, placeOfRun } from './place-of-run.ts';
import { notesOf, runCommands } from './verification.ts';

/** Why a loop has failed. */
class LoopFailed extends Error {
  override readonly name = 'LoopFailed';
}

export class LoopHooks implements MachineHooks {
  readonly #host: LoopHost;

  constructor(host: LoopHost) {
    this.#host = host;
  }

  aroundRun(run: HookedRun, drive: () => Promise<unknown>): Promise<unknown> {
    return hookedLoops.run(run, drive);
  }

  onAction(_state: string, action: string, context: HookContext): Promise<ValueMap> | ValueMap {
    const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (act === undefined) throw fault('NOT_FOUND', { kind: 'action of loops', id: action });
    const acting = { context, input: inputIn(context), host: this.#host };
    const phase = PHASE_OF[action];
    if (phase !== undefined) return withActionFiles(phase, acting, () => act(acting));
    return action === 'decide' ? decideNext(acting).then((next) => summarized(acting, next)) : act(acting);
  }
}

interface Acting {
  readonly context: HookContext;
  readonly input: LoopInput;
  readonly host: LoopHost;
}

type Act = (acting: Acting) => Promise<ValueMap> | ValueMap;

const PHASE_OF: Readonly<Record<string, LoopPhase>> = { verify: 'verification', watch: 'watchdog', merge: 'merge' };
const ACTIONS: Readonly<Record<string, Act>> = { prepare, decide: decideNext, verify, watch, merge, cleanup, fail };

/** The input was checked when the run was started, where that was possible; a machine of somebody's own may say anything. */
function inputIn({ given }: HookContext): LoopInput {
  const { input, problems } = readLoopInput(given);
  if (input !== undefined) return input;
  const [only] = problems;
  throw fault(
    'INVALID_INPUT',
    { field: 'input of a loop', problem: problems.length === 1 ? only : `it has ${problems.length} problems` },
    problems.length === 1 ? {} : { hint: problems.join('\n') },
  );
}

/** Finds the workspace before anybody is asked to work in it, and makes the worktree of a run that has one. */
async function prepare({ context, input, host }: Acting): Promise<ValueMap> {
  for (const warning of readLoopInput(context['given']).warnings) logLine(`config: ${warning}`);
  const tree = await openPlace(host, input);
  if (tree !== undefined) logLine(`the worktree ${placeShown(tree)} is on ${tree.branch}, begun from ${tree.base}`);
  const folder = await folderOfRun(host, input.workspace, tree && { ...tree });
  for (const path of [input.specPath, input.planPath]) {
    if (path === undefined || (await fileBelow(folder, path)) !== undefined) continue;
    throw fault('NOT_FOUND', { kind: 'file of the workspace', id: path });
  }
  const { verify_cmds: commands } = input.config;
  if (commands.length > 0 && !host.shell) throw noShell();
  const made = tree === undefined ? {} : { worktree: { ...tree } };
  return { ...contextOf(FIRST), pauses: 0, ...made, ...promptsOf(input, FIRST) };
}

/** Between two phases: what follows the last one, and whether somebody wants the run to pause. */
async function decideNext({ context, input, host }: Acting): Promise<ValueMap> {
  const before = loopStateIn(context);
  const end = await endIn(context, input, host);
  const state = end === undefined ? before : decide(before, end, input.config);
  if (end !== undefined) logLine(`${end.phase} ${end.ok ? 'succeeded' : 'failed'}; next: ${state.next}`);
  const run = hookedLoops.getStore();
  const asked =
    state.next === 'completed' || state.next === 'failed'
      ? undefined
      : await run?.take?.(LOOP_CHANNELS.pause(run.executionId));
  const paused = asked !== undefined;
  if (paused) logLine('paused');
  const pauses = Number(context['pauses'] ?? 0) + (paused ? 1 : 0);
  // The attempt that found it: a failure that is met again in the same one, or after a crash, is the same failure.
  const failing = state.next === 'failed' ? { failing: run?.attempt ?? 1 } : {};
  const told = { ...contextOf(state), ...promptsOf(input, state), last: null, paused, pauses, ...failing };
  return changed(context, { ...told, ...(end === undefined ? {} : leftBy(context)) });
}

/** What an action gives is kept with its step: what stays as it is would be kept with each. */
function changed(context: HookContext, entries: ValueMap): ValueMap {
  return Object.fromEntries(
    Object.entries(entries).filter(([name, value]) => !isDeepStrictEqual(context[name], value)),
  );
}

/** What the phase before has committed is where the next one begins. */
function leftBy({ last, worktree }: HookContext): ValueMap {
  const moved = isMap(last) ? worktreeIn({ ...(worktree as ValueMap), commit: last['commit'] }) : undefined;
  return moved === undefined ? {} : { worktree: { ...moved } };
}

/** The folder in which the run works. */
function folderOf(context: HookContext, { workspace }: LoopInput, host: LoopHost): Promise<string> {
  const { worktree = context['worktree'] as Value } = leftBy(context);
  return folderOfRun(host, workspace, worktree);
}

/** How the phase before has ended; undefined: it was decided on already. */
async function endIn(context: HookContext, input: LoopInput, host: LoopHost): Promise<PhaseEnd | undefined> {
  const { planPath } = input;
  const last = context['last'] as Value;
  if (!isMap(last) || !isPhase(last['phase'])) return undefined;
  const { phase, status, output, message } = last;
  const end = {
    phase,
    ok: status === 'SUCCEEDED',
    output: typeof output === 'string' ? output : '',
    ...(typeof message === 'string' ? { message } : {}),
  };
  if (phase !== 'implementation' || planPath === undefined) return end;
  const plan = await fileBelow(await folderOf(context, input, host), planPath);
  return plan === undefined ? end : { ...end, done: checkedBoxes(plan) };
}

/** The prompt of the phase that is next. */
function promptsOf(input: LoopInput, state: LoopState): ValueMap {
  const { next } = state;
  const { claude_timeout_sec: timeout, claude_retries: retries, claude_retry_backoff_sec: backoff } = input.config;
  if (next !== 'implementation' && next !== 'review') return { ask: null };
  return {
    ask: {
      phase: next,
      workspace: input.workspace,
      agent: next === 'review' ? input.reviewAgent : input.agent,
      prompt: next === 'review' ? reviewPrompt(input, state) : implementationPrompt(input, state),
      timeout_ms: timeout * 1000,
      retries,
      backoff_ms: backoff * 1000,
    },
  };
}

async function verify({ context, input, host }: Acting): Promise<ValueMap> {
  const { verify_cmds: commands, verify_timeout_sec: timeout } = input.config;
  if (commands.length > 0 && !host.shell) throw noShell();
  const folder = await folderOf(context, input, host);
  const { environment, timers } = host;
  const signal = hookedLoops.getStore()?.stop ?? new AbortController().signal;
  const timeoutMs = timeout * 1000;
  const reports = await runCommands(commands, { folder, environment, timers, timeoutMs, signal, onLine: logLine });
  const failed = reports.find(({ ok }) => !ok);
  return last('verification', failed === undefined, {
    exit_code: failed === undefined ? 0 : failed.exitCode,
    output: notesOf(reports),
    commands: reports.map(({ command, exitCode, how }) => ({ command, exit_code: exitCode, how })),
    ...(failed === undefined ? {} : { message: `${failed.command}: ${failed.how}` }),
  });
}

function watch({ context }: Acting): ValueMap {
  const { signal, rewrites } = loopStateIn(context);
  const decision = signal === undefined ? 'continue' : decisionOn(signal, rewrites);
  logLine(`watchdog: ${signal ?? 'nothing'}: ${decision}`);
  return last('watchdog', decision !== 'fail', { exit_code: 0, output: '', signal: signal ?? null, decision });
}

/** In a plain folder the work stands where it was done. Of a worktree all that a verification has left belongs to what is merged: so it was verified. */
async function merge({ context, host }: Acting): Promise<ValueMap> {
  const tree = worktreeIn(context['worktree'] as Value);
  const strategy = tree?.strategy ?? 'none';
  const nothing = { exit_code: 0, output: `nothing to merge: the strategy is ${strategy}` };
  if (tree === undefined) return last('merge', true, nothing);
  const run = hookedLoops.getStore();
  const signal = run?.stop ?? new AbortController().signal;
  try {
    const records = loopStateIn(context).records;
    const text = `Verified after implementation ${iterationsOf(records)}\n\nRun: ${run?.executionId ?? 'unknown'}`;
    const place = placeOfRun(host, tree);
    const commit = await place.commit(text, signal);
    const message = `${mergeTitle(strategy, tree)}\n\nRun: ${run?.executionId ?? 'unknown'}`;
    const merged = await place.merge({ strategy, message, commit, signal });
    switch (merged.outcome) {
      case 'none':
        return last('merge', true, { ...nothing, commit });
      case 'conflict': {
        const problem = conflictText(tree, merged.files);
        logLine(`merge: ${problem}`);
        return last('merge', false, { exit_code: 1, output: problem, message: problem, commit });
      }
      case 'merged':
      case 'unchanged': {
        const output = `${merged.outcome === 'merged' ? 'merged into' : 'nothing new for'} ${merged.target}: ${merged.commit}`;
        logLine(`merge: ${output}`);
        return { ...last('merge', true, { exit_code: 0, output, commit }), merged: merged.commit };
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    logLine(`merge: ${message}`);
    return last('merge', false, { exit_code: null, output: message, message });
  }
}

/** After the end of a run that has completed. Whatever comes of it, the run has completed. */
async function cleanup({ context, input, host }: Acting): Promise<ValueMap> {
  const tree = worktreeIn(context['worktree'] as Value);
  if (tree === undefined || !input.config.worktree_cleanup) return { cleanup: { status: 'skipped' } };
  try {
    await placeOfRun(host, tree).remove();
    logLine(`the worktree ${placeShown(tree)} was removed; its branch ${tree.branch} is kept`);
    return { cleanup: { status: 'cleaned' } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    logLine(`the worktree ${placeShown(tree)} could not be removed: ${message}`);
    return { cleanup: { status: 'failed', message: message.slice(0, 500) } };
  }
}

/**
 * Ends the run. Whoever tries it again finds it here: its tries begin anew then, which a crash never does to them.
 */
function fail({ context }: Acting): ValueMap {
  const state = loopStateIn(context);
  const run = hookedLoops.getStore();
  const isAgain = run?.attempt !== undefined && run.attempt > Number(context['failing'] ?? 0) && run.tries === 1;
  if (!isAgain) throw new LoopFailed(state.failure ?? 'it failed');
  logLine(`tried again after: ${state.failure ?? 'it failed'}`);
  const failures = Array.isArray(context['failures']) ? (context['failures'] as readonly Value[]) : [];
  return { ...contextOf(triedAgain(state)), failures: [...failures, state.failure ?? 'it failed'], ask: null };
}

const last = (phase: string, ok: boolean, more: ValueMap): ValueMap => ({
  last: { phase, status: ok ? 'SUCCEEDED' : 'FAILED', ...more },
});

function noShell(): Error {
  return fault(
    'FORBIDDEN',
    { problem: 'this worker runs no commands, and the loop is verified by some' },
    { hint: 'Allow it with --allow shell on the worker, or take verify_cmds out of the config.' },
  );
}
