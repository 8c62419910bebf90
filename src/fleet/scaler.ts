/** Checks pools: looks, decides, reserves, and starts workers. Any number of scalers may check the same pool at once. */
import { isEngineError } from '../core/errors.ts';
import { pause } from '../core/pause.ts';
import type { PoolDecision } from '../core/pools/decide.ts';
import type { LauncherSpec, PoolSpec } from '../core/pools/pool.ts';
import type { World } from '../core/world.ts';
import type { Launcher, LauncherHost, LaunchRequest } from './launcher.ts';
import type { LauncherKinds } from './registry.ts';
import { type MadeTicket, makeTickets } from './tickets.ts';
import { workerArguments } from './worker-arguments.ts';

/** What a scaler knows of the engine. */
export interface PoolEngine {
  plan(name: string): Promise<PoolPlan>;
  carryOut(plan: PoolPlan, tickets: readonly Pick<MadeTicket, 'id' | 'hash'>[]): Promise<PoolActed | undefined>;
  started(id: string, started: string): Promise<void>;
  failed(id: string, error: string): Promise<void>;
}

export interface PoolPlan {
  readonly pool: PoolSpec & { readonly name: string; readonly revision: number };
  readonly decision: PoolDecision;
  readonly due: boolean;
  readonly againMs: number | undefined;
}

export interface PoolActed {
  readonly reserved: number;
  readonly there: number;
  readonly expired: number;
  readonly drained: readonly number[];
}

export interface Checked<P extends PoolPlan = PoolPlan> {
  readonly plan: P;
  /** Undefined: there was nothing to do, or it was a dry run. */
  readonly acted: PoolActed | undefined;
  readonly launches: readonly Launch[];
}

/** What became of one start. `unknown`: the launcher has not answered in time; its worker may still come. */
export interface Launch {
  readonly ticket: string;
  readonly outcome: 'started' | 'failed' | 'unknown';
  /** What was started, or why nothing was. */
  readonly said: string;
}

export interface ScalerOptions<E extends PoolEngine> {
  readonly engine: E;
  readonly kinds: LauncherKinds;
  readonly host: LauncherHost;
  readonly world: Pick<World, 'clock' | 'timers'>;
}

/** Starts under way at once, so that a slow place does not hold a thousand connections of this process. */
const AT_ONCE = 16;
/** A launcher that has not answered by then is not waited for. */
const MOST_LAUNCH_MS = 20_000;

const TOO_SLOW = new Error('the launcher was too slow with those before it');

type PlanOf<E extends PoolEngine> = Awaited<ReturnType<E['plan']>>;

export class Scaler<E extends PoolEngine = PoolEngine> {
  readonly #options: ScalerOptions<E>;
  /** By pool: a launcher may hold connections. */
  readonly #launchers = new Map<string, { readonly revision: number; readonly launcher: Launcher }>();
  readonly #closing = new AbortController();

  constructor(options: ScalerOptions<E>) {
    this.#options = options;
  }

  /** Looks at a pool, carries out what is due, and waits for the launchers, each for a bounded time. */
  async check(name: string, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Checked<PlanOf<E>>> {
    const { engine } = this.#options;
    const plan = (await engine.plan(name)) as PlanOf<E>;
    if (dryRun || !plan.due) return { plan, acted: undefined, launches: [] };
    // A worker elsewhere has neither the programs nor the keys for it. Who has them looks at the pool as well.
    if (this.#options.kinds.leaves(plan.pool.launcher.kind)) return { plan, acted: undefined, launches: [] };
    const tickets = makeTickets(plan.decision.launch);
    const acted = await engine.carryOut(
      plan,
      tickets.map(({ id, hash }) => ({ id, hash })),
    );
    const reserved = tickets.slice(0, acted?.reserved ?? 0);
    return { plan, acted, launches: await this.#launchAll(plan, reserved) };
  }

  /** Refuses a setting that no launcher could be made from. Nothing is started. */
  async checkLauncher(setting: LauncherSpec): Promise<void> {
    const { kinds, host } = this.#options;
    await kinds.make(setting, host).close?.();
  }

  /** Starts workers for tickets that are reserved. */
  async #launchAll({ pool }: PoolPlan, tickets: readonly MadeTicket[]): Promise<readonly Launch[]> {
    if (tickets.length === 0) return [];
    let launcher: Launcher;
    try {
      launcher = await this.#launcherOf(pool);
    } catch (error) {
      return Promise.all(tickets.map(({ id }) => this.#failed(id, error)));
    }
    const launches: Launch[] = [];
    const waiting = [...tickets];
    const { monotonic } = this.#options.world.clock;
    const until = monotonic() + MOST_LAUNCH_MS;
    const one = async (): Promise<void> => {
      for (let ticket = waiting.shift(); ticket !== undefined; ticket = waiting.shift()) {
        const late = monotonic() >= until;
        launches.push(await (late ? this.#failed(ticket.id, TOO_SLOW) : this.#launch(launcher, pool, ticket)));
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, tickets.length) }, one));
    return launches;
  }

  async #launch(launcher: Launcher, pool: PoolPlan['pool'], { id, text }: MadeTicket): Promise<Launch> {
    const { engine, world, host } = this.#options;
    const { startMs } = pool.policy;
    const late = new AbortController();
    const request: LaunchRequest = {
      pool: pool.name,
      ticketId: id,
      ticket: text,
      args: workerArguments(pool),
      env: { LEASEHOLD_TICKET: text, LEASEHOLD_POOL: pool.name },
      expiresAt: world.clock.wall() + startMs,
      signal: late.signal,
    };
    const over = new AbortController();
    const waitMs = Math.min(startMs, MOST_LAUNCH_MS);
    const timeout = pause(world.timers, waitMs, { signal: AbortSignal.any([over.signal, this.#closing.signal]) });
    try {
      // A launcher may throw before it has a promise, or never keep it.
      const answer = await Promise.race([Promise.resolve().then(() => launcher.launch(request)), timeout]);
      if (answer === undefined) {
        late.abort();
        const said = `the launcher has not answered within ${waitMs} ms`;
        host.log('warn', `pool ${pool.name}, ticket ${id}: ${said}`);
        return { ticket: id, outcome: 'unknown', said };
      }
      const said = String(answer.started);
      await engine.started(id, said).catch(() => {});
      return { ticket: id, outcome: 'started', said };
    } catch (error) {
      return this.#failed(id, error);
    } finally {
      over.abort();
    }
  }

  async #failed(id: string, error: unknown): Promise<Launch> {
    const said = isEngineError(error) || error instanceof Error ? error.message : String(error);
    this.#options.host.log('warn', `ticket ${id}: nothing was started: ${said}`);
    // If the store is away, the ticket ends with its time.
    await this.#options.engine.failed(id, said).catch(() => {});
    return { ticket: id, outcome: 'failed', said };
  }

  async #launcherOf({ name, revision, launcher: setting }: PoolPlan['pool']): Promise<Launcher> {
    const { kinds, host } = this.#options;
    const known = this.#launchers.get(name);
    if (known?.revision === revision) return known.launcher;
    const launcher = kinds.make(setting, host);
    this.#launchers.set(name, { revision, launcher });
    await known?.launcher.close?.();
    return launcher;
  }

  /** Lets go of launchers. What has been started runs on. */
  async close(): Promise<void> {
    this.#closing.abort();
    const all = [...this.#launchers.values()];
    this.#launchers.clear();
    await Promise.allSettled(all.map(async ({ launcher }) => launcher.close?.()));
  }
}
