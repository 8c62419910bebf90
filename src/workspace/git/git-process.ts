/**
 * One git and all that it starts, as a process group that ends with the worker: a shell in the group reads a pipe that the worker holds, and kills the
 * group when the pipe closes. So nothing writes into a cache once its worker is gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable, type Writable } from 'node:stream';
import type { Timers } from '../../core/world.ts';

export interface GitProcess {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: GitInput | undefined;
  readonly maxOutput: number;
  /** No file that it writes may be larger. */
  readonly maxFileBytes: number;
  readonly timeoutMs: number;
  readonly timers: Timers;
  readonly signal?: AbortSignal | undefined;
}

/** What it reads: this, or a file from this byte on. */
export type GitInput = string | Uint8Array | { readonly file: string; readonly start: number };

export interface GitEnd {
  readonly code: number | null;
  readonly killed: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Why it was stopped, if it was. */
  readonly stopped: 'output' | 'timeout' | 'aborted' | undefined;
}

/** Bounds of POSIX shells are counted in blocks of 512 bytes. */
const BLOCK = 512;
const TERM_MS = 2000;
const MOST_STDERR = 64 * 1024;
const SCRIPT = `
ulimit -c 0; ulimit -f "$1" || exit 125; shift
( read -r _ <&3; kill -KILL -$$ ) </dev/null >/dev/null 2>&1 &
exec 3<&-
exec git "$@"`;

export async function runGitProcess(call: GitProcess): Promise<GitEnd> {
  const { args, cwd, env, input, timers, signal } = call;
  const blocks = String(Math.max(1, Math.ceil(call.maxFileBytes / BLOCK)));
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'leasehold-git', blocks, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const ended = ending(child);
  let stopped: GitEnd['stopped'];
  let cancelKill: (() => void) | undefined;
  const stop = (why: GitEnd['stopped']): void => {
    if (stopped !== undefined) return;
    stopped = why;
    signalGroup(child, 'SIGTERM');
    cancelKill = timers.after(TERM_MS, () => signalGroup(child, 'SIGKILL'));
  };
  const abort = (): void => stop('aborted');
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const cancelTimeout = timers.after(call.timeoutMs, () => stop('timeout'));
  const stdout = collect(child.stdout as Readable, call.maxOutput, () => stop('output'));
  // What it says after that is dropped: a server may say as much as it likes.
  const stderr = collect(child.stderr as Readable, MOST_STDERR, () => {});
  const life = child.stdio[3] as Writable;
  life.on('error', () => {});
  feed(child.stdin as Writable, input);
  try {
    const { code, killed } = await ended;
    return { code, killed, stdout: stdout(), stderr: stderr(), stopped };
  } finally {
    cancelTimeout();
    cancelKill?.();
    signal?.removeEventListener('abort', abort);
    life.destroy();
  }
}

/** Its own end, and that of its output; who holds the output open longer is killed. */
function ending(
  child: ChildProcess,
): Promise<{ readonly code: number | null; readonly killed: NodeJS.Signals | null }> {
  return new Promise((done, fail) => {
    child.once('error', fail);
    // The group outlives its leader by the shell at least, so its number is nobody else's.
    child.once('exit', () => signalGroup(child, 'SIGKILL'));
    child.once('close', (code, killed) => done({ code, killed }));
  });
}

function feed(to: Writable, input: GitInput | undefined): void {
  // It need not read its input to the end.
  to.on('error', () => {});
  if (typeof input !== 'object' || input instanceof Uint8Array) to.end(input);
  else pipeline(createReadStream(input.file, { start: input.start }), to, () => {});
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}

function collect(from: Readable, most: number, over: () => void): () => Buffer {
  const chunks: Buffer[] = [];
  let size = 0;
  from.on('data', (chunk: Buffer) => {
    const room = most - size;
    size += chunk.length;
    if (room > 0) chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    if (size > most) over();
  });
  from.on('error', () => {});
  return () => Buffer.concat(chunks);
}
