/** A server of MCP that is a program: one JSON message a line, on its stdin and stdout. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { endGroup, signalGroup } from '../../handlers/process-group.ts';
import { Tail } from '../../handlers/tail.ts';
import { reportGroupGone, startGroup } from '../../runner/child/group-reports.ts';
import { LineSplitter } from '../lines.ts';

export interface ServerProgram {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const BOUNDS = { line: 4 * 1024 * 1024, total: Number.POSITIVE_INFINITY };
const KEPT_STDERR = 16 * 1024;
/** A server ends when its stdin does. One that does not is told to, and then killed. */
const TERM_MS = 1000;
const KILL_MS = 3000;
const LAST_WORDS_MS = 100;

/** As command agents run: without a shell, in a process group of its own, of which nothing is left when it is closed. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #program: ServerProgram;
  readonly #stderr = new Tail(KEPT_STDERR);
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #closing: Promise<void> | undefined;

  constructor(program: ServerProgram) {
    this.#program = program;
  }

  /** The end of what it has said on stderr. */
  get said(): string {
    return this.#stderr.text().trim();
  }

  async start(): Promise<void> {
    const { argv, cwd, env } = this.#program;
    const [file = '', ...args] = argv;
    const child = startGroup(env, (own) =>
      spawn(file, args, { cwd, env: own, detached: true, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
    const group = child.pid;
    if (group === undefined) throw (await once(child, 'error'))[0];
    this.#child = child;
    const lines = new LineSplitter(
      BOUNDS,
      (line) => this.#line(line),
      (what) => this.#refuse(what),
    );
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk)).on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk)).on('error', () => {});
    child.stdin.on('error', () => {});
    child.on('exit', () => void this.close());
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    try {
      this.onmessage?.(JSON.parse(line) as JSONRPCMessage);
    } catch {
      // Some print words for people there.
      this.onerror?.(new Error('it said a line that is not JSON'));
    }
  }

  #refuse(what: string): void {
    this.onerror?.(new Error(what));
    void this.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#closing !== undefined) throw new Error('the server has ended');
    if (child.stdin.write(`${JSON.stringify(message)}\n`)) return;
    await Promise.race([once(child.stdin, 'drain'), once(child, 'exit')]);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return this.onclose?.();
    const group = child.pid;
    const closed = new Promise((go) => child.once('close', go));
    child.stdin.end();
    const began = performance.now();
    let isTold = false;
    const patient = (): boolean => {
      const ms = performance.now() - began;
      if (ms > TERM_MS && !isTold) {
        isTold = true;
        signalGroup(group, 'SIGTERM');
      }
      return ms < KILL_MS;
    };
    if (await endGroup(group, patient)) reportGroupGone(group);
    // Its last words may be on their way. One that left the group may hold the pipes open for ever.
    await Promise.race([closed, delay(LAST_WORDS_MS)]);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.onclose?.();
  }
}
