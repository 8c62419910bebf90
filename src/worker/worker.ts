import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { fault, isEngineError } from '../core/errors.ts';
import type { Hello, Session } from '../protocol/link.ts';
import { artifactStock, sweepArtifactFolders } from './artifacts/attempt-artifacts.ts';
import type { AttemptDeps } from './attempt.ts';
import type { CredentialStock } from './credentials/attempt-credentials.ts';
import { forbidCoreFiles } from './credentials/core-files.ts';
import { SecretFiles } from './credentials/secret-files.ts';
import { Renewal } from './renewal/renewal.ts';
import type { Ladder } from './runner/runner.ts';
import { ClaimControl } from './slots/claim-control.ts';
import { HandlerRunners } from './slots/handler-runners.ts';
import { HeldAttempts } from './slots/held-attempts.ts';
import { Intake, STALE_MS } from './slots/intake.ts';
import { LeaseWatch } from './slots/lease-watch.ts';
import { Lookahead } from './slots/lookahead.ts';
import { repeat } from './slots/repeat.ts';
import { Slots } from './slots/slots.ts';
import type { Vault } from './vault/vault.ts';
import {
  DEFAULT_LADDER,
  DEFAULT_LOOKAHEAD,
  MAX_UNSETTLED,
  type StopOptions,
  type Warn,
  type WorkerOptions,
  type WorkerStats,
} from './worker-options.ts';
import { WorkspaceStock } from './workspace/workspace-stock.ts';

const DEFAULT_BLOCK_MS = 600_000;
const BEAT_MS = 10_000;
const CANCEL_LOOK_MS = 1000;
/** How long a worker that stops waits for answers of its node when no task depends on them, or when its time is over. */
const ANSWER_MS = 3000;

