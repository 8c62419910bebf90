import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { RedactedStream } from '../redaction/redactor.ts';
import { reportGroupGone, startGroup } from '../runner/child/group-reports.ts';
import { endGroup, signalGroup } from './process-group.ts';
import type { Tail } from './tail.ts';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: string | undefined;
  /** Open files that it gets as its descriptors from 3 on. */
  readonly fds?: readonly number[] | undefined;
}

/** The targets of a stream: all of it goes to `to`, and its end to `tail`. */
export interface OutputSink {
  readonly to: Writable;
  readonly tail: Tail;
  /** Takes secrets out of it. */
  readonly hides?: RedactedStream | undefined;
}

export interface CommandOptions {
  readonly stdout: OutputSink;
  readonly stderr: OutputSink;
  readonly signal: AbortSignal;
  /** Between SIGTERM and SIGKILL. */
  readonly killMs: number;
}

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Processes that a command leaves running may finish a last write, such as `tee` behind a pipe. Then they are killed. */
const LEFTOVER_MS = 200;
/** A process that left the group may hold the pipes open for ever. The worker ends it, but only after this function returns. */
const QUIET_MS = 300;
const LOOK_MS = 25;

/**
 * Runs a command in a process group of its own until no process of the group is left. Rejects when it cannot be started.
 *
 *   running ──exit──> leftovers (until the pipes close, at most 200 ms) ──KILL──> output (until it is quiet) ──> ended
 *      └──stop──> TERM to the group ──2 s, or the group is empty──> KILL ────────────┘
 */
export async function runCommand(command: Command, options: CommandOptions): Promise<CommandEnd> {
  const child = start(command);
  const group = child.pid;
  if (group === undefined) throw (await once(child, 'error'))[0];
  let closed = false;
  const closing = once(child, 'close').then(() => {
    closed = true;
  });
  const relays = [new Relay(child.stdout, options.stdout), new Relay(child.stderr, options.stderr)];
  // A command need not read its input to the end.
  child.stdin?.on('error', () => {}).end(command.stdin);
  const ladder = new StopLadder(group, options);
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  const exitedAt = performance.now();
  const patient = (): boolean => ladder.patient ?? (!closed && performance.now() < exitedAt + LEFTOVER_MS);
  if (await endGroup(group, patient)) reportGroupGone(group);
  ladder.end();
  while (!closed && !relays.every((relay) => relay.quietFor(QUIET_MS))) await Promise.race([closing, delay(LOOK_MS)]);
  for (const relay of relays) relay.end();
  return { exitCode, signal };
}

type Started = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

function start({ file, args, cwd, env, stdin, fds = [] }: Command): Started {
  const from = stdin === undefined ? 'ignore' : 'pipe';
  return startGroup(
    env,
    (own) => spawn(file, args, { cwd, env: own, detached: true, stdio: [from, 'pipe', 'pipe', ...fds] }) as Started,
  );
}

class StopLadder {
  readonly #signal: AbortSignal;
  readonly #stop: () => void;
  #kill: NodeJS.Timeout | undefined;
  #patientUntil: number | undefined;

  constructor(group: number, { signal, killMs }: CommandOptions) {
    this.#signal = signal;
    this.#stop = () => {
      signalGroup(group, 'SIGTERM');
      this.#patientUntil = performance.now() + killMs;
      this.#kill = setTimeout(() => signalGroup(group, 'SIGKILL'), killMs);
    };
    if (signal.aborted) this.#stop();
    else signal.addEventListener('abort', this.#stop, { once: true });
  }

  /** Whether the group has time left after SIGTERM; undefined: it was not sent. */
  get patient(): boolean | undefined {
    return this.#patientUntil === undefined ? undefined : performance.now() < this.#patientUntil;
  }

  end(): void {
    clearTimeout(this.#kill);
    this.#signal.removeEventListener('abort', this.#stop);
  }
}

const NEWLINE = 0x0a;

/** Forwards a stream as fast as its target takes it; the command waits meanwhile. */
class Relay {
  readonly #from: Readable;
  readonly #sink: OutputSink;
  #lastAt = performance.now();
  #held = false;
  #lastByte = NEWLINE;

  constructor(from: Readable, sink: OutputSink) {
    this.#from = from;
    this.#sink = sink;
    from.on('data', (chunk: Buffer) => this.#take(chunk)).on('error', () => {});
  }

  quietFor(ms: number): boolean {
    return !this.#held && performance.now() - this.#lastAt > ms;
  }

  end(): void {
    this.#from.destroy();
    const rest = this.#sink.hides?.end();
    if (rest !== undefined && rest.length > 0) this.#pass(rest);
    // The next line in this stream may be another task's.
    if (this.#lastByte !== NEWLINE) this.#sink.to.write('\n');
  }

  #take(given: Buffer): void {
    this.#lastAt = performance.now();
    const chunk = this.#sink.hides?.push(given) ?? given;
    if (chunk.length === 0 || this.#pass(chunk)) return;
    const { to } = this.#sink;
    this.#held = true;
    this.#from.pause();
    to.once('drain', () => {
      this.#held = false;
      this.#lastAt = performance.now();
      this.#from.resume();
    });
  }

  /** False: the target wants no more for now. */
  #pass(chunk: Buffer): boolean {
    const { to, tail } = this.#sink;
    this.#lastByte = chunk.at(-1) ?? this.#lastByte;
    tail.push(chunk);
    return to.write(chunk);
  }
}
