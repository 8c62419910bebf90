import type { Engine } from '../../engine/engine.ts';
import type { TriggerHost } from '../../engine/triggers/trigger-host.ts';
import type { Executors } from './executors.ts';

/** What this process does for the triggers of its engine. What reads machines is loaded with the first run. */
export interface AppTriggerHost extends TriggerHost {
  readonly engine: Engine | undefined;
  attach(engine: Engine): void;
  /** From now on it executes too. */
  execute(executors: Pick<Executors, 'serve'>): void;
}

export function lazyHost(): AppTriggerHost {
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

    /** Its answer is told in the history of the trigger. */
    async check(pool) {
      const { plan, acted, launches } = await (engine as Engine).pools.check(pool);
      const { want, reasons } = plan.decision;
      const started = launches.filter(({ outcome }) => outcome !== 'failed').length;
      return { want, started, sentHome: acted?.drained.length ?? 0, reasons };
    },

    serve: (execution, queue) => executors?.serve(execution, queue),
  };
}
