import { AsyncLocalStorage } from 'node:async_hooks';
import { DirectLink } from '../../../src/app/link/direct-link.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import type { Turned } from '../../../src/protocol/link.ts';
import { AgentRegistry } from '../../../src/worker/agents/registry.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import type { machineTask } from '../../../src/worker/machine/durable/machine-task.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';
import { InlineRunner } from '../../../src/worker/runner/inline-runner.ts';
import type { AttemptSession } from '../../../src/worker/runner/runner.ts';
import { Worker } from '../../../src/worker/worker.ts';
import { sleep } from '../calls.ts';
import type { Acting, RunModel } from '../models/run-model.ts';
import type { SimProcess } from '../process.ts';
import type { Run } from '../run.ts';
import { COST } from './drawn-machine.ts';
import { actionOf, answerOf, type Context } from './effects.ts';

export type Driver = typeof machineTask;

/** Which attempt an effect belongs to: hooks are not told. */
const attempts = new AsyncLocalStorage<Acting>();

/** The real worker with the real handler, as long as its process lives: claims, slots, renewals, and the driver of machines. */
export async function workMachines(run: Run, process: SimProcess, model: RunModel, driver: Driver): Promise<void> {
  const { rng, plan } = run;
  const { engine, name, workerName } = process;
  const { world } = engine;
  for (let n = 0; ; n++) {
    const worker = new Worker({
      link: new DirectLink(engine, undefined, { heartbeatMs: Math.ceil(plan.leaseMs / 2) }),
      world,
      name: workerName,
      incarnation: `${name}-${n}`,
      runners: [new InlineRunner([watched(driver(optionsOf(run, process, model)), run)], world.timers)],
      slots: rng.int(1, 4),
      lookahead: rng.int(0, 2),
      ladder: { abortMs: 50, termMs: 50 },
    });
    const started = await worker.start().then(
      () => true,
      (error: unknown) => {
        if (!isEngineError(error) || !error.retryable) throw error;
        return false;
      },
    );
    if (started && !run.healed && rng.chance(0.4)) void stopLater(run, process, worker);
    if (started) await worker.ended;
    await sleep(run, process, 50);
  }
}

/** Somebody ends the worker, and starts another one in its place. */
async function stopLater(run: Run, process: SimProcess, worker: Worker): Promise<void> {
  await sleep(run, process, run.rng.int(100, 2000));
  run.gates.reach('worker was told to stop');
  run.trace.say(process.name, 'its worker is told to stop');
  await worker.stop(run.rng.chance(0.5) ? { drain: false } : { drainMs: run.rng.int(0, 300) });
}

function optionsOf(run: Run, process: SimProcess, model: RunModel): Parameters<Driver>[0] {
  const effect = async (step: number, what: string): Promise<Acting> => {
    const acting = attempts.getStore() as Acting;
    run.guard(() => model.begins(acting, step, what));
    run.trace.say(process.name, `${acting.task}#${acting.attempt} step ${step}: ${what}`);
    if (run.rng.chance(0.6)) await sleep(run, process, run.rng.int(1, run.healed ? 20 : run.plan.leaseMs / 2));
    model.ends(acting);
    return acting;
  };
  const hooks: MachineHooks = {
    onAction: async (...given: readonly unknown[]) => {
      const [action, context] = [given[0] as string, given.at(-1) as Context];
      await effect((context['machine'] as { readonly step: number }).step, action);
      return actionOf(action, context);
    },
  };
  const agents = new AgentRegistry().agent('writer', async ({ about, step }) => {
    const acting = await effect(Number(step), `writer, ${String(about)}`);
    model.used(acting, COST);
    return answerOf(about);
  });
  return {
    world: process.engine.world,
    hooks: new HooksRegistry({ onLog: () => {} }),
    agents,
    environment: () => ({}),
    own: [hooks],
    programs: false,
  };
}

/** The same handler, which notes what each attempt is told of its lease. */
function watched(task: AnyTask, run: Run): AnyTask {
  const { drive } = task;
  if (drive === undefined) throw new Error('machines are driven');
  return {
    ...task,
    drive: (input: unknown, attempt: DrivenAttempt) => {
      const { request, session, signal, log, progress } = attempt;
      const acting: Acting = { task: request.task, attempt: request.attempt, over: undefined };
      const own = { request, session: listening(session, acting, run), signal, log, progress };
      return attempts.run(acting, () => drive(input, own));
    },
  };
}

function listening(session: AttemptSession, acting: Acting, { gates }: Run): AttemptSession {
  return {
    journal: () => session.journal(),
    waited: () => session.waited(),
    results: (tasks) => session.results(tasks),
    dependencies: () => session.dependencies(),
    definition: (hash) => session.definition(hash),
    cancelChildren: (tasks) => session.cancelChildren(tasks),
    turn: async (request): Promise<Turned> => {
      try {
        const turned = await session.turn(request);
        if (turned.went !== 'on' && turned.went !== 'woken') acting.over = turned.went;
        return turned;
      } catch (error) {
        if (!isEngineError(error, 'LEASE_LOST')) throw error;
        acting.over = 'lost';
        gates.reach('driver told of its lost lease');
        throw error;
      }
    },
  };
}