/**
 * Claims tasks over a link, runs them in its slots, and settles them. This class holds the start and the stop; `slots/` holds
 * what happens in between: `Intake` claims, `Slots` runs and gives back, `Quarantine` runs suspects alone, `LeaseWatch` stops
 * what is lost or cancelled. All of them share `HeldAttempts`.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #runners: HandlerRunners;
  readonly #held = new HeldAttempts();
  readonly #slots: Slots;
  readonly #intake: Intake;
  readonly #watch: LeaseWatch;
  readonly #stopOpening = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #deps: AttemptDeps | undefined;
  #starting: Promise<void> | undefined;
  #intaking: Promise<void> | undefined;
  #online: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #dismissal: Error | undefined;
  #vault: Vault | undefined;
  readonly #workspaces: WorkspaceStock | undefined;
  readonly #cleanups: (() => void)[] = [];

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { workspaces, world } = options;
    this.#workspaces =
      workspaces === undefined ? undefined : new WorkspaceStock(workspaces, world, (...told) => this.#warn(...told));
    this.#runners = new HandlerRunners(options.runners, options.suspectRunner);
    const shared = {
      options,
      held: this.#held,
      runners: this.#runners,
      claims: new ClaimControl(),
      lookahead: new Lookahead(options.slots, options.once ? 0 : (options.lookahead ?? DEFAULT_LOOKAHEAD)),
      session: () => this.#deps?.session,
      leaseMs: () => this.#deps?.session.leaseMs ?? 1000,
      warn: this.#warn,
    };
    const slots = new Slots(shared);
    this.#slots = slots;
    this.#intake = new Intake({ ...shared, slots, onIdle: () => void this.stop() });
    this.#watch = new LeaseWatch({ ...shared, slots });
  }

  /** Resolves when the worker has stopped, by itself (`once`, `idleExitMs`) or by `stop`. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Why the node refused this worker, if that ended it. */
  get dismissal(): Error | undefined {
    return this.#dismissal;
  }

  /** The handlers that it can run; known after the start. */
  get handlers(): readonly string[] {
    return this.#runners.handlers;
  }

  get stats(): WorkerStats {
    const { running, ahead } = this.#held;
    return { running: running.size, ahead: ahead.length, settled: { ...this.#slots.outcomes } };
  }

  /** Works once: a worker that was stopped, or could not start, stays stopped. */
  async start(): Promise<void> {
    const problem = this.#starting !== undefined ? 'started' : this.#stopping !== undefined ? 'stopped' : undefined;
    if (problem !== undefined) throw fault('CONFLICT', { problem: `this worker was ${problem} before` });
    this.#starting = this.#start();
    await this.#starting;
    // After this the worker is listed as online. A stop does not wait for it: the store may be away.
    await this.#online;
  }

  async #start(): Promise<void> {
    const { world, slots, ladder = DEFAULT_LADDER } = this.#options;
    const session = await this.#open().catch(async (error: unknown) => {
      await this.#runners.close(() => {});
      this.#ended.resolve();
      throw error;
    });
    const renewal = new Renewal({
      session,
      world,
      capacity: slots + (this.#options.lookahead ?? DEFAULT_LOOKAHEAD) + MAX_UNSETTLED + 1,
      maxBlockMs: this.#options.maxBlockMs ?? DEFAULT_BLOCK_MS,
      onNotice: (notice) => this.#watch.onNotice(notice),
      onTrouble: (error) => this.#warn('the renewal thread is gone; leases are renewed from the loop', error),
    });
    const { credentials } = session;
    if (credentials !== undefined && this.#vault !== undefined)
      this.#cleanups.push(this.#vault.follow(credentials, this.#warn));
    renewal.start();
    // With one task to come, the start of the thread would only delay its claim.
    if (this.#options.once !== true) renewal.prepare();
    const artifacts = artifactStock(this.#options.artifactFiles);
    sweepArtifactFolders(artifacts).catch((error: unknown) =>
      this.#warn('temporary files are left by an earlier process', error),
    );
    const workspaces = this.#workspaces;
    const deps = {
      session,
      renewal,
      world,
      ladder,
      warn: this.#warn,
      credentials: this.#stock(),
      artifacts,
      workspaces,
    };
    this.#deps = deps;
    this.#slots.idleSince = world.clock.monotonic();
    this.#beginRounds(session);
    this.#online = session.beat('online').catch(() => {});
    // Refused by the node: nothing that it does counts any more, and another worker runs its tasks.
    void session.over?.then((reason) => {
      this.#dismissal = reason;
      // As another release it may come back, and send what this one ends: the leases hold until their time is over.
      void this.stop({ drain: isEngineError(reason, 'UPGRADE_REQUIRED') });
    });
    this.#intaking = this.#intake.run(deps);
    void this.#intaking.then(() => this.stop());
  }

  #stock(): CredentialStock | undefined {
    const vault = this.#vault;
    if (vault === undefined) return undefined;
    forbidCoreFiles(this.#options.path);
    const files = new SecretFiles(tmpdir());
    files.sweep().catch((error: unknown) => this.#warn('files with secrets are left by an earlier process', error));
    return { read: (name) => vault.read(name), files };
  }

  async #open(): Promise<Session> {
    const { link, name, incarnation, slots, queues, priority, version, ticket, release } = this.#options;
    const tags = await this.#startRunners();
    this.#vault = await this.#options.vault?.();
    const { handlers } = this.#runners;
    const schemas = this.#runners.schemas();
    const plain = { name, incarnation, slots, tags, handlers, schemas, queues, priority, version };
    const vault = this.#vault === undefined ? {} : { vault: this.#vault.report };
    const more = { ...(ticket === undefined ? {} : { ticket }), ...(release === undefined ? {} : { release }) };
    const hello: Hello = { ...plain, ...vault, ...more };
    return link.open(hello, this.#stopOpening.signal);
  }

  /** Its tags: its own, and those of the workspaces that it can make. */
  async #startRunners(): Promise<readonly string[]> {
    const { tags = [] } = this.#options;
    const offered = this.#workspaces?.tags() ?? [];
    await this.#runners.start();
    return [...new Set([...tags, ...(await offered)])];
  }

  /** Starts the beats, the poll for cancel requests and the return of stale claims. */
  #beginRounds(session: Session): void {
    const { timers } = this.#options.world;
    const state = (): 'online' | 'draining' => (this.#stopping === undefined ? 'online' : 'draining');
    this.#cleanups.push(
      session.onCancel((task) => this.#watch.cancel(task)),
      session.onPause?.((queue) => this.#intake.paused(queue)) ?? (() => {}),
      session.onUpgrade?.((order) => this.#options.onUpgrade?.(order)) ?? (() => {}),
      repeat(timers, session.heartbeatMs ?? BEAT_MS, () => session.beat(state())),
      repeat(timers, CANCEL_LOOK_MS, () => this.#watch.lookForCancels(session)),
      repeat(timers, STALE_MS / 2, () => this.#intake.giveStaleBack()),
    );
  }

  /**
   * With `drain` (default) it claims nothing more, gives running handlers `drainMs` to end, then stops them. Without, it stops
   * them at once, down this ladder. A task that did not end is given back with its try. A later call can only shorten this.
   */
  stop(options: StopOptions = {}): Promise<void> {
    const { drain = true, drainMs, ladder } = options;
    this.#stopping ??= this.#stop();
    if (!drain) this.#force(ladder);
    else if (drainMs !== undefined) this.#forceAfter(drainMs, ladder);
    return this.#stopping;
  }

  #force(ladder: Ladder | undefined): void {
    this.#slots.force(ladder);
    const { abortMs, termMs } = ladder ?? this.#options.ladder ?? DEFAULT_LADDER;
    // By then every handler has ended. Only answers are missing, and the node may never give them.
    this.#after(abortMs + termMs + ANSWER_MS, () => this.#leave());
  }

  /** Ends the session: what still waits for an answer is refused. Ends of attempts stay on disk for the next start. */
  #leave(): void {
    void this.#deps?.session.close().catch(() => {});
  }

  /** Leaves once nothing is held: then no answer is worth a longer wait. */
  #leaveWhenIdle(): void {
    this.#after(ANSWER_MS, () => (this.#held.any ? this.#leaveWhenIdle() : this.#leave()));
  }

  async #stop(): Promise<void> {
    this.#intake.stop();
    this.#stopOpening.abort(fault('STORE_CLOSED'));
    // Their store may never come back, so they are given up.
    for (const one of this.#held.suspended) one.stop('lost');
    await this.#starting?.catch(() => {});
    const deps = this.#deps;
    if (deps !== undefined) await this.#close(deps);
    this.#ended.resolve();
  }

  async #close({ session, renewal }: AttemptDeps): Promise<void> {
    this.#leaveWhenIdle();
    await Promise.all([this.#slots.giveAllBack(), session.beat('draining').catch(() => {})]);
    // The claim under way ends first: its tasks are given back before anything is closed.
    await this.#intaking;
    while (this.#held.any) await this.#held.changed.next();
    for (const cleanup of this.#cleanups) cleanup();
    this.#leaveWhenIdle();
    const closing = (error: unknown): void => this.#warn('the worker did not end cleanly', error);
    await this.#runners.close(closing);
    await renewal.close().catch(closing);
    await this.#workspaces?.close().catch(closing);
    await session.beat('offline').catch(() => {});
    await session.close().catch(closing);
    for (const cleanup of this.#cleanups) cleanup();
  }

  #forceAfter(ms: number, ladder: Ladder | undefined): void {
    this.#after(Math.min(ms, 2 ** 31 - 1), () => this.#force(ladder));
  }

  #after(ms: number, then: () => void): void {
    this.#cleanups.push(this.#options.world.timers.after(ms, then, { unref: true }));
  }

  readonly #warn: Warn = (message, error, about) => {
    const text = error instanceof Error ? error.message : error === undefined ? undefined : inspect(error);
    this.#options.log?.warn(message, text === undefined ? about : { ...about, error: text });
  };
}
