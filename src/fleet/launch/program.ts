/**
 * Runs the program of a launcher: something that starts a worker elsewhere and ends.
 *
 *   running ──exit 0──> output (until it is quiet) ──> ended: its group is left alone, for it may be what was to be started
 *      │  └──exit n───> KILL to the group ──> failed, with the end of its output
 *      └──deadline──> TERM to the group ──killMs──> KILL ──> failed
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { failure } from '../../worker/handlers/failure.ts';
import { endGroup, signalGroup } from '../../worker/handlers/process-group.ts';
import { Tail } from '../../worker/handlers/tail.ts';
import { redact } from './secrecy.ts';

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: string | undefined;
}

export interface ProgramOptions {
  readonly signal: AbortSignal;
  /** Does not appear in what the program is said to have written. */
  readonly ticket: string;
  /** Between SIGTERM and SIGKILL. */
  readonly killMs: number;
}

const KEPT = 8 * 1024;
const ERROR_LINES = 10;
const LOOK_MS = 10;
/** What has exited may have children that hold its pipes open; the last lines of the program itself are there by then. */
const QUIET_MS = 100;
/** A process that hangs in the kernel does not die. */
const UNDYING_MS = 1_000;

/** Its standard output, when it has ended with 0. */
export async function runProgram(program: Program, options: ProgramOptions): Promise<string> {
  const { signal, ticket } = options;
  signal.throwIfAborted();
  const child = start(program);
  const group = child.pid;
  if (group === undefined) throw notStarted(program, (await once(child, 'error'))[0]);
  const outputs = [new Output(child.stdout), new Output(child.stderr)] as const;
  // A program need not read its input to the end.
  child.stdin?.on('error', () => {}).end(program.stdin);
  const end = await endOf(child, group, options);
  if (end.code !== 0) await endGroup(group, () => false);
  while (outputs.some((output) => !output.quiet)) await delay(LOOK_MS);
  const [stdout, stderr] = outputs.map((output) => output.close());
  if (end.code === 0) return redact(stdout?.text() ?? '', ticket);
  const said = (stderr?.lines(ERROR_LINES) ?? []).map((line) => `\n${redact(line, ticket)}`).join('');
  throw failure(end.code === 'late' ? 'TIMEOUT' : 'EXIT', `${program.file} ${wordsOf(end)}.${said}`);
}

type Started = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

function start({ file, args, env, stdin }: Program): Started {
  const from = stdin === undefined ? 'ignore' : 'pipe';
  return spawn(file, args, { cwd: '/', env: { ...env }, detached: true, stdio: [from, 'pipe', 'pipe'] }) as Started;
}

interface End {
  readonly code: number | 'signal' | 'late';
  readonly signal?: NodeJS.Signals | null;
}

async function endOf(child: Started, group: number, { signal, killMs }: ProgramOptions): Promise<End> {
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const over = new AbortController();
  const ladder = async (): Promise<End> => {
    await aborted(signal, over.signal);
    signalGroup(group, 'SIGTERM');
    await delay(killMs, undefined, { signal: over.signal });
    signalGroup(group, 'SIGKILL');
    await delay(UNDYING_MS, undefined, { signal: over.signal });
    return { code: 'late' };
  };
  const late = ladder();
  late.catch(() => {});
  const ended = exit.then(([code, by]): End => ({ code: code ?? 'signal', signal: by }));
  const end = await Promise.race([ended, late]);
  over.abort();
  // It counts as late even if it has ended well meanwhile: the caller has given it up.
  return signal.aborted ? { code: 'late' } : end;
}

function aborted(signal: AbortSignal, unless: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: unless });
    unless.addEventListener('abort', () => reject(unless.reason), { once: true });
  });
}

function wordsOf({ code, signal }: End): string {
  if (code === 'late') return 'did not end in time, and was ended';
  return code === 'signal' ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${code}`;
}

function notStarted({ file }: Program, error: unknown): Error {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return failure('NOT_STARTED', `${file} could not be started (${code}).`);
}

/** The end of a stream, read as fast as it comes, so that the program never waits. */
class Output {
  readonly #from: Readable;
  readonly #tail = new Tail(KEPT);
  #lastAt = performance.now();

  constructor(from: Readable) {
    this.#from = from;
    from
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        this.#lastAt = performance.now();
        this.#tail.push(chunk);
      });
  }

  get quiet(): boolean {
    return this.#from.readableEnded || this.#from.destroyed || performance.now() - this.#lastAt > QUIET_MS;
  }

  close(): Tail {
    this.#from.destroy();
    return this.#tail;
  }
}
