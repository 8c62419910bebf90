import { hostname } from 'node:os';
import type { EngineError } from '../core/errors.ts';
import { describeFailure } from '../core/failure.ts';
import type { Lease } from '../core/lease.ts';
import type { LogEntry } from '../core/log.ts';
import { encodePayload } from '../core/payload.ts';
import type { TaskState } from '../core/task.ts';
import type { World } from '../core/world.ts';
import type { Ask, LeaseProof } from '../protocol/frames.ts';
import { HeldLeases } from '../protocol/held-leases.ts';
import type {
  Assignment,
  ChildRequest,
  Failing,
  Hello,
  Link,
  Parked,
  Remembered,
  RenewalAnswer,
  Reusable,
  Session,
  TaskRef,
  TaskResult,
  Waited,
  Waiting,
  Want,
  WorkerState,
} from '../protocol/link.ts';
import { Wire } from './wire.ts';
import type { WorkerLog } from './worker-log.ts';

export interface WsLinkOptions {
  /** Of the node, or of several that are one cluster. */
  readonly urls: readonly [string, ...string[]];
  readonly secret: string;
  readonly world: World;
  readonly log?: WorkerLog | undefined;
}

/** The way to the engine through a node, over a WebSocket. */
export class WsLink implements Link {
  readonly #options: WsLinkOptions;

  constructor(options: WsLinkOptions) {
    this.#options = options;
  }

  async open(hello: Hello): Promise<Session> {
    const session = new WsSession(this.#options, hello);
    await session.open();
    return session;
  }
}

interface WsAssignment extends Assignment {
  readonly token: string;
}

type Fenced = Extract<Ask, { lease: unknown }>;

/** Every lease is renewed at a third of its time: one that was not for so many leases is given up. */
const FORGOTTEN_LEASES = 3;

class WsSession implements Session {
  leaseMs = 0;
  /** A thread would need a connection of its own; what can block runs in child processes. */
  readonly renewal = undefined;
  readonly #wire: Wire;
  readonly #listeners = new Set<(task: number) => void>();
  /** What it was granted and has not settled: told on every new connection, so that the node knows what never arrived. */
  readonly #holding: HeldLeases<LeaseProof>;

  constructor({ urls, secret, world, log }: WsLinkOptions, hello: Hello) {
    const { name, incarnation, slots, tags, handlers, queues, priority, version } = hello;
    this.#holding = new HeldLeases(world.clock.monotonic);
    this.#wire = new Wire({
      urls,
      world,
      log,
      connect: () => ({
        name,
        secret,
        incarnation,
        slots,
        tags: [...tags],
        handlers: [...handlers],
        ...(queues === undefined ? {} : { queues: [...queues] }),
        ...(priority === undefined ? {} : { priority }),
        ...(version === undefined ? {} : { version }),
        host: hostname(),
        pid: process.pid,
        holding: [...this.#holding.all()],
      }),
      onKill: (task) => {
        for (const listener of this.#listeners) listener(task);
      },
    });
  }

  get over(): Promise<Error> {
    return this.#wire.over;
  }

  async open(): Promise<void> {
    this.leaseMs = await this.#wire.open();
  }

