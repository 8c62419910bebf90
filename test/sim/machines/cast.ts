import assert from 'node:assert/strict';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../../src/flow/machine/machine-run.ts';
import type { RunPush, RunPushAnswer, Turn, TurnAnswer } from '../../../src/store/store.ts';
import { bundleMachine } from '../../../src/worker/machine/durable/bundle.ts';
import { machineTask } from '../../../src/worker/machine/durable/machine-task.ts';
import { outcome, sleep } from '../calls.ts';
import type { Cast } from '../cast.ts';
import type { FinalLook } from '../checker.ts';
import { RunModel } from '../models/run-model.ts';
import { rage } from '../nature.ts';
import { drawPlan, type Plan } from '../plan.ts';
import type { SimProcess } from '../process.ts';
import { Rng } from '../rng.ts';
import type { Run } from '../run.ts';
import { NATURE, type Owner } from '../scheduler.ts';
import { must } from '../trace.ts';
import { DRAW, type DrawnRun, drawRun } from './drawn-machine.ts';
import { type Driver, workMachines } from './machine-worker.ts';
import { undisturbed } from './undisturbed.ts';

/** What a driver waits for, and what takes its lease from it. */
const CLOGGABLE = [
  'taskTurn',
  'taskTurn',
  'taskTurn',
  'leaseRenew',
  'leaseReap',
  'journalList',
  'taskCancel',
  undefined,
] as const;

/** A run, and what it would give if nothing befell it. */
interface Ordered extends DrawnRun {
  readonly hash: string;
  readonly text: string;
  readonly gives: unknown;
}

/** Machines as durable runs: each is started, is told its signals, and ends as it would have without any misfortune. */
export class Machines implements Cast {
  readonly healingSteps = 10_000;
  readonly #orders: readonly Ordered[];
  readonly #driver: Driver;
  readonly #roots = new Map<string, number>();
  #model: RunModel | undefined;
  /** Clients that have not done all that they want. */
  #busy = 0;

  private constructor(orders: readonly Ordered[], driver: Driver) {
    this.#orders = orders;
    this.#driver = driver;
  }

  /** Drawn before anything runs: machines are bundled from files, and files know no virtual time. */
  static async of(seed: number, driver: Driver = machineTask): Promise<Machines> {
    const rng = new Rng(seed);
    const runs = Array.from({ length: rng.int(1, 3) }, (_, i) => drawRun(rng, `run${i}`));
    const orders = runs.map(async (drawn) => {
      const { hash, text } = await bundleMachine(drawn.source);
      return { ...drawn, hash, text, gives: await undisturbed(drawn) };
    });
    return new Machines(await Promise.all(orders), driver);
  }

  plan(rng: Rng): Plan {
    const plan = drawPlan(rng);
    const { crashBefore, crashAfter, freeze, ...faults } = plan.faults;
    return {
      ...plan,
      clogged: rng.pick(CLOGGABLE),
      retentionMs: 600_000,
      pruneBatch: 500,
      untilMs: rng.int(1500, 4000),
      faults: { ...faults, crashBefore: 2 * crashBefore, crashAfter: 4 * crashAfter, freeze: 2 * freeze },
    };
  }

