import { fault } from '../../core/errors.ts';
import { type Program, type UpgradePolicy, type Wish, wishFor } from '../../core/release/policy.ts';
import { isReleaseVersion } from '../../core/release/release-version.ts';
import type { World } from '../../core/world.ts';
import type { ReleaseReport, UpgradeOrder } from '../../protocol/frames.ts';

export interface UpgradeWatchOptions {
  readonly policy: () => Promise<UpgradePolicy>;
  /** The version of the release that this node shows. */
  readonly served: () => Promise<string | undefined>;
  readonly world: World;
}

interface Watcher {
  readonly program: Program;
  readonly report: ReleaseReport | undefined;
  readonly listener: (order: UpgradeOrder) => void;
  said: { readonly wanted: string; readonly at: number } | undefined;
}

const POLL_MS = 2000;
/** An order is said again: an updater may have waited when it came. */
const AGAIN_MS = 60_000;

/** Tells workers to come back as another release. It only suggests: their updaters decide what they take. */
export class UpgradeWatch {
  readonly #options: UpgradeWatchOptions;
  readonly #watchers = new Set<Watcher>();
  #stopPolling: (() => void) | undefined;

  constructor(options: UpgradeWatchOptions) {
    this.#options = options;
  }

  /** Refuses a worker that gets no work as it is. One that holds leases comes in, ends them, and is told then. */
  async admit(name: string, report: ReleaseReport | undefined, holds: boolean): Promise<void> {
    if (holds) return;
    const program = programOf(name, report);
    const order = await this.#orderFor(program, report);
    if (order?.must !== true) return;
    const { current_version, required_version } = order;
    throw fault('UPGRADE_REQUIRED', { worker: name, current_version, required_version });
  }

  /** What is asked of a worker now. */
  async orderNow(name: string, report: ReleaseReport | undefined): Promise<UpgradeOrder | undefined> {
    return this.#orderFor(programOf(name, report), report);
  }

  /** Calls back when the worker is wanted as another release, also at once. Returns a function that stops this. */
  watch(name: string, report: ReleaseReport | undefined, listener: (order: UpgradeOrder) => void): () => void {
    return this.#watch({ program: programOf(name, report), report, listener, said: undefined });
  }

  /** The same for a program of others, which only tells a version, and finds its releases elsewhere. */
  watchVersion(name: string, version: string, listener: (order: UpgradeOrder) => void): () => void {
    if (!isReleaseVersion(version)) return () => {};
    return this.#watch({ program: { name, version }, report: undefined, listener, said: undefined });
  }

  #watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    void this.#look([watcher]);
    this.#pollLater();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#stopPolling?.();
      this.#stopPolling = undefined;
    };
  }

  #pollLater(): void {
    this.#stopPolling ??= this.#options.world.timers.after(
      POLL_MS,
      () => {
        this.#stopPolling = undefined;
        if (this.#watchers.size === 0) return;
        this.#pollLater();
        void this.#look([...this.#watchers]);
      },
      { unref: true },
    );
  }

  async #look(watchers: readonly Watcher[]): Promise<void> {
    // A store that does not answer wants nothing of anybody.
    const found = await Promise.all([this.#options.policy(), this.#options.served()]).catch(() => undefined);
    if (found === undefined) return;
    const now = this.#options.world.clock.monotonic();
    for (const watcher of watchers) {
      const { program, report, listener, said } = watcher;
      const order = this.#order(program, report, found[0], found[1]);
      if (order === undefined) watcher.said = undefined;
      else if (this.#watchers.has(watcher) && (said?.wanted !== order.required_version || now - said.at >= AGAIN_MS)) {
        watcher.said = { wanted: order.required_version, at: now };
        listener(order);
      }
    }
  }

  async #orderFor(program: Program, report: ReleaseReport | undefined): Promise<UpgradeOrder | undefined> {
    const [policy, served] = await Promise.all([this.#options.policy(), this.#options.served()]);
    return this.#order(program, report, policy, served);
  }

  #order(
    program: Program,
    report: ReleaseReport | undefined,
    policy: UpgradePolicy,
    served: string | undefined,
  ): UpgradeOrder | undefined {
    const wish = wishFor(policy, program);
    if (wish === undefined || !this.#isTimely(wish, report, served)) return undefined;
    const required_version = wish.version ?? '';
    return { current_version: program.version ?? '', required_version, ...(wish.must ? { must: true } : {}) };
  }

  /** A worker of ours goes where this node can lead it, and when its updater is ready. */
  #isTimely(wish: Wish, report: ReleaseReport | undefined, served: string | undefined): boolean {
    if (wish.must || report === undefined) return true;
    const { until = 0 } = report.updater ?? {};
    return wish.version === served && this.#options.world.clock.wall() >= until;
  }
}

function programOf(name: string, report: ReleaseReport | undefined): Program {
  const version = report?.version;
  return {
    name,
    ...(isReleaseVersion(version) ? { version } : {}),
    ...(report === undefined ? {} : { protocol: report.protocol }),
  };
}