  async claim({ max, waitMs, signal }: Want): Promise<readonly Assignment[]> {
    if (signal.aborted) return [];
    const { n, answer } = this.#wire.asked({ type: 'task_claim', max, waitMs });
    const stop = (): void => void this.#wire.ask({ type: 'claim_stop', claim: n }).catch(() => {});
    signal.addEventListener('abort', stop, { once: true });
    try {
      const assignments = (await answer) as readonly WsAssignment[];
      for (const one of assignments) this.#holding.put(proofOf(one));
      return assignments;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async complete(lease: Assignment, result: unknown): Promise<void> {
    const text = result === undefined ? {} : { result: encodePayload(result, { field: 'result' }) };
    await this.#end(lease, { type: 'task_complete', lease: proofOf(lease), ...text });
  }

  async fail(lease: Assignment, error: unknown, options: Failing = {}): Promise<TaskState> {
    const said = { type: 'task_failed', lease: proofOf(lease), error: describeFailure(error), ...options } as const;
    return (await this.#end(lease, said)) as TaskState;
  }

  async release(lease: Assignment, options: { bounced?: boolean; delayMs?: number } = {}): Promise<TaskState> {
    return (await this.#end(lease, { type: 'task_release', lease: proofOf(lease), ...options })) as TaskState;
  }

  async cancelled(lease: Assignment): Promise<void> {
    await this.#end(lease, { type: 'task_cancelled', lease: proofOf(lease) });
  }

  async log(lease: Assignment, entries: readonly LogEntry[]): Promise<void> {
    await this.#wire.ask({ type: 'task_progress', lease: proofOf(lease), logs: [...entries] });
  }

  async checkpoints(lease: Assignment): Promise<readonly Remembered[]> {
    return (await this.#wire.ask({ type: 'checkpoints', lease: proofOf(lease) })) as readonly Remembered[];
  }

  async checkpoint(lease: Assignment, key: string, value: unknown): Promise<string> {
    const text = value === undefined ? {} : { value: encodePayload(value, { field: 'value' }) };
    return (await this.#wire.ask({ type: 'checkpoint', lease: proofOf(lease), key, ...text })) as string;
  }

  async park(lease: Assignment, wait: Waiting): Promise<Parked> {
    const { form, children, ...rest } = wait;
    const said = {
      ...rest,
      ...(form === undefined ? {} : { form: encodePayload(form, { field: 'form' }) }),
      ...(children === undefined ? {} : { children: [...children] }),
    };
    const parked = (await this.#wire.ask({ type: 'task_park', lease: proofOf(lease), wait: said })) as Parked;
    if (parked.kind === 'woken') return { kind: 'woken', body: parked.body };
    this.#holding.drop(lease);
    return parked;
  }

  async waited(lease: Assignment): Promise<Waited | undefined> {
    return (await this.#wire.ask({ type: 'waited', lease: proofOf(lease) })) as Waited | undefined;
  }

  async spawn(lease: Assignment, child: ChildRequest): Promise<{ readonly id: string; readonly task: number }> {
    const { input, ...rest } = child;
    const said = { ...rest, ...(input === undefined ? {} : { input: encodePayload(input) }) };
    const ask = { type: 'task_spawn', lease: proofOf(lease), child: said } as unknown as Fenced;
    return (await this.#wire.ask(ask)) as { id: string; task: number };
  }

  async results(lease: Assignment, tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    const found = await this.#wire.ask({ type: 'results', lease: proofOf(lease), tasks: [...tasks] });
    return (found as readonly TaskResult[]).map(wholeResult);
  }

  async dependencies(lease: Assignment): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    const found = await this.#wire.ask({ type: 'dependencies', lease: proofOf(lease) });
    return (found as readonly (TaskResult & { readonly optional: boolean })[]).map(wholeResult);
  }

  async reusable(lease: Assignment): Promise<Reusable | undefined> {
    const kept = (await this.#wire.ask({ type: 'reusable', lease: proofOf(lease) })) as Reusable | undefined;
    return kept && { id: kept.id, result: kept.result };
  }

  async keep(lease: Assignment, result: unknown): Promise<void> {
    const text = result === undefined ? {} : { result: encodePayload(result, { field: 'result' }) };
    await this.#wire.ask({ type: 'keep', lease: proofOf(lease), ...text });
  }

  async renew(leases: readonly Lease[]): Promise<readonly RenewalAnswer[]> {
    const held = leases.map((lease) => this.#holding.get(lease));
    const known = held.filter((proof) => proof !== undefined);
    const answers = (await this.#wire.ask({ type: 'lease_renew', leases: known })) as readonly RenewalAnswer[];
    for (const [i, proof] of known.entries()) {
      if (answers[i] === 'lost') this.#holding.drop(proof);
      else this.#holding.renewed(proof);
    }
    // Now, and not while the node is away: what waits to be settled must be named when it is back.
    this.#holding.dropOlderThan(FORGOTTEN_LEASES * this.leaseMs);
    let at = 0;
    return held.map((proof) => (proof === undefined ? 'lost' : (answers[at++] as RenewalAnswer)));
  }

  async cancels(): Promise<readonly Lease[]> {
    return (await this.#wire.ask({ type: 'cancels' })) as readonly Lease[];
  }

  onCancel(listener: (task: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async beat(state: WorkerState): Promise<void> {
    await this.#wire.ask({ type: 'heartbeat', state });
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** It is held no longer once this was answered, whichever way. */
  async #end(lease: Lease, ask: Fenced): Promise<unknown> {
    try {
      const value = await this.#wire.ask(ask);
      this.#holding.drop(lease);
      return value;
    } catch (error) {
      if ((error as Partial<EngineError>).code === 'LEASE_LOST') this.#holding.drop(lease);
      throw error;
    }
  }
}

function proofOf(lease: Assignment): LeaseProof {
  const { task, attempt, token } = lease as WsAssignment;
  return { task, attempt, token };
}

/** What does not apply is not sent; here it is there, and undefined. */
function wholeResult<T extends TaskResult>(found: T): T {
  return { ...found, id: found.id, result: found.result };
}
