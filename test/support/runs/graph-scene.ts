/** Durable runs of graphs in tests: a real engine in virtual time, or on a Postgres whose clock is ours, worked on by hand, with a crash after any commit. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DirectLink } from '../../../src/app/link/direct-link.ts';
import { openNode } from '../../../src/app/node.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import { isFinal } from '../../../src/core/task/task.ts';
import { GRAPH_HANDLER, GRAPH_QUEUE, GRAPH_TRIES, type GraphPayload } from '../../../src/flow/graph/graph-run.ts';
import type { Assignment, ChildRequest, Session } from '../../../src/protocol/link.ts';
import { VirtualWorld } from '../../../src/store/conformance/kit/virtual-world.ts';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { graphTask } from '../../../src/worker/graph/graph-task.ts';
import type { AttemptSession } from '../../../src/worker/runner/runner.ts';
import type { Elsewhere } from './durable-scene.ts';

export type Handlers = Readonly<Record<string, (input: never) => unknown>>;

export interface GraphSceneOptions {
  readonly url?: string;
  /** In place of `url`. */
  readonly elsewhere?: Elsewhere | undefined;
  readonly handlers?: Handlers;
}

class Crashed extends Error {}

type Engine = Awaited<ReturnType<typeof openNode>>['engine'];

export class GraphScene {
  readonly engine: Engine;
  /** Commits of runs so far. */
  turns = 0;
  crashes = 0;
  /** How often a journal was read. */
  reads = 0;
  /** Tasks as they were asked for. */
  readonly births: ChildRequest[] = [];
  readonly #world: VirtualWorld;
  readonly #session: Session;
  readonly #task: AnyTask;
  readonly #tick: (duty: 'reaper' | 'stager') => Promise<unknown>;
  readonly #handlers: Handlers;
  readonly #elsewhere: Elsewhere | undefined;
  readonly #definitions = new Map<string, string>();

  private constructor(
    node: Awaited<ReturnType<typeof openNode>>,
    world: VirtualWorld,
    session: Session,
    { handlers = {}, elsewhere }: GraphSceneOptions,
  ) {
    this.engine = node.engine;
    this.#world = world;
    this.#session = session;
    this.#tick = (duty) => node.roster.tick(duty);
    this.#handlers = handlers;
    this.#elsewhere = elsewhere;
    this.#task = graphTask({ world, definitions: this.#definitions });
  }

  static async open(t: Pick<TestContext, 'after'>, options: GraphSceneOptions = {}): Promise<GraphScene> {
    const world = new VirtualWorld();
    const { elsewhere, url = 'memory:', handlers = {} } = options;
    const node = await openNode(elsewhere?.path ?? url, {
      world: elsewhere?.world ?? world,
      duties: false,
      housekeeping: false,
      dutyMs: 86_400_000,
    });
    t.after(() => node.close());
    const session = await new DirectLink(node.engine, undefined).open({
      name: 'w',
      incarnation: 'i',
      slots: 8,
      tags: [],
      handlers: [GRAPH_HANDLER, ...Object.keys(handlers)],
      queues: undefined,
    });
    return new GraphScene(node, world, session, options);
  }

  async start(workflow: object, more: Partial<GraphPayload> = {}): Promise<number> {
    const text = JSON.stringify(workflow);
    const hash = createHash('sha256').update(text).digest('hex');
    this.#definitions.set(hash, text);
    const { task } = await this.engine.push({
      queue: GRAPH_QUEUE,
      handler: GRAPH_HANDLER,
      input: { definition: hash, ...more },
      maxAttempts: GRAPH_TRIES,
    });
    return task;
  }

  /** Runs whatever is ready until nothing is, and time until nothing comes of it. A run dies right after, or before, the commit of a number. */
  async work({ crashAt, crashBefore, max = 1 }: Deaths & { readonly max?: number } = {}): Promise<void> {
    for (let idle = 0; idle < 3; ) {
      await this.#tick('stager');
      await this.#tick('reaper');
      const assignments = await this.#session.claim({ max, waitMs: 0, signal: new AbortController().signal });
      idle = assignments.length === 0 ? idle + 1 : 0;
      if (assignments.length === 0) await this.#pass(60_000);
      for (const assignment of assignments) {
        if (assignment.handler === GRAPH_HANDLER) await this.#drive(assignment, { crashAt, crashBefore });
        else await this.#handle(assignment);
      }
    }
  }

