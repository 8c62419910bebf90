/** Runs a workflow without a store, in a world whose time stands still: what `leasehold/testing` exports. */
import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { ChildRequest, JournalValue, TaskResult, Turned, TurnRequest, Waited } from '../../protocol/link.ts';
import type { InputOf, ResultOf } from '../define/pushable-task.ts';
import type { AttemptSession, RunOutcome } from '../runner/runner.ts';
import { type AnyWorkflow, driveWorkflow } from './workflow.ts';

/** A world as `new VirtualWorld()` of this module is one. */
export interface TestWorld extends World {
  advance(ms: number): Promise<void>;
  settle(): Promise<void>;
}

export interface WorkflowTest {
  readonly world: TestWorld;
  /** What steps give instead of what they do, by their names: a value, or a function. Those of a map by `map`, or `map[0]`. */
  readonly steps?: Readonly<Record<string, unknown>>;
  /** What children give, by the names of their tasks: a value, or a function of the input. What it throws fails the child. */
  readonly children?: Readonly<Record<string, unknown>>;
  /** Signals by their names, in the order in which they come. */
  readonly signals?: Readonly<Record<string, readonly unknown[]>>;
  /** Decisions by the names of the approvals. */
  readonly approvals?: Readonly<Record<string, readonly { readonly action: string; readonly value?: unknown }[]>>;
  /** The process dies right after the commit of this number, once, and another one goes on. */
  readonly crashAfter?: number;
}

export interface WorkflowTested<R> {
  readonly state: 'completed' | 'failed' | 'waiting';
  readonly result?: R;
  /** Of a run that failed. */
  readonly error?: unknown;
  /** What it waits for, and nothing will come. */
  readonly waitsFor?: string;
  readonly attempts: number;
  readonly commits: number;
  /** What is recorded, in order: `step:charge#0`. */
  readonly recorded: readonly string[];
  readonly log: readonly string[];
}

const MOST_ATTEMPTS = 10_000;
const TICK_MS = 100;
const MOST_SLICES = 200;

/** Runs it to its end, or until it waits for something that nothing of the test gives. Timers pass at once. */
export async function testWorkflow<W extends AnyWorkflow>(
  workflow: W,
  input: InputOf<W>,
  test: WorkflowTest,
): Promise<WorkflowTested<ResultOf<W>>> {
  return new TestRun(workflow, input, test).work() as Promise<WorkflowTested<ResultOf<W>>>;
}

/** Runs it once for each of its commits, with a crash right after that commit. `make` makes what each of these runs is given. */
export async function crashEverywhere<W extends AnyWorkflow>(
  workflow: W,
  input: InputOf<W>,
  make: () => WorkflowTest,
): Promise<readonly WorkflowTested<ResultOf<W>>[]> {
  const undisturbed = await testWorkflow(workflow, input, make());
  const ends = [undisturbed];
  for (let crashAfter = 1; crashAfter <= undisturbed.commits; crashAfter++) {
    ends.push(await testWorkflow(workflow, input, { ...make(), crashAfter }));
  }
  return ends;
}

class Crashed extends Error {}

class TestRun {
  readonly #workflow: AnyWorkflow;
  readonly #payload: string;
  readonly #test: WorkflowTest;
  readonly #journal: JournalValue[] = [];
  readonly #children = new Map<number, TaskResult>();
  readonly #signals: Map<string, unknown[]>;
  readonly #approvals: Map<string, unknown[]>;
  readonly #log: string[] = [];
  #waited: Waited | undefined;
  #attempts = 0;
  #commits = 0;
  #crashed = false;
  #end: { readonly state: 'completed' | 'failed'; readonly result?: unknown; readonly error?: unknown } | undefined;
  #stuck: string | undefined;
  #slices = 0;

  constructor(workflow: AnyWorkflow, input: unknown, test: WorkflowTest) {
    this.#workflow = workflow;
    this.#payload = JSON.stringify(input ?? null);
    this.#test = test;
    const lists = (given: Readonly<Record<string, readonly unknown[]>> = {}): Map<string, unknown[]> =>
      new Map(Object.entries(given).map(([name, list]) => [name, [...list]]));
    this.#signals = lists(test.signals);
    this.#approvals = lists(test.approvals);
  }

