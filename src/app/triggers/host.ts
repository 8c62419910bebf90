import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TriggerHost } from '../../engine/triggers/trigger-host.ts';
import type { Executors } from './executors.ts';

/** Has the scaler of a pool look at it, now. Its answer is told in the history of the trigger. */
export type CheckPool = (pool: string, input: unknown) => Promise<unknown>;

/** What this process does for the triggers of its engine. What reads machines is loaded with the first run. */
export interface AppTriggerHost extends TriggerHost {
  readonly engine: Engine | undefined;
  attach(engine: Engine): void;
  /** From now on it executes too. */
  execute(executors: Pick<Executors, 'serve'>): void;
}

export function lazyHost(checkPool: CheckPool | undefined): AppTriggerHost {
  let engine: Engine | undefined;
  let executors: Pick<Executors, 'serve'> | undefined;
  return {
    get engine() {
      return engine;
    },

    attach(made) {
      engine = made;
    },

    execute(made) {
      executors = made;
    },

    async plan(run, input) {
      const [{ EngineSnapshot }, { planRun }] = await Promise.all([
        import('../../operate/engine-snapshot.ts'),
        import('../../operate/triggers/plan-run.ts'),
      ]);
      return planRun(new EngineSnapshot(engine as Engine), run, input);
    },

    async check(pool, input) {
      if (checkPool !== undefined) return checkPool(pool, input);
      const hint = 'Pools are looked after by a node that was started with them; fire the trigger there.';
      throw fault('NOT_FOUND', { kind: 'pool', id: `${pool} on this node` }, { hint });
    },

    serve: (execution, queue) => executors?.serve(execution, queue),
  };
}
