import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import { STREAMS, type Stream } from '../../../core/task/log.ts';
import { WINDOW } from '../child/flow-control.ts';
import type {
  ChildOutput,
  Ending,
  FromChild,
  ModuleToLoad,
  PlainError,
  Question,
  Timeouts,
  ToChild,
} from '../child/messages.ts';
import type { LogSink } from '../runner.ts';
import { answerQuestion } from './answer-question.ts';
import { describeDeath, outcomeOfDeath, unloadable } from './child-death.ts';
import { type ChildRun, formatMs } from './child-run.ts';
import type { Guard } from './guard.ts';
import { OutputPipes } from './output-pipes.ts';
import { OutputThrottle } from './output-throttle.ts';
import { HAS_PROCESS_TABLE, type ProcessRow } from './process-table.ts';
import {
  descendants,
  isGroup,
  LEASE_MARK,
  type SweepTarget,
  sayEnded,
  signal,
  survivors,
  sweep,
  WORKER_MARK,
} from './sweep.ts';

export interface ChildOptions {
  readonly modules: readonly ModuleToLoad[];
  readonly incarnation: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execArgv: readonly string[];
  /** How long the modules may take to load. */
  readonly startMs: number;
  readonly guard: Guard;
  readonly warn: (message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

/** What the pool is told about a child. */
export interface ChildEvents {
  /** A run has ended, and the child may take another one, unless it is littered. */
  readonly onFree: (child: WarmChild, littered: boolean) => void;
  /** The child takes no more runs: it was told to end, or has ended by itself. Called once, before `gone`. */
  readonly onDoomed: (child: WarmChild, byItself: boolean) => void;
}

// The extension is taken from this file, so that the built package finds the built child.
const ENTRY = fileURLToPath(new URL(`../child/child${extname(import.meta.url)}`, import.meta.url));
/** How long an idle child may take to end by itself. */
const RETIRE_MS = 1_000;
/** How long the pipes may stay open after the last process of a task: after that only a foreign process can hold them. */
const CLOSE_MS = 500;
const LOOK_MS = 25;
const ACK = WINDOW / 8;
/** Lines of one child outside of any task that are passed on to the worker's own log. */
const MAX_STRAYS = 50;

/**
 * A child process with its modules loaded, which runs one task after the other. It leads a session and a process group.
 *
 *   starting ──ready──> idle <──taken, ended──> busy
 *       └────────────────┴──────doomed───────────┘ ──exit──> its processes are swept ──> gone
 */
export class WarmChild {
  /** The names of its handlers. Rejects when a module does not load. */
  readonly ready: Promise<readonly string[]>;
  /** Resolves when no process of it is left. */
  readonly gone: Promise<void>;
  runs = 0;
  /** Known once it is ready. */
  timeouts: Timeouts = {};
  schemas: readonly HandlerSchema[] = [];
  idleSince = 0;
  readonly #options: ChildOptions;
  readonly #events: ChildEvents;
  readonly #process: ChildProcess;
  readonly #pid: number;
  readonly #pipes: OutputPipes;
  readonly #throttle = new OutputThrottle(() => this.#resume());
  readonly #ready = Promise.withResolvers<readonly string[]>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #closed: Promise<void>;
  /** Process groups that handlers have reported, beside its own. */
  readonly #groups = new Set<number>();
  #family: readonly ProcessRow[] = [];
  #timer: NodeJS.Timeout | undefined;
  #childRun: ChildRun | undefined;
  #run = 0;
  /** The module that is being loaded. */
  #loading: string;
  #uncaught: PlainError | undefined;
  #unacknowledged = 0;
  /** The log for whose room it waits. */
  #behind: LogSink | undefined;
  #strays = 0;
  #exited = false;
  #doomed = false;

  constructor(options: ChildOptions, events: ChildEvents) {
    this.#options = options;
    this.#events = events;
    this.ready = this.#ready.promise;
    this.gone = this.#gone.promise;
    // Nobody has to wait for it.
    this.ready.catch(() => {});
    const { env, incarnation, execArgv, modules, guard } = options;
    this.#loading = modules[0]?.module ?? '';
    this.#process = fork(ENTRY, [], {
      detached: true,
      env: { ...env, [WORKER_MARK]: incarnation, [LEASE_MARK]: undefined },
      execArgv: [...execArgv],
      serialization: 'json',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#pid = this.#process.pid ?? 0;
    this.#pipes = new OutputPipes(
      this.#process,
      (stream, text) => this.#line(this.#childRun, stream, text),
      this.#throttle,
      () => this.#isBehind(),
    );
    this.#closed = new Promise((resolve) => this.#process.once('close', () => resolve()));
    this.#process.on('error', (error) => this.#faulty(error));
    if (this.#pid === 0) return;
    guard.watch(this.#pid);
    this.#process.on('message', (message) => {
      // A task can write to the channel by hand; a foreign message must not end the worker.
      if (typeof message === 'number' || (typeof message === 'object' && message !== null)) {
        this.#receive(message as FromChild);
      }
    });
    this.#process.once('exit', (code, by) => void this.#afterExit(code, by));
    this.#timer = setTimeout(() => this.#late(), options.startMs);
    this.#send({ type: 'load', modules, incarnation });
  }

  take(childRun: ChildRun): void {
    this.#childRun = childRun;
    this.#run++;
    this.runs++;
    this.#unacknowledged = 0;
    this.#behind = undefined;
    childRun.handOver((step, why) => {
      if (step === 'abort') this.#send({ type: 'abort', run: this.#run, why });
      else this.#signalAll(step);
    });
    this.#send({ type: 'job', run: this.#run, job: childRun.request });
  }

  /** Ends an idle child: it may run its exit handlers, but not for long. */
  retire(): void {
    this.#doom();
    if (this.#exited) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#signalAll('SIGKILL'), RETIRE_MS);
    this.#send({ type: 'end' });
  }

  kill(): void {
    this.#signalAll('SIGKILL');
  }

  #send(message: ToChild): void {
    // `exit` reports the end of the child; a failed send needs no second report.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  #receive(message: FromChild): void {
    if (typeof message === 'number') {
      if (message === this.#run && this.#childRun !== undefined) this.#childRun.started = true;
      return;
    }
    switch (message.type) {
      case 'loading':
        this.#loading = message.module;
        break;
      case 'ready':
        clearTimeout(this.#timer);
        this.timeouts = message.timeouts;
        this.schemas = message.schemas;
        this.#ready.resolve(message.names);
        break;
      case 'unloadable':
        this.#cannotStart(unloadable(message.module, message.problem, message.error));
        break;
      case 'output':
        this.#output(message);
        break;
      case 'ended':
        void this.#ended(message);
        break;
      case 'group':
        this.#group(message.pid, message.gone);
        break;
      case 'ask':
        void this.#answer(message.run, message.ask, message.question);
        break;
      case 'uncaught':
        this.#uncaught = message.error;
        break;
    }
  }

  async #answer(run: number, ask: number, question: Question): Promise<void> {
    const childRun = run === this.#run ? this.#childRun : undefined;
    // The run that asked is over.
    if (childRun === undefined) return;
    // Printed lines belong to the attempt, which may be about to give its lease back.
    if (question?.verb === 'turn') await this.#pipes.drain();
    const answer = await answerQuestion(question, childRun.sessions);
    this.#send({ type: 'answer', ask, answer });
  }

  #output({ run, lines, cost, dropped, progress }: ChildOutput): void {
    const childRun = run === this.#run ? this.#childRun : undefined;
    for (let i = 0; i < lines.length; i += 2) {
      this.#line(childRun, STREAMS[lines[i] as number] ?? 'system', lines[i + 1] as string);
    }
    if (dropped !== undefined) childRun?.sink.drop?.(...dropped);
    if (progress !== undefined) childRun?.sink.progress(JSON.parse(progress));
    if (cost === 0) return;
    this.#unacknowledged += cost;
    // A child that prints too fast is acknowledged late, and so may print less.
    if (this.#throttle.spend(cost) && !this.#isBehind() && this.#unacknowledged >= ACK) this.#acknowledge();
  }

  #line(childRun: ChildRun | undefined, stream: Stream, text: string): void {
    if (childRun !== undefined) {
      childRun.sink.line(stream, text);
      return;
    }
    this.#strays++;
    if (this.#strays > MAX_STRAYS) return;
    const last = this.#strays === MAX_STRAYS ? { last: 'further output of this process is not shown' } : {};
    this.#options.warn('a child process printed this outside of any task', { pid: this.#pid, stream, text, ...last });
  }

  #resume(): void {
    if (this.#throttle.waiting || this.#isBehind()) return;
    this.#pipes.resume();
    this.#acknowledge();
  }

  /** The log of the run has much to store: nothing is read or acknowledged until it has room, so that the writer waits. */
  #isBehind(): boolean {
    const sink = this.#childRun?.sink;
    if (sink?.full !== true || sink.onRoom === undefined) return false;
    if (this.#behind !== sink) {
      this.#behind = sink;
      sink.onRoom(() => {
        if (this.#behind === sink) this.#behind = undefined;
        this.#resume();
      });
    }
    return true;
  }

  #acknowledge(): void {
    if (this.#unacknowledged === 0) return;
    this.#send({ type: 'ack', run: this.#childRun === undefined ? 0 : this.#run, cost: this.#unacknowledged });
    this.#unacknowledged = 0;
  }

  /** The handler has ended, and the child has ended the processes of the task that it found. */
  async #ended(ending: Ending): Promise<void> {
    const childRun = this.#childRun;
    if (childRun === undefined || ending.run !== this.#run) return;
    this.#output(ending);
    this.#unacknowledged = 0;
    childRun.outcome = ending.ended;
    // SIGTERM has been sent: this process ends, with all that is left.
    if (this.#doomed) return this.kill();
    childRun.ladder.finish();
    await this.#pipes.drain();
    // The process has ended meanwhile: `#afterExit` ends the run.
    if (this.#exited) return;
    for (const group of this.#groups) this.#group(group, true);
    this.#childRun = undefined;
    childRun.settle(ending.ended);
    if (!this.#doomed) this.#events.onFree(this, ending.littered);
  }

  #group(pid: number, gone: boolean): void {
    if (!isGroup(pid)) return;
    if (gone) {
      this.#groups.delete(pid);
      this.#options.guard.forget(pid);
    } else {
      this.#groups.add(pid);
      this.#options.guard.watch(pid);
    }
  }

  #doom(byItself = false): void {
    if (this.#doomed) return;
    this.#doomed = true;
    this.#events.onDoomed(this, byItself);
  }

  #signalAll(name: 'SIGTERM' | 'SIGKILL'): void {
    this.#doom();
    void this.#deliver(name);
  }

  /** Descendants are recorded first: after the end of their parents nothing shows whose they were. */
  async #deliver(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.#exited) this.#family = [...this.#family, ...(await descendants(this.#pid))];
    // After the leader's end, `#afterExit` ends its group.
    if (!this.#exited) signal(-this.#pid, name);
    for (const group of this.#groups) signal(-group, name);
  }

  #sweepTarget(): SweepTarget {
    return {
      incarnation: this.#options.incarnation,
      lease: this.#childRun?.lease ?? 'none',
      leader: this.#pid,
      spareLeader: false,
      groups: new Set([this.#pid, ...this.#groups]),
      family: this.#family,
    };
  }

  async #afterExit(code: number | null, by: NodeJS.Signals | null): Promise<void> {
    this.#exited = true;
    clearTimeout(this.#timer);
    this.#doom(true);
    const childRun = this.#childRun;
    if (childRun?.outcome === undefined) await this.#grace();
    childRun?.ladder.finish();
    const groups = [this.#pid, ...this.#groups];
    for (const group of groups) signal(-group, 'SIGKILL');
    const { ended, left } = await sweep(this.#sweepTarget());
    await this.#closePipes();
    for (const group of groups) this.#options.guard.forget(group);
    const death = { code, signal: by, uncaught: this.#uncaught };
    this.#ready.reject(unloadable(this.#loading, `the process that loaded it ${describeDeath(death)}`));
    if (left > 0) this.#options.warn('processes of a task could not be ended', { lease: childRun?.lease, left });
    if (childRun !== undefined) {
      this.#childRun = undefined;
      const prefix = childRun.ladder.why === undefined ? '' : `stop (${childRun.ladder.why}): `;
      if (ended > 0) childRun.sink.line('system', prefix + sayEnded(ended, 'had left the group'));
      if (left > 0) childRun.sink.line('system', `${prefix}${left} of its processes could not be ended`);
      childRun.settle(outcomeOfDeath(childRun, death));
    }
    this.#gone.resolve();
  }

  /** SIGTERM has ended the child; the processes that it started have the rest of their time. */
  async #grace(): Promise<void> {
    while (this.#childRun?.ladder.reached === 'SIGTERM' && (await this.#anyAlive())) await delay(LOOK_MS);
  }

  async #anyAlive(): Promise<boolean> {
    if (HAS_PROCESS_TABLE) return (await survivors(this.#sweepTarget())).length > 0;
    return [this.#pid, ...this.#groups].some((group) => signal(-group, 0));
  }

  async #closePipes(): Promise<void> {
    this.#pipes.readAll();
    const timeout = new AbortController();
    await Promise.race([this.#closed, delay(CLOSE_MS, undefined, { signal: timeout.signal }).catch(() => {})]);
    timeout.abort();
    // A loop that was blocked for all of that time has read nothing yet.
    await this.#pipes.drain();
    this.#pipes.close();
    this.#throttle.clear();
  }

  #cannotStart(error: Error): void {
    this.#ready.reject(error);
    this.kill();
  }

  #late(): void {
    this.#cannotStart(unloadable(this.#loading, `it did not load within ${formatMs(this.#options.startMs)}`));
  }

  /** Called instead of all else when the system cannot start a process. */
  #faulty(error: Error): void {
    if (this.#pid !== 0) {
      this.#options.warn('a child process cannot be reached', { pid: this.#pid, error: error.message });
      return;
    }
    this.#exited = true;
    this.#doom();
    this.#ready.reject(error);
    this.#gone.resolve();
  }
}
