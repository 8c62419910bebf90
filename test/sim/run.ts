import type { StatementTexts } from '../../src/store/sqlite/statements.ts';
import type { TaskRecord } from '../../src/store/store.ts';
import { type Cast, TASKS } from './cast.ts';
import { Gates } from './gates.ts';
import { History } from './history.ts';
import { Inspector } from './inspector.ts';
import { Model } from './models/model.ts';
import { CALM, type Faults, type Plan, SETTLED_MS } from './plan.ts';
import { SimProcess } from './process.ts';
import { Rng } from './rng.ts';
import { NATURE, Scheduler } from './scheduler.ts';
import { must, Trace } from './trace.ts';

export interface RunResult {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly tasks: number;
  readonly digest: string;
  readonly gates: Gates;
  readonly failure: { readonly error: Error; readonly trace: readonly string[] } | undefined;
}

export interface RunOptions {
  readonly minSteps: number;
  /** Planted defects: other texts for some statements. */
  readonly statements?: Partial<StatementTexts>;
  /** Default: tasks of all kinds. */
  readonly cast?: Cast;
}

let runs = 0;

/** One seed: a whole cluster on one store, its clients and its misfortunes, judged after every step. */
export class Run {
  readonly seed: number;
  readonly rng: Rng;
  readonly cast: Cast;
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly gates = new Gates();
  readonly history = new History();
  readonly model: Model;
  readonly statements: Partial<StatementTexts>;
  readonly file: string;
  /** One cluster in six has a leader, who holds the duties; in the others each process tries for them. Drawn from nothing, so that the other seeds stay what they were. */
  readonly led: boolean;
  faults: Faults;
  healed = false;
  over = false;
  /** The limit is there. */
  limited = false;
  /** Each place in the cluster has a name, under which one process comes after the other. */
  readonly workerNames: readonly string[];
  readonly #options: RunOptions;
  readonly #processes: SimProcess[] = [];
  #boots = 0;
  #leader: SimProcess | undefined;
  #failure: Error | undefined;

  constructor(seed: number, options: RunOptions) {
    this.seed = seed;
    this.rng = new Rng(seed);
    this.cast = options.cast ?? TASKS;
    this.plan = this.cast.plan(this.rng);
    this.led = seed % 6 === 4;
    this.faults = this.plan.faults;
    this.workerNames = Array.from({ length: this.plan.processes }, (_, i) => `w${i + 1}`);
    this.scheduler = new Scheduler(this.rng);
    this.trace = new Trace(this.scheduler);
    this.model = new Model(this.scheduler, this.gates);
    this.statements = options.statements ?? {};
    this.file = `memory:sim-${process.pid}-${runs++}`;
    this.#options = options;
  }

  static async seed(seed: number, options: RunOptions): Promise<RunResult> {
    return new Run(seed, options).#play();
  }

  /** Any process; a frozen one too, as nobody outside can tell. */
  anyProcess(): SimProcess {
    return this.rng.pick(this.#processes.filter(({ alive }) => alive));
  }

  /** Returns false for the last one alive, which is spared. */
  crash(victim: SimProcess, why: string): boolean {
    if (!victim.alive || this.#processes.filter(({ alive }) => alive).length === 1) return false;
    victim.alive = false;
    this.trace.say(victim.name, `dies: ${why}`);
    this.scheduler.in(this.rng.int(20, 1500), NATURE, () => void this.guardAsync(this.#boot(victim.workerName)));
    return true;
  }

  /** Runs a check; the first failure ends the run. */
  guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  async guardAsync(body: Promise<unknown>): Promise<void> {
    try {
      await body;
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  async #boot(workerName: string): Promise<void> {
    const process = await SimProcess.boot(`p${++this.#boots}`, workerName, this);
    this.#processes.push(process);
    this.trace.say(process.name, 'starts');
    void this.guardAsync(this.cast.work(this, process));
  }

  async #play(): Promise<RunResult> {
    for (const name of this.workerNames) await this.#boot(name);
    const inspector = new Inspector(
      `file:/leasehold-${this.file.slice('memory:'.length)}?vfs=memdb`,
      this.model,
      this.plan.retentionMs,
    );
    for (const one of this.cast.enter(this)) void this.guardAsync(one);
    try {
      await this.#storm(inspector);
      await this.#heal(inspector);
      if (this.#failure === undefined) this.cast.judge(this, await this.#finalLook(inspector));
    } catch (error) {
      this.#failure ??= error as Error;
    }
    this.over = true;
    inspector.close();
    for (const process of this.#processes) await process.store.close();
    return {
      seed: this.seed,
      steps: this.scheduler.steps,
      simulatedMs: this.scheduler.now,
      tasks: this.model.tasks.size,
      digest: this.trace.digest(),
      gates: this.gates,
      failure: this.#failure && { error: this.#failure, trace: this.trace.last },
    };
  }

  async #storm(inspector: Inspector): Promise<void> {
    const { scheduler, plan } = this;
    while (scheduler.steps < this.#options.minSteps || scheduler.now < plan.untilMs) {
      if (!(await this.#step(inspector))) return;
    }
  }

  /** Liveness: with the faults gone, every task ends. */
  async #heal(inspector: Inspector): Promise<void> {
    this.healed = true;
    this.faults = CALM;
    for (const process of this.#processes) process.frozenUntil = 0;
    this.trace.say('nature', 'heals');
    void this.guardAsync(this.cast.tidy(this));
    const limit = this.scheduler.steps + this.cast.healingSteps;
    const quietAt = this.scheduler.now + SETTLED_MS;
    while (this.cast.busy?.() || this.model.unfinished().length > 0 || this.scheduler.now < quietAt) {
      if (!(await this.#step(inspector))) return;
      must(
        this.scheduler.steps < limit,
        'I5',
        () => `tasks ${this.model.unfinished()} do not end after the faults have`,
      );
    }
  }

  async #step(inspector: Inspector): Promise<boolean> {
    const went = await this.scheduler.step();
    if (this.#failure === undefined) {
      this.guard(() => this.gates.reach('tasks pruned', inspector.look()));
      this.guard(() => this.#lookAtLeaders());
    }
    return went && this.#failure === undefined;
  }

  /** Each goes by its own clock, also one that is frozen: what it would find if it woke now. */
  #lookAtLeaders(): void {
    const leaders = this.#processes.filter(({ alive, election }) => alive && election?.leads);
    must(leaders.length <= 1, 'I9', () => `${leaders.map(({ name }) => name).join(' and ')} lead at the same time`);
    const [leader] = leaders;
    if (leader === undefined || leader === this.#leader) return;
    if (this.#leader !== undefined) this.gates.reach('leader followed by another');
    this.#leader = leader;
  }

  /** What a client reads in the end, through the engine. */
  async #finalLook(inspector: Inspector): Promise<ReadonlyMap<number, TaskRecord | undefined>> {
    const { engine } = this.anyProcess();
    const look = new Map<number, TaskRecord | undefined>();
    let done = false;
    const reading = this.guardAsync(
      (async () => {
        for (const task of this.model.tasks.keys()) look.set(task, await engine.get(task));
        done = true;
      })(),
    );
    while (!done && (await this.#step(inspector)));
    await reading;
    this.guard(() => inspector.lookAtAll());
    return look;
  }
}
