/** Durable runs in tests: a real engine in virtual time, or on a Postgres whose clock is ours, worked on by hand, with a crash after any commit. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DirectLink } from '../../../src/app/link/direct-link.ts';
import { openNode } from '../../../src/app/node.ts';
import { isFinal } from '../../../src/core/task/task.ts';
import type { World } from '../../../src/core/world.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../../src/flow/machine/machine-run.ts';
import type { Assignment, Session } from '../../../src/protocol/link.ts';
import { VirtualWorld } from '../../../src/store/conformance/kit/virtual-world.ts';
import { type AgentFunction, AgentRegistry } from '../../../src/worker/agents/registry.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import { bundleMachine } from '../../../src/worker/machine/durable/bundle.ts';
import { machineTask } from '../../../src/worker/machine/durable/machine-task.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import type { MachineSource } from '../../../src/worker/machine/loader-options.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';
import { runHandler } from '../../../src/worker/runner/run-handler.ts';
import type { AttemptSession, RunOutcome, RunRequest } from '../../../src/worker/runner/runner.ts';
import { driveWorkflow, isWorkflow } from '../../../src/worker/workflow/workflow.ts';
import type { AttemptWorkspace } from '../../../src/worker/workspace/attempt-workspace.ts';

/** A store that is in another process. */
export interface Elsewhere {
  readonly path: string;
  /** What waits for that process waits in real time. */
  readonly world: World;
  /** What passes for machines passes there too. */
  readonly elapse: (ms: number) => Promise<void>;
}

export interface DurableSceneOptions {
  readonly url?: string;
  /** In place of `url`. */
  readonly elsewhere?: Elsewhere;
  readonly hooks?: readonly MachineHooks[];
  readonly registry?: HooksRegistry;
  readonly agents?: Readonly<Record<string, AgentFunction>>;
  readonly tools?: Readonly<Record<string, Parameters<AgentRegistry['tool']>[1]>>;
  readonly machines?: ReadonlyMap<string, MachineSource>;
  /** Folders in which loops may work, by their names. */
  readonly loopRoots?: ReadonlyMap<string, string>;
  /** What an attempt has for its folder, until it is closed; that of a crash is not. */
  readonly workspaces?: (request: RunRequest) => AttemptWorkspace;
  /** Workflows, and plain tasks that they start. */
  readonly tasks?: readonly AnyTask[];
}

const EXPIRY_STEPS = 100;
const EXPIRY_STEP_MS = 4000;
const EXPIRY_PAUSE_MS = 50;
const SHORT_LEASE_MS = 3000;

/** The process is gone: nothing that comes after it has any effect. */
class Crashed extends Error {}

interface Deaths {
  readonly crashAt?: number | undefined;
  readonly crashBefore?: number | undefined;
  /** Attempts; default all that there are. */
  readonly most?: number | undefined;
}

export class DurableScene {
  readonly engine: Awaited<ReturnType<typeof openNode>>['engine'];
  /** That of machines and their agents. */
  readonly world: VirtualWorld;
  /** Commits so far. */
  turns = 0;
  crashes = 0;
  readonly logged: string[] = [];
  readonly #session: Session;
  readonly #tasks: ReadonlyMap<string, AnyTask>;
  readonly #tick: (duty: 'reaper' | 'stager') => Promise<unknown>;
  readonly #bundles = new Map<string, string>();
  readonly #machines: ReadonlyMap<string, MachineSource>;
  readonly #elsewhere: Elsewhere | undefined;
  readonly #workspaces: DurableSceneOptions['workspaces'];

  private constructor(
    node: Awaited<ReturnType<typeof openNode>>,
    world: VirtualWorld,
    session: Session,
    {
      elsewhere,
      hooks = [],
      registry: named,
      agents = {},
      tools = {},
      machines = new Map(),
      loopRoots,
      workspaces,
      tasks = [],
    }: DurableSceneOptions,
  ) {
    this.#workspaces = workspaces;
    this.engine = node.engine;
    this.world = world;
    this.#session = session;
    this.#tick = (duty) => node.roster.tick(duty);
    this.#machines = machines;
    this.#elsewhere = elsewhere;
    const registry = new AgentRegistry();
    for (const [name, run] of Object.entries(agents)) registry.agent(name, run);
    for (const [name, tool] of Object.entries(tools)) registry.tool(name, tool);
    const machine = machineTask({
      world,
      hooks: named ?? new HooksRegistry({ onLog: () => {} }),
      agents: registry,
      environment: () => ({}),
      own: hooks,
      loopRoots,
      bundles: this.#bundles,
    });
    this.#tasks = new Map([machine, ...tasks].map((one) => [one.name, one]));
  }

  static async open(t: Pick<TestContext, 'after'>, options: DurableSceneOptions = {}): Promise<DurableScene> {
    const world = new VirtualWorld();
    const { elsewhere, url = 'memory:' } = options;
    const node = await openNode(elsewhere?.path ?? url, {
      world: elsewhere?.world ?? world,
      duties: false,
      housekeeping: false,
      dutyMs: 86_400_000,
      ...(elsewhere === undefined ? {} : { leaseMs: SHORT_LEASE_MS }),
    });
    t.after(() => node.close());
    const session = await new DirectLink(node.engine, undefined).open({
      name: 'w',
      incarnation: 'i',
      slots: 8,
      tags: [],
      handlers: [MACHINE_HANDLER, ...(options.tasks ?? []).map(({ name }) => name)],
      queues: undefined,
    });
    return new DurableScene(node, world, session, options);
  }

