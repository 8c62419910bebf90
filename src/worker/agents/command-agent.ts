/** An agent that is a program: it gets its prompt on stdin or as an argument, and says its answer as text or in JSON lines. */
import { stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Timers } from '../../core/world.ts';
import { jsonIn } from '../../flow/agent/answer-json.ts';
import type { AgentError, AgentResult } from '../../flow/agent/result.ts';
import { isMap, type ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { type CommandEnd, runCommand } from '../handlers/command.ts';
import { Tail } from '../handlers/tail.ts';
import { LineSplitter } from './lines.ts';
import { withinMs } from './within.ts';

/** One run of a program. */
export interface CommandRun {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | undefined;
  /** 0: as long as the state allows. */
  readonly timeoutMs: number;
}

/** What a program has said. */
export interface CommandOutput {
  readonly text: string;
  readonly events: readonly ValueMap[];
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** Whoever wants to hear of it while it works. */
interface Told {
  readonly onEvent?: ((event: ValueMap) => void) | undefined;
  readonly onText?: ((line: string) => void) | undefined;
}

const BOUNDS = { line: 4 * 1024 * 1024, total: 32 * 1024 * 1024 };
/** All lines that are JSON, until there are more than anybody looks at. The newest are kept: the answer comes last. */
const MOST_EVENTS = 10_000;
const KEPT_STDERR = 16 * 1024;
const KEPT_TEXT = 4 * 1024 * 1024;
const KILL_MS = 2_000;

/**
 * Runs it to its end. When the signal is aborted, or the time is over, its whole process group is ended before this rejects. What it
 * cannot start, or what says too much, is an error of the agent.
 */
export async function runAgentCommand(
  { argv, cwd, env, stdin, timeoutMs }: CommandRun,
  { timers, signal, onEvent, onText }: { timers: Timers; signal: AbortSignal } & Pick<Told, 'onEvent' | 'onText'>,
): Promise<CommandOutput | AgentError> {
  const [file = '', ...args] = argv;
  if (!(await isFolder(cwd))) return refused('NoFolder', `there is no folder ${JSON.stringify(cwd)}`, false);
  const over = new AbortController();
  const events: ValueMap[] = [];
  const lines = new LineSplitter(
    BOUNDS,
    (line) => {
      onText?.(line);
      const event = eventIn(line);
      if (event === undefined) return;
      if (events.length === MOST_EVENTS) events.shift();
      events.push(event);
      onEvent?.(event);
    },
    (what) => over.abort(new Error(what)),
  );
  const stdout = { to: lines.writable(), tail: new Tail(KEPT_TEXT) };
  const stderr = { to: new Writable({ write: (_chunk, _encoding, done) => done() }), tail: new Tail(KEPT_STDERR) };
  let running: Promise<CommandEnd> | undefined;
  try {
    const end = await withinMs(timers, timeoutMs, AbortSignal.any([signal, over.signal]), (own) => {
      running = runCommand({ file, args, cwd, env, stdin }, { stdout, stderr, signal: own, killMs: KILL_MS });
      return running;
    });
    lines.end();
    const { exitCode } = end;
    return { text: stdout.tail.text(), events, exitCode, signal: end.signal, stderr: stderr.tail.text() };
  } catch (error) {
    // Nothing of it is left when the caller hears of it.
    await running?.catch(() => {});
    signal.throwIfAborted();
    if (over.signal.aborted) return refused('OutputTooLarge', (over.signal.reason as Error).message, false);
    if (error instanceof StateError) return { ...refused('TimeoutError', error.message, true), code: 'timeout' };
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return refused('NotStarted', `${JSON.stringify(file)} could not be started (${code})`, false);
  }
}

/** A line that is a JSON object; others are words for people. */
function eventIn(line: string): ValueMap | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  const value = jsonIn(line);
  return isMap(value) ? value : undefined;
}

function refused(type: string, message: string, retryable: boolean): AgentError {
  return { code: 'server_error', type, message, retryable };
}

/** The error of a program that ended badly, with the end of what it said on stderr. */
export function exitError(program: string, { exitCode, signal, stderr }: CommandOutput): AgentError {
  const how = exitCode === null ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${exitCode}`;
  const said = stderr.trim();
  // 75 is what sendmail made of "try again later".
  const retryable = exitCode === null || exitCode === 75;
  const error = refused('ProcessError', `${program} ${how}${said === '' ? '' : `: ${said.slice(-2000)}`}`, retryable);
  return exitCode === null ? error : { ...error, exit_code: exitCode };
}

export const failedResult = (error: AgentError): AgentResult => ({ error, finish_reason: 'error' });

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