  async work(): Promise<WorkflowTested<unknown>> {
    while (this.#end === undefined && this.#stuck === undefined && this.#attempts < MOST_ATTEMPTS)
      await this.#attempt();
    const recorded = this.#journal.map(({ key }) => key.slice(key.indexOf('/') + 1));
    const common = { attempts: this.#attempts, commits: this.#commits, recorded, log: this.#log };
    if (this.#end !== undefined) return { ...this.#end, ...common };
    return { state: 'waiting', waitsFor: this.#stuck ?? 'too many attempts', ...common };
  }

  async #attempt(): Promise<void> {
    this.#attempts++;
    const { name, queue } = this.#workflow;
    const request = {
      task: 1,
      attempt: this.#attempts,
      id: 'task_test',
      queue,
      handler: name,
      payload: this.#payload,
      tries: 1,
      maxTries: 1000,
      alone: false,
    };
    const parts = {
      request,
      session: this.#session(),
      signal: new AbortController().signal,
      log: (message: string) => void this.#log.push(message),
      progress: () => {},
    };
    const driving = driveWorkflow(this.#workflow, JSON.parse(this.#payload), parts, this.#test.world, (step) =>
      this.#stepOf(step),
    );
    let outcome: RunOutcome;
    try {
      outcome = await this.#meanwhile(driving);
    } catch (error) {
      if (error instanceof Crashed) return;
      throw error;
    }
    if ('error' in outcome) this.#end = { state: 'failed', error: outcome.error };
    if (outcome.kind === 'retryAfter') await this.#test.world.advance(outcome.delayMs);
  }

  async #meanwhile<T>(driving: Promise<T>): Promise<T> {
    let over = false;
    const ended = (): void => void (over = true);
    driving.then(ended, ended);
    while (!over) {
      await this.#test.world.settle();
      if (!over) await this.#test.world.advance(TICK_MS);
    }
    return driving;
  }

  #stepOf(name: string): ((step: unknown) => unknown) | undefined {
    const { steps = {} } = this.#test;
    const known = [name, name.replace(/\[\d+\]$/, '')].find((one) => Object.hasOwn(steps, one));
    if (known === undefined) return undefined;
    const given = steps[known];
    return typeof given === 'function' ? (given as (step: unknown) => unknown) : () => given;
  }

  #session(): AttemptSession {
    let dead = false;
    const refuse = (): Promise<never> =>
      Promise.reject(fault('CONFLICT', { problem: 'a workflow does not ask for it' }));
    return {
      journal: async () => [...this.#journal],
      waited: async () => this.#waited,
      results: async (tasks) => tasks.map((task) => this.#children.get(task as number) as TaskResult),
      dependencies: async () => [],
      cancelChildren: refuse,
      definition: async () => undefined,
      turn: async (turn) => {
        if (dead) throw new Crashed('it is dead');
        const turned = await this.#turn(turn);
        this.#commits++;
        if (this.#commits !== this.#test.crashAfter || this.#crashed) return turned;
        this.#crashed = true;
        dead = true;
        throw new Crashed('it dies here');
      },
    };
  }

  async #turn({ entries, then }: TurnRequest): Promise<Turned> {
    const texts: string[] = [];
    const born: number[] = [];
    for (const entry of entries) {
      const child = entry.kind === 'child' ? { child: true as const } : {};
      if (entry.kind === 'child') born.push(await this.#bear(entry.child));
      const value =
        entry.kind === 'child'
          ? JSON.stringify({ id: `task_${born.at(-1)}`, task: born.at(-1) })
          : JSON.stringify(entry.kind === 'signal' ? entry.body : entry.value);
      this.#journal.push({ key: entry.key, value, ...child });
      texts.push(value);
    }
    const answer = (went: Turned['went'], body?: string): Turned => ({
      went,
      entries: texts,
      ...(body === undefined ? {} : { body }),
    });
    switch (then.go) {
      case 'on':
        return answer('on');
      case 'complete':
        this.#end = { state: 'completed', result: JSON.parse(JSON.stringify(then.result ?? null)) as unknown };
        return answer('ended');
      case 'fail':
        this.#end = { state: 'failed', error: then.error };
        return answer('ended');
      case 'park': {
        const { key, channel, others = [], children, timeoutMs } = then;
        for (const one of channel === undefined ? [] : [key, ...others.map((other) => other.key)]) {
          const body = this.#take(one);
          if (body === undefined) continue;
          this.#waited = { key: one, outcome: 'woken', body };
          return { ...answer('woken', body), ...(one === key ? {} : { key: one }) };
        }
        // They have ended as they were born.
        if (children !== undefined) return answer('woken');
        this.#waited = { key, outcome: timeoutMs === undefined ? 'open' : 'timed_out' };
        if (timeoutMs === undefined) this.#stuck = key;
        else await this.#pass(key, timeoutMs);
        return answer('parked');
      }
    }
  }

  /** A run that waits for several signals in turn would do so for ever. */
  async #pass(key: string, ms: number): Promise<void> {
    await this.#test.world.advance(ms);
    this.#slices = /^(?:signal|approval):/.test(key) ? this.#slices + 1 : 0;
    if (this.#slices > MOST_SLICES) this.#stuck = key;
  }

  #take(key: string): string | undefined {
    const [, kind, name] = /^(signal|approval):(.*)#\d+$/s.exec(key) ?? [];
    const list = (kind === 'signal' ? this.#signals : this.#approvals).get(name ?? '');
    if (list === undefined || list.length === 0) return undefined;
    return JSON.stringify(list.shift() ?? null);
  }

  async #bear({ handler, input }: ChildRequest): Promise<number> {
    const task = this.#children.size + 2;
    const id = `task_${task}`;
    const { children = {} } = this.#test;
    try {
      if (!Object.hasOwn(children, handler as string)) throw new Error(`the test has no child ${String(handler)}`);
      const given = children[handler as string];
      const value = typeof given === 'function' ? await (given as (input: unknown) => unknown)(input) : given;
      this.#children.set(task, { task, id, state: 'completed', result: JSON.stringify(value ?? null) });
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      this.#children.set(task, { task, id, state: 'failed', result: JSON.stringify({ name, message }) });
    }
    return task;
  }
}