  work(run: Run, process: SimProcess): Promise<void> {
    return workMachines(run, process, this.#of(run), this.#driver);
  }

  enter(run: Run): readonly Promise<void>[] {
    return [...this.#orders.map((order) => this.#order(run, order)), this.#raise(run), rage(run)];
  }

  async tidy(): Promise<void> {}

  committed(run: Run, verb: string, params: unknown, answer: unknown): void {
    if (verb === 'runPush') {
      const { runs } = params as { readonly runs: readonly RunPush[] };
      for (const [i, one] of runs.entries())
        this.#started(run, one, (answer as readonly RunPushAnswer[])[i] as RunPushAnswer);
    }
    if (verb !== 'taskTurn') return;
    this.#of(run).committed((params as { readonly items: readonly Turn[] }).items, answer as readonly TurnAnswer[]);
  }

  busy(): boolean {
    return this.#busy > 0;
  }

  /** Every run has ended as it should, once, with as many machines as it should have. */
  judge({ model }: Run, final: FinalLook): void {
    for (const { name, gives, children } of this.#orders) {
      const root = this.#roots.get(name) as number;
      const { state, result = 'null' } = final.get(root) ?? {};
      must(state === 'completed', 'run', () => `${name}, task ${root}, has ended ${state}: ${result}`);
      const same = (): void => assert.deepEqual(JSON.parse(result), gives);
      must(
        holds(same),
        'run',
        () => `${name}, task ${root}, gave ${result}, undisturbed it gives ${JSON.stringify(gives)}`,
      );
      const born = [...model.tasks.values()].filter(({ parent }) => parent === root).length;
      must(born === children, 'run', () => `${name}, task ${root}, has started ${born} machines, not ${children}`);
    }
    for (const [task, record] of final) {
      must(record?.finishedAt !== undefined, 'run', () => `task ${task} is still ${record?.state}`);
    }
  }

  #of({ model }: Run): RunModel {
    this.#model ??= new RunModel(model);
    return this.#model;
  }

  #started({ model }: Run, { run: { name = '' } }: RunPush, answer: RunPushAnswer): void {
    if (answer.kind === 'made') {
      must(!this.#roots.has(name), 'I12', () => `${name} was made twice`);
      this.#roots.set(name, answer.task);
    } else if (answer.kind === 'exists') model.gates.reach('run started again under its name');
  }

  /** Starts a run, and says what it waits to hear: before, or while it waits. Asks until it is answered. */
  async #order(run: Run, { name, hash, text, input, signals, hard }: Ordered): Promise<void> {
    const me: Owner = { name: `client of ${name}`, alive: true, frozenUntil: 0 };
    const { rng } = run;
    this.#busy++;
    const start = {
      request: {
        queue: MACHINE_QUEUE,
        handler: MACHINE_HANDLER,
        input: { definition: hash, input, executionId: name },
        maxAttempts: MACHINE_TRIES,
      },
      run: { kind: 'machine', title: name, name },
      definition: { hash, kind: 'machine', body: text },
      ...(hard === undefined ? {} : { budgets: { tokens: { hard } } }),
    };
    let told = 0;
    const tell = async (): Promise<void> => {
      const { channel, data } = signals[told++] as Ordered['signals'][number];
      await say(run, me, channel, data as { readonly op: string });
    };
    while (told < signals.length && rng.chance(0.3)) await tell();
    await sleep(run, me, rng.int(1, 500));
    while ((await outcome(run, me, run.anyProcess().engine.runs.start(start))).status !== 'ok')
      await sleep(run, me, 100);
    while (told < signals.length) {
      await sleep(run, me, rng.int(1, 1500));
      await tell();
    }
    this.#busy--;
  }

  /** Looks for runs whose budget is used up, and gives them more. */
  async #raise(run: Run): Promise<void> {
    const { rng, model } = run;
    while (!run.over) {
      await sleep(run, NATURE, rng.int(100, 700));
      for (const root of this.#roots.values()) {
        const { engine } = run.anyProcess();
        const { value: [tokens] = [] } = await outcome(run, NATURE, engine.budgets.get(root));
        if (tokens === undefined || tokens.waiting === 0) continue;
        const hard = (model.budgets.hard(root, 'tokens') ?? 0) + rng.int(1, 2 * DRAW);
        const { status } = await outcome(run, NATURE, run.anyProcess().engine.budgets.set(root, { tokens: { hard } }));
        if (status === 'ok') run.gates.reach('budget raised');
      }
    }
  }
}

/** Under its operation id, until it is answered. */
async function say(run: Run, me: Owner, channel: string, data: { readonly op: string }): Promise<void> {
  const { op } = data;
  for (;;) {
    const call = run.anyProcess().engine.waits.signal(channel, data, { op });
    if ((await outcome(run, me, call)).status === 'ok') return;
    await sleep(run, me, 50);
  }
}

function holds(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
