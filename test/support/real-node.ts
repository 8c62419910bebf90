/** A node as a process of its own, asked over HTTP as any user would. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainAgent } from './dazflow-agent.ts';
import { type Running, run, temporaryFolder } from './leasehold.ts';

/** What came over the wire: the tests say what it should be. */
// oxlint-disable-next-line typescript/no-explicit-any
type Wire = any;

/** A host that is busy may need long; what never comes fails then. */
const PATIENCE_MS = 60_000;

export class RealNode {
  readonly process: Running;
  readonly url: string;
  readonly token: string;

  private constructor(process: Running, url: string, token: string) {
    this.process = process;
    this.url = url;
    this.token = token;
  }

  /** `leasehold up` with these options, on a folder of its own unless one is given. */
  static async start(t: TestContext, options: readonly string[], cwd = temporaryFolder(t)): Promise<RealNode> {
    const process = run(t, ['up', '--port', '0', ...options], { cwd });
    const url = await process.address();
    const token = readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim();
    const node = new RealNode(process, url, token);
    await node.until(async () => (await fetch(`${url}/readyz`)).status === 200, 'the node is ready');
    return node;
  }

  /** One that was started otherwise. */
  static of(process: Running, url: string, token: string): RealNode {
    return new RealNode(process, url, token);
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: Wire }> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** What was answered, or the test fails. */
  async call(method: string, path: string, body?: unknown): Promise<Wire> {
    const answer = await this.ask(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.body;
  }

  /** The secret of a new worker. */
  async enrol(name: string, more: object = {}): Promise<string> {
    return (await this.call('POST', '/workers', { name, ...more })).secret as string;
  }

  /** A dazflow agent that was let in. */
  async agent(name: string, more: object = {}): Promise<PlainAgent> {
    return PlainAgent.enter(this.url, { name, secret: await this.enrol(name, { handlers: null, ...more }) });
  }

  async push(task: object): Promise<string> {
    return (await this.call('POST', '/tasks', { queue: 'work', handler: 'node-1', ...task })).id as string;
  }

  task(id: string): Promise<Wire> {
    return this.call('GET', `/tasks/${id}`);
  }

  /** The newest process of that name. */
  async worker(name: string): Promise<Wire> {
    const { workers } = await this.call('GET', '/workers');
    return workers.findLast((one: { readonly name: string }) => one.name === name);
  }

  async lines(id: string): Promise<readonly string[]> {
    const { lines } = await this.call('GET', `/tasks/${id}/logs?limit=500`);
    return lines.map(({ text }: { readonly text: string }) => text);
  }

  async until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(20))
      if (await isSo()) return;
    assert.fail(`it never came that ${what}`);
  }

  async stop(): Promise<void> {
    this.process.child.kill('SIGTERM');
    assert.deepEqual(await this.process.ended, { code: 0, signal: null });
  }
}
