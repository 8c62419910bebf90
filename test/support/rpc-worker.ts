/** An apflow worker: it polls a node by JSON-RPC, leases, runs, renews and reports. */

import type { Wire } from './node-scene.ts';
import type { RpcScene } from './rpc-scene.ts';

export interface PollingOptions {
  readonly node: string;
  readonly executors: readonly string[];
  readonly maxParallel?: number;
  /** Secret of the worker; default: the admin token. */
  readonly token?: string;
  readonly run: (lease: Wire, signal: AbortSignal) => unknown;
}

export class PollingWorker {
  readonly #it: RpcScene;
  readonly #options: PollingOptions;
  readonly #running = new Map<
    string,
    { readonly lease: Wire; readonly stop: AbortController; readonly end: Promise<void> }
  >();
  /** Executions of the executor, and the most that ran at once. */
  readonly ran: string[] = [];
  most = 0;

  constructor(it: RpcScene, options: PollingOptions) {
    this.#it = it;
    this.#options = options;
  }

  #call(method: string, params: object): Promise<Wire> {
    const { token } = this.#options;
    return this.#it.ask(method, params, token === undefined ? {} : { token });
  }

  async start(): Promise<void> {
    const { node, executors, maxParallel = 4 } = this.#options;
    await this.#call('register_node', { node_id: node, executor_types: executors, max_parallel_tasks: maxParallel });
  }

  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** One look for work: starts what it is given, and says how much that was. */
  async poll(): Promise<number> {
    const { node } = this.#options;
    const { result: found = [] } = await this.#call('find_executable_tasks', { node_id: node });
    let started = 0;
    for (const { id } of found) if (await this.take(id)) started++;
    return started;
  }

  /** Leases a task and runs it; false: it was refused, and the executor is not called. */
  async take(id: string): Promise<boolean> {
    const { node } = this.#options;
    const { result: lease } = await this.#call('acquire_lease', { task_id: id, node_id: node });
    if (lease === undefined) return false;
    const stop = new AbortController();
    const end = this.#run(lease, stop.signal).finally(() => this.#running.delete(lease.id));
    this.#running.set(lease.id, { lease, stop, end });
    this.most = Math.max(this.most, this.#running.size);
    return true;
  }

  async #run(lease: Wire, signal: AbortSignal): Promise<void> {
    const { node, run } = this.#options;
    const { id, lease_token, idempotency_key, cached } = lease;
    const said = { task_id: id, node_id: node, lease_token, idempotency_key };
    try {
      if (cached === undefined) this.ran.push(id);
      const result = cached === undefined ? await run(lease, signal) : cached.result;
      if (!signal.aborted) await this.#call('report_completion', { ...said, result: result ?? null });
    } catch (error) {
      if (!signal.aborted) await this.#call('report_completion', { ...said, error: String((error as Error).message) });
    }
  }

  /** Renews what runs; what is lost or to be cancelled is stopped. */
  async beat(): Promise<void> {
    const { node } = this.#options;
    const held = [...this.#running.values()];
    const tokens = held.map(({ lease }) => lease.lease_token);
    const { result } = await this.#call('heartbeat', { node_id: node, leases: tokens });
    for (const { lease, stop } of held) {
      if ([...result.lost, ...result.cancel].includes(lease.lease_token)) stop.abort();
    }
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ end }) => end));
  }

  /** Until nothing is found and nothing runs. */
  async drain(): Promise<void> {
    while ((await this.poll()) > 0 || this.#running.size > 0) await this.settled();
  }

  /** Stops what runs, gives it back and says goodbye. */
  async shutdown(): Promise<void> {
    const { node } = this.#options;
    for (const { lease, stop } of this.#running.values()) {
      stop.abort();
      await this.#call('release_lease', { task_id: lease.id, lease_token: lease.lease_token });
    }
    await this.settled();
    await this.#call('deregister_node', { node_id: node });
  }
}