  async #pass(ms: number): Promise<void> {
    await this.#elsewhere?.elapse(ms);
    await this.#world.advance(ms);
  }

  async #handle(assignment: Assignment): Promise<void> {
    const { handler, payload } = assignment;
    try {
      const result = await this.#handlers[handler]?.(JSON.parse(payload) as never);
      await this.#session.complete(assignment, result ?? null);
    } catch (error) {
      const { name, message } = error as Error;
      await this.#session.fail(assignment, { name, message }, {});
    }
  }

  async #drive(assignment: Assignment, deaths: Deaths): Promise<void> {
    const drive = this.#task.drive;
    assert.ok(drive);
    const { task, attempt, id, queue, handler, payload, tries, maxTries } = assignment;
    try {
      const driving = drive(JSON.parse(payload), {
        request: { task, attempt, id, queue, handler, payload, tries, maxTries, alone: false },
        session: this.#attemptSession(assignment, deaths),
        signal: new AbortController().signal,
        log: () => {},
        progress: () => {},
      });
      const outcome = await this.#meanwhile(driving);
      if (outcome.kind === 'parked') return;
      assert.ok('error' in outcome, outcome.kind);
      const { name, message, code } = outcome.error as Error & { readonly code?: string };
      await this.#session.fail(assignment, { name, message, code }, { giveUp: outcome.kind === 'giveUp' });
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
      this.crashes++;
      // Its lease runs out. For the time of a lease after it was started, which is real time, a server of Postgres takes back none.
      if (this.#elsewhere === undefined) await this.#pass(120_000);
      else await this.#session.release(assignment).catch(unlessLost);
    }
  }

  /** A long run gives the process its turns. */
  async #meanwhile<T>(driving: Promise<T>): Promise<T> {
    let over = false;
    const ended = (): void => void (over = true);
    driving.then(ended, ended);
    for (let n = 0; !over && n < 100_000; n++) {
      await this.#world.settle();
      if (!over) await pause(this.#elsewhere === undefined ? 0 : 1);
    }
    return driving;
  }

  #attemptSession(lease: Assignment, { crashAt, crashBefore }: Deaths): AttemptSession {
    const session = this.#session;
    let dead = false;
    const alive =
      <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        dead ? Promise.reject(new Crashed('it is dead')) : call(...args);
    return {
      journal: alive(() => {
        this.reads++;
        return session.journal(lease);
      }),
      waited: alive(() => session.waited(lease)),
      results: alive((tasks) => session.results(lease, tasks)),
      dependencies: alive(() => session.dependencies(lease)),
      definition: alive((hash) => session.definition(lease, hash)),
      cancelChildren: alive((tasks) => session.cancelChildren(lease, tasks)),
      turn: alive(async (turn) => {
        if (this.turns + 1 !== crashBefore || this.crashes > 0) {
          const turned = await session.turn(lease, turn);
          this.turns++;
          for (const entry of turn.entries) if (entry.kind === 'child') this.births.push(entry.child);
          if (this.turns !== crashAt || this.crashes > 0) return turned;
        }
        dead = true;
        throw new Crashed('it dies here');
      }),
    };
  }

  async end(task: number): Promise<{ readonly state: string; readonly output: unknown }> {
    const record = await this.engine.get(task);
    assert.ok(record);
    const { state, result } = record;
    return { state, output: isFinal(state) && result !== undefined ? JSON.parse(result) : undefined };
  }

  async journal(task: number): Promise<readonly string[]> {
    return (await this.engine.journal(task)).map(({ key }) => key);
  }
}

/** A commit that ended or parked the attempt has taken its lease. */
function unlessLost(error: unknown): void {
  if (!isEngineError(error, 'LEASE_LOST')) throw error;
}

interface Deaths {
  readonly crashAt?: number | undefined;
  readonly crashBefore?: number | undefined;
}
