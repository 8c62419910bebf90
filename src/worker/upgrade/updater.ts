import {
  beginTrial,
  DEFAULT_TERMS,
  isTriedOut,
  mayUpgrade,
  notReached,
  rollBack,
  startTrial,
  trialPassed,
  type UpdaterState,
  upgradeFailed,
} from '../../core/release/updater.ts';
import { NotReached } from './fetch.ts';
import type { Install, InstallFolder, InstallTerms } from './install-folder.ts';
import { takeRelease } from './take-release.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';

/** The worker ends with it to be upgraded. */
export const UPGRADE_STATUS = 42;
const TERMS: InstallTerms = { ...DEFAULT_TERMS, connectMs: 60_000, proveMs: 60_000 };

export interface UpdaterOptions {
  readonly folder: InstallFolder;
  /** Calendar time. */
  readonly now: () => number;
  /** The version of Node here. */
  readonly node: string;
  readonly say: (line: string) => void;
}

/**
 * Starts the worker, again and again, until it ends for another reason than an upgrade; its status is then that of the updater.
 *
 *     start ──ends with 42──> fetch, check, unpack ──> on trial ──connected for a while──> passed
 *       ^                          │ refused: 3 times pins     │ ends, or does not connect
 *       └──────────────────────────┴───────────────────────────┴── back to the release before, once
 */
export class Updater {
  readonly #options: UpdaterOptions;
  readonly #install: Install;
  readonly #terms: InstallTerms;
  readonly #stopping = new AbortController();
  #state: UpdaterState;
  #worker: WorkerProcess | undefined;

  constructor(options: UpdaterOptions) {
    this.#options = options;
    this.#install = options.folder.install();
    this.#terms = { ...TERMS, ...this.#install.terms };
    this.#state = options.folder.state();
  }

  /** The signal goes on to the worker, which drains. Nothing is started after it. */
  stop(signal: NodeJS.Signals): void {
    this.#stopping.abort();
    this.#worker?.signal(signal);
  }

  async run(): Promise<number> {
    for (;;) {
      if (isTriedOut(this.#state)) this.#goBack('it was started three times and never ran for long');
      this.#become(startTrial(this.#state));
      const { status, connected } = await this.#start();
      if (this.#isStopping) return status;
      // A new release that ends at once, even to be upgraded, has not shown that it works. One that had nothing more to do has.
      if (this.#state.trial !== undefined) {
        if (status === 0 && connected) this.#pass();
        else this.#goBack(connected ? `it ended with status ${status}` : 'it did not connect to its node');
        continue;
      }
      if (status !== UPGRADE_STATUS) return status;
      await this.#upgrade();
      if (this.#isStopping) return 0;
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #start(): Promise<WorkerEnd> {
    const { folder } = this.#options;
    const { version, trial } = this.#state;
    const joins = this.#install.urls.flatMap((url) => ['--join', url]);
    const own = ['--data-dir', folder.data, '--updater', folder.stateFile];
    const worker = new WorkerProcess(folder.program(version), [
      'worker',
      ...joins,
      ...own,
      ...(this.#install.arguments ?? []),
    ]);
    this.#worker = worker;
    if (trial !== undefined) void this.#prove(worker);
    const end = await worker.ended;
    this.#worker = undefined;
    return end;
  }

  /** Watches the first minutes of a new release. */
  async #prove(worker: WorkerProcess): Promise<void> {
    const { connectMs, proveMs } = this.#terms;
    const ended = worker.ended.then(() => 'ended' as const);
    const first = await within(connectMs, [worker.connected.then(() => 'connected' as const), ended]);
    if (first === undefined) {
      this.#options.say(`release ${this.#state.version} has not connected within ${connectMs / 1000} s`);
      return worker.end();
    }
    if (first === 'ended' || (await within(proveMs, [ended])) === 'ended' || this.#isStopping) return;
    this.#pass();
  }

  #pass(): void {
    const { trial, version } = this.#state;
    this.#become(trialPassed(this.#state));
    this.#options.say(`release ${version} runs`);
    this.#options.folder.prune([version, ...(trial === undefined ? [] : [trial.previous])]);
  }

  #goBack(problem: string): void {
    const { version } = this.#state;
    this.#become(rollBack(this.#state, `release ${version}: ${problem}`, this.#options.now(), this.#terms));
    this.#options.say(`release ${version} goes back to ${this.#state.version}: ${problem}`);
  }

  async #upgrade(): Promise<void> {
    const { folder, now, node, say } = this.#options;
    if (!mayUpgrade(this.#state, now())) {
      // The worker was refused as it is. It asks again now and then: who refuses it may change that.
      const leftMs = (this.#state.notBefore ?? 0) - now();
      say(`no upgrade is tried for ${Math.ceil(leftMs / 1000)} s: ${this.#state.problem}`);
      await within(Math.min(leftMs, this.#terms.retryMs), [aborted(this.#stopping.signal)]);
      if (this.#isStopping || !mayUpgrade(this.#state, now())) return;
    }
    try {
      const release = await takeRelease(folder, this.#install, this.#state, { now: now(), node });
      say(`release ${release.version} takes the place of ${this.#state.version}`);
      this.#become(beginTrial(this.#state, release));
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const failed = error instanceof NotReached ? notReached : upgradeFailed;
      this.#become(failed(this.#state, problem, now(), this.#terms));
      say(`no upgrade: ${problem}${this.#state.pinned === true ? '; the release is pinned' : ''}`);
    }
  }

  /** On disk before it takes effect. */
  #become(state: UpdaterState): void {
    if (state === this.#state) return;
    this.#options.folder.write(state);
    this.#state = state;
  }
}

/** What comes first; undefined: none of it within the time. */
async function within<T>(ms: number, some: readonly Promise<T>[]): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
  try {
    return await Promise.race([...some, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
