import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { DirectLink } from '../../app/link/direct-link.ts';
import { type Node, openNode } from '../../app/node.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { Link, Session, TurnRequest } from '../../protocol/link.ts';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { VirtualWorld } from '../../testing.ts';
import type { AnyTask, TaskContext } from '../define/definition.ts';
import { task } from '../define/task.ts';
import { InlineRunner } from '../runner/inline-runner.ts';
import { Worker } from '../worker.ts';

// Shared by the tests of durable calls. Named as a test, so that it is not built into the package.

export const LEASE = 30_000;
const DAY = 86_400_000;

export type Handler = (input: unknown, ctx: TaskContext) => unknown;

/** An engine in virtual time, a worker on it, and ways to make that worker die at a given word. */
export class Trial {
  readonly world: VirtualWorld;
  readonly node: Node;
  readonly warnings: string[] = [];
  /** The calls of the sessions: `turn pay#0`, `turn a#0 b#0`, `turn park w#0`, … */
  readonly calls: string[] = [];
  /** Before, or right after, it says this for the first time, the attempt is cut off: nothing more of it arrives. */
  dieBefore: string | undefined;
  dieAfter: string | undefined;
  /** Comes to pass between the word and its arrival. */
  meanwhile: ((word: string) => Promise<void>) | undefined;
  /** Errors of the next calls. */
  readonly faults: unknown[] = [];
  readonly workers: Worker[] = [];

  constructor(world: VirtualWorld, node: Node) {
    this.world = world;
    this.node = node;
  }

  get engine(): Node['engine'] {
    return this.node.engine;
  }

  /** Serves these handlers, each under its name. */
  async serve(handlers: Readonly<Record<string, Handler>>, more: readonly AnyTask[] = []): Promise<Worker> {
    const tasks = Object.entries(handlers).map(([name, run]) => task(name, { queue: 'work', run }));
    const worker = new Worker({
      link: this.#link(),
      world: this.world,
      name: `w${this.workers.length}`,
      incarnation: randomUUID(),
      runners: [new InlineRunner([...tasks, ...more], this.world.timers)],
      slots: 4,
      log: { warn: (message) => void this.warnings.push(message) },
    });
    this.workers.push(worker);
    await worker.start();
    await this.world.settle();
    return worker;
  }

  async push(handler: string, request: Partial<PushRequest> = {}): Promise<{ task: number; id: string }> {
    const pushed = await this.engine.push({ queue: 'work', handler, retry: { baseMs: 0 }, ...request });
    await this.pass(10);
    return pushed;
  }

  async pass(ms: number): Promise<void> {
    await this.world.advance(ms);
  }

  /** Time for the duties to see to what is due. */
  async stage(afterMs: number): Promise<void> {
    await this.pass(afterMs);
    await this.node.roster.tick('stager');
    await this.pass(10);
  }

  /** The leases of the worker run out, and another worker gets its tasks. */
  async expire(): Promise<void> {
    await this.pass(LEASE + 1);
    await this.node.roster.tick('reaper');
    await this.pass(1000);
  }

  async signal(channel: string, body: unknown): Promise<void> {
    await this.engine.waits.signal(channel, body);
    await this.pass(10);
  }

  async decide(channel: string, decision: unknown): Promise<void> {
    await this.engine.waits.decide({ channel }, decision);
    await this.pass(10);
  }

  async brief(number: number): Promise<string> {
    const record = await this.engine.get(number);
    assert.ok(record);
    return `${record.state} ${record.reason} ${record.tries}/${record.attempt}`;
  }

  async result(number: number): Promise<unknown> {
    const record = await this.engine.get(number);
    return record?.result === undefined ? undefined : (JSON.parse(record.result) as unknown);
  }

  async remembered(number: number): Promise<Readonly<Record<string, unknown>>> {
    const all = await this.engine.journal(number);
    return Object.fromEntries(all.map(({ key, value = 'null', ref }) => [key, ref ?? (JSON.parse(value) as unknown)]));
  }

  async log(number: number): Promise<readonly string[]> {
    return (await this.engine.logs.read(number)).filter(({ stream }) => stream === 'log').map(({ text }) => text);
  }

  async close(): Promise<void> {
    const stopping = Promise.all(this.workers.map((worker) => worker.stop({ drain: false })));
    let stopped = false;
    void stopping.then(() => (stopped = true));
    for (let n = 0; n < 1000 && !stopped; n++) await this.pass(50);
    assert.ok(stopped, 'a worker does not stop');
    checkBooks(await lookAt(this.engine.store));
    await this.node.close();
  }

  #link(): Link {
    const link = new DirectLink(this.engine, undefined);
    return {
      open: async (hello) => {
        const session = await link.open(hello);
        return new Proxy(session, {
          get: (target, key) => {
            const value: unknown = Reflect.get(target, key, target);
            if (typeof value !== 'function') return value;
            const call = value.bind(target) as (...args: unknown[]) => unknown;
            return NOTED.has(key as keyof Session) ? this.#noted(String(key), call) : call;
          },
        });
      },
    };
  }

  #noted(verb: string, call: (...args: unknown[]) => unknown): (...args: unknown[]) => Promise<unknown> {
    return async (lease, first, ...rest) => {
      const word = `${verb} ${nameOf(first)}`.trim();
      this.calls.push(word);
      if (this.faults.length > 0) throw this.faults.shift();
      const { task: number, attempt } = lease as { task: number; attempt: number };
      if (this.dieBefore === word) {
        this.dieBefore = undefined;
        throw fault('LEASE_LOST', { task: number, attempt });
      }
      await this.meanwhile?.(word);
      const answer = await call(lease, first, ...rest);
      if (this.dieAfter !== word) return answer;
      this.dieAfter = undefined;
      throw fault('LEASE_LOST', { task: number, attempt });
    };
  }
}

const NOTED: ReadonlySet<keyof Session> = new Set(['journal', 'turn', 'waited', 'results', 'dependencies'] as const);

/** A turn is named by the keys of what it writes, and of what it waits for. */
function nameOf(first: unknown): string {
  if (typeof first !== 'object' || first === null || !('then' in first)) return '';
  const { entries, then } = first as TurnRequest;
  return [...entries.map(({ key }) => key), ...(then.go === 'park' ? [`park ${then.key}`] : [])].join(' ');
}

export async function trial(t: TestContext): Promise<Trial> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: DAY, leaseMs: LEASE });
  const it = new Trial(world, node);
  t.after(() => it.close());
  return it;
}

/** The code of what it throws. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return isEngineError(error) ? error.code : String((error as Error).name);
  }
  return 'none';
}
