/** A node that is spoken to by JSON-RPC. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ServeOptions } from '../../src/app/serve.ts';
import { type Answer, type NodeScene, nodeScene, type Wire } from './node-scene.ts';

export interface RpcAsk {
  readonly token?: string | null;
  readonly path?: string;
}

let calls = 0;

export class RpcScene {
  readonly node: NodeScene;

  constructor(node: NodeScene) {
    this.node = node;
  }

  get engine(): NodeScene['engine'] {
    return this.node.engine;
  }

  /** Whatever is sent. */
  send(body: unknown, { path = '/rpc', token }: RpcAsk = {}): Promise<Answer> {
    return this.node.ask(path, { body, ...(token === undefined ? {} : { token }) });
  }

  async ask(method: string, params?: unknown, more: RpcAsk = {}): Promise<Wire> {
    const id = ++calls;
    const { body } = await this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }, more);
    assert.deepEqual([body.jsonrpc, body.id], ['2.0', id], JSON.stringify(body));
    return body;
  }

  /** The result, which must be there. */
  async call(method: string, params?: unknown, more: RpcAsk = {}): Promise<Wire> {
    const body = await this.ask(method, params, more);
    assert.equal(body.error, undefined, `${method}: ${JSON.stringify(body.error)}`);
    return body.result;
  }

  /** The code that it is refused with, which it must be. */
  async refusal(method: string, params?: unknown, more: RpcAsk = {}): Promise<number> {
    const body = await this.ask(method, params, more);
    assert.ok(body.error, `${method} was not refused: ${JSON.stringify(body.result)}`);
    return body.error.code;
  }

  /** The secret of a worker of this name. */
  async secret(name: string, tags: readonly string[] = []): Promise<string> {
    const { secret } = await this.node.call('createWorker', '/api/v1/workers', { body: { name, tags, code: false } });
    return secret;
  }

  async status(id: string): Promise<string> {
    return (await this.call('tasks.get', { task_id: id })).status;
  }

  /** A node that runs these, registered. */
  async register(id = 'n1', executors: readonly string[] = ['echo'], more: object = {}): Promise<void> {
    await this.call('register_node', { node_id: id, executor_types: executors, ...more });
  }

  /** Runs whatever a node is offered, and ends it with what `run` gives or throws. Says in which order. */
  async work(run: (lease: Wire) => unknown = ({ id }) => ({ from: id }), node = 'n1'): Promise<readonly string[]> {
    const order: string[] = [];
    for (;;) {
      const [found] = await this.call('find_executable_tasks', { node_id: node, limit: 1 });
      if (found === undefined) return order;
      const lease = await this.call('acquire_lease', { task_id: found.id, node_id: node });
      order.push(lease.id);
      const { lease_token, idempotency_key } = lease;
      const said = { task_id: found.id, node_id: node, lease_token, idempotency_key };
      let outcome: object;
      try {
        outcome = { result: run(lease) };
      } catch (error) {
        outcome = { error: (error as Error).message };
      }
      await this.call('report_completion', { ...said, ...outcome });
    }
  }
}

export async function rpcScene(t: TestContext, options: Partial<ServeOptions> = {}): Promise<RpcScene> {
  return new RpcScene(await nodeScene(t, options));
}
