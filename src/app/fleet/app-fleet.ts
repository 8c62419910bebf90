import { isEngineError } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { PoolCheck } from '../../engine/pools.ts';
import type { LauncherHost } from '../../fleet/launcher.ts';
import type { Scaler } from '../../fleet/scaler.ts';
import { launcherHost } from './launcher-host.ts';
import { PoolRounds } from './pool-rounds.ts';

export interface FleetOptions {
  readonly engine: Engine;
  /** The URL of the store, for the workers that this process starts. */
  readonly url: string;
  readonly log: Log;
  /** Looks at the pools by itself. */
  readonly rounds: boolean;
  /** Workers of the pools look at them too: this process is one of them, or one beside them. */
  readonly crowded?: boolean;
  /** Before a check it does what is due in the store: for a process that ends after it, and beside which there may be no other. */
  readonly alone?: boolean;
  readonly inProcess?: LauncherHost['inProcess'];
  /** Destinations of webhooks of launchers beside the Internet on ports 80 and 443. */
  readonly allowHttp?: readonly string[] | undefined;
  /** `local`: pools whose workers start elsewhere are left to other processes. */
  readonly launchers?: 'all' | 'local' | undefined;
}

/** The scaler of a process. It is loaded when the first pool is checked: most processes have none. */
export class AppFleet {
  readonly #options: FleetOptions;
  readonly #rounds: PoolRounds | undefined;
  #scaler: Promise<Scaler<Engine['pools']>> | undefined;
  readonly #troubled = new Set<string>();

  constructor(options: FleetOptions) {
    this.#options = options;
    const { engine, rounds } = options;
    engine.pools.checksWith(
      (name, terms) => this.#checked(name, terms),
      async (launcher) => (await this.#load()).checkLauncher(launcher),
    );
    if (!rounds) return;
    this.#rounds = new PoolRounds({
      engine,
      world: engine.world,
      check: (name) => this.#look(name),
      onTrouble: (name, error) => this.#trouble(name, error),
    });
  }

  async #checked(name: string, terms: { readonly dryRun?: boolean }): Promise<PoolCheck> {
    if (this.#options.alone === true) {
      const { doDueHousekeeping } = await import('./due-housekeeping.ts');
      await doDueHousekeeping(this.#options.engine);
    }
    return (await this.#load()).check(name, terms);
  }

  async #look(name: string): Promise<number | undefined> {
    const { plan, acted } = await this.#checked(name, {});
    this.#troubled.delete(name);
    if (this.#rounds !== undefined && this.#options.crowded === true) this.#rounds.crowd = plan.decision.there;
    // What was reserved less than was asked for was reserved by another process.
    return acted !== undefined && acted.reserved + acted.drained.length > 0
      ? Math.min(plan.againMs ?? Number.POSITIVE_INFINITY, plan.pool.policy.startMs)
      : plan.againMs;
  }

  #load(): Promise<Scaler<Engine['pools']>> {
    this.#scaler ??= this.#make();
    return this.#scaler;
  }

  async #make(): Promise<Scaler<Engine['pools']>> {
    const [{ Scaler: Made }, { launcherKinds }] = await Promise.all([
      import('../../fleet/scaler.ts'),
      import('./launcher-kinds.ts'),
    ]);
    const { engine, url, log, inProcess, allowHttp = [], launchers = 'all' } = this.#options;
    const { world } = engine;
    const host = launcherHost({ url, log, world, ...(inProcess === undefined ? {} : { inProcess }) });
    const kinds = launcherKinds({ allowHttp, local: launchers === 'local' });
    return new Made({ engine: engine.pools, kinds, host, world });
  }

  /** Once for each trouble: a pool is looked at all the time. */
  #trouble(name: string, error: unknown): void {
    if (isEngineError(error, 'NOT_FOUND') || this.#troubled.has(name)) return;
    this.#troubled.add(name);
    this.#options.log.warn('a pool cannot be checked', { pool: name, error: String(error) });
  }

  async close(): Promise<void> {
    await this.#rounds?.close();
    await (await this.#scaler)?.close();
  }
}