  /** Pushes a run of this machine. */
  async start(source: MachineSource, input: unknown = {}, more: object = {}): Promise<number> {
    const { hash, text } = await bundleMachine(source, { machines: this.#machines });
    this.#bundles.set(hash, text);
    const { task } = await this.engine.push({
      queue: MACHINE_QUEUE,
      handler: MACHINE_HANDLER,
      input: { definition: hash, input, executionId: 'run', ...more },
      maxAttempts: MACHINE_TRIES,
    });
    return task;
  }

  /** Pushes a run of this workflow. */
  async push({ name, queue, maxAttempts }: AnyTask, input: unknown = null): Promise<number> {
    const { task } = await this.engine.push({ queue, handler: name, input, maxAttempts });
    return task;
  }

  /**
   * Runs whatever is ready until nothing is, and time until nothing comes of it. `crashAt`: the process dies right after the commit of this
   * number, and another one goes on when the lease has run out. `crashBefore`: it dies right before that commit.
   */
  async work({ crashAt, crashBefore, most = 10_000 }: Deaths = {}): Promise<void> {
    for (let idle = 0, attempts = 0; idle < 3 && attempts < most; ) {
      await this.#tick('stager');
      await this.#tick('reaper');
      const [assignment] = await this.#session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal });
      if (assignment === undefined) {
        idle++;
        await this.#pass(60_000);
        continue;
      }
      idle = 0;
      attempts++;
      await this.#run(assignment, { crashAt, crashBefore });
    }
  }

  async #pass(ms: number): Promise<void> {
    await this.#elsewhere?.elapse(ms);
    await this.world.advance(ms);
  }

  /** The lease of a crashed attempt runs out. A server that has only just started gives leases more time, by its real clock. */
  async #expire(task: number): Promise<void> {
    if (this.#elsewhere === undefined) await this.#pass(120_000);
    for (let n = 0; this.#elsewhere !== undefined && n < EXPIRY_STEPS; n++) {
      if ((await this.engine.get(task))?.state !== 'running') return;
      await this.#elsewhere.elapse(EXPIRY_STEP_MS);
      await this.#tick('reaper');
      await pause(EXPIRY_PAUSE_MS);
    }
  }

  /** One attempt, as a worker makes it. */
  async #run(assignment: Assignment, deaths: Deaths): Promise<void> {
    const stop = new AbortController();
    const session = this.#attemptSession(assignment, deaths);
    const { task, attempt, id, queue, handler, payload, tries, maxTries } = assignment;
    const request = { task, attempt, id, queue, handler, payload, tries, maxTries, alone: false };
    const workspaces = this.#workspaces?.(request);
    const parts = {
      session,
      signal: stop.signal,
      log: (text: string) => void this.logged.push(text),
      progress: () => {},
      workspaces,
    };
    const definition = this.#tasks.get(handler);
    assert.ok(definition);
    try {
      const driving = this.#drive(definition, request, parts);
      const outcome = await this.#meanwhile(driving);
      await workspaces?.close('completed');
      if (outcome.kind === 'parked') return;
      if (outcome.kind === 'done') {
        await this.#session.complete(assignment, outcome.result);
        return;
      }
      assert.ok('error' in outcome, outcome.kind);
      await this.#session.fail(assignment, String(outcome.error), { giveUp: outcome.kind === 'giveUp' });
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
      this.crashes++;
      await this.#expire(task);
    }
  }

  #drive(definition: AnyTask, request: RunRequest, parts: Omit<DrivenAttempt, 'request'>): Promise<RunOutcome> {
    const { drive } = definition;
    if (drive === undefined) return runHandler(definition, request, parts);
    const input = JSON.parse(request.payload) as unknown;
    const attempt = { request, ...parts };
    return isWorkflow(definition) ? driveWorkflow(definition, input, attempt, this.world) : drive(input, attempt);
  }

  /** Retries of agents wait within their slot: time goes on for them. */
  async #meanwhile<T>(driving: Promise<T>): Promise<T> {
    let over = false;
    const ended = (): void => void (over = true);
    driving.then(ended, ended);
    // An answer of another process takes real time, and what waits in ours after it must not wait for ever.
    const isSlow = this.#elsewhere !== undefined || this.#workspaces !== undefined;
    for (let n = 0; !over && n < (isSlow ? 100_000 : 10_000); n++) {
      await this.world.settle();
      if (!over && isSlow) await pause(1);
      if (!over) await this.world.advance(100);
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
      journal: alive(() => session.journal(lease)),
      waited: alive(() => session.waited(lease)),
      results: alive((tasks) => session.results(lease, tasks)),
      dependencies: alive(() => session.dependencies(lease)),
      definition: alive((hash) => session.definition(lease, hash)),
      cancelChildren: alive((tasks) => session.cancelChildren(lease, tasks)),
      turn: alive(async (turn) => {
        if (this.turns + 1 !== crashBefore || this.crashes > 0) {
          const turned = await session.turn(lease, turn);
          this.turns++;
          if (this.turns !== crashAt) return turned;
        }
        dead = true;
        throw new Crashed('it dies here');
      }),
    };
  }

  /** What became of a run. */
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
