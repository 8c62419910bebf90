/** Wakes runs that have left while they waited for a signal. */
import type { PersistenceBackend, SignalBackend } from './backends.ts';
import { latestOf } from './latest.ts';
import type { WireSnapshot } from './wire-snapshot.ts';

export interface DispatcherOptions {
  readonly persistence: PersistenceBackend;
  /** May be in another place than the checkpoints. */
  readonly signals: SignalBackend;
  /** Goes on with a run, and resolves when it has ended or left again. */
  readonly resume: (executionId: string, snapshot: WireSnapshot) => Promise<unknown>;
  /** A run could not go on: it still waits, and its signal is kept for it. */
  readonly onFailed?: (executionId: string, error: unknown) => void;
  readonly now?: () => number;
}

export class SignalDispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Gives the next signal of the channel to all that wait there, and resolves to how many went on. Without a waiter the signal stays. */
  async dispatch(channel: string): Promise<number> {
    const { persistence, signals } = this.#options;
    const waiters = await persistence.listExecutionIds({ event: 'waiting', waiting_channel: channel });
    // Those that have one already, of a dispatcher that did not get further: they must not be given the next one as well.
    const before = new Set(await signals.addressed(channel));
    await signals.deliver(
      channel,
      waiters.filter((id) => !before.has(id)),
    );
    const after = new Set(await signals.addressed(channel));
    return this.#resumeAll(waiters.filter((id) => after.has(id)));
  }

  /** All signals that are there now. */
  async dispatchChannel(channel: string): Promise<number> {
    const { signals } = this.#options;
    // A run that waits again at once could be woken for ever.
    const most = (await signals.peek(channel)).length + 1;
    let woken = 0;
    for (let i = 0; i < most; i++) {
      const some = await this.dispatch(channel);
      if (some === 0) break;
      woken += some;
    }
    return woken;
  }

  /** Every channel that has signals, and the runs whose time to wait is over. */
  async dispatchAll(): Promise<Readonly<Record<string, number>>> {
    const woken: [string, number][] = [];
    for (const channel of await this.#options.signals.channels()) {
      const some = await this.dispatchChannel(channel);
      if (some > 0) woken.push([channel, some]);
    }
    await this.dispatchLate();
    return Object.fromEntries(woken);
  }

  /** Runs that have waited for as long as `timeout` says go on with a `TimeoutError`. */
  async dispatchLate(): Promise<number> {
    const { persistence, now = Date.now } = this.#options;
    const late: string[] = [];
    for (const id of await persistence.listExecutionIds({ event: 'waiting' })) {
      const until = (await latestOf(persistence, id))?.leasehold?.wait_until;
      if (until !== undefined && until <= now()) late.push(id);
    }
    return this.#resumeAll(late);
  }

  /** As the documents spell them. */
  dispatch_channel(channel: string): Promise<number> {
    return this.dispatchChannel(channel);
  }

  dispatch_all(): Promise<Readonly<Record<string, number>>> {
    return this.dispatchAll();
  }

  /** Runs within one run go on with it, and are counted each. */
  async #resumeAll(ids: readonly string[]): Promise<number> {
    const { persistence, resume, onFailed } = this.#options;
    const roots = new Map<string, { readonly snapshot: WireSnapshot; count: number }>();
    for (const id of ids) {
      const snapshot = await rootOf(persistence, id);
      if (snapshot === undefined) continue;
      const known = roots.get(snapshot.execution_id) ?? { snapshot, count: 0 };
      known.count++;
      roots.set(snapshot.execution_id, known);
    }
    const counts = await Promise.all(
      [...roots].map(async ([id, { snapshot, count }]) => {
        try {
          await resume(id, snapshot);
          return count;
        } catch (error) {
          onFailed?.(id, error);
          return 0;
        }
      }),
    );
    return counts.reduce((sum, one) => sum + one, 0);
  }
}

/** A machine within another goes on with that one, which waits for it. A fork has the depth of what it was made from, and goes on alone. */
async function rootOf(persistence: PersistenceBackend, executionId: string): Promise<WireSnapshot | undefined> {
  let at = await latestOf(persistence, executionId);
  while (at?.parent_execution_id !== undefined && (at.depth ?? 0) > 0) {
    const around = await latestOf(persistence, at.parent_execution_id);
    if (around === undefined || (around.depth ?? 0) !== (at.depth ?? 0) - 1) break;
    at = around;
  }
  return at;
}
