/** DBOS through its public API: a workflow with steps, which needs no queue. */
import { load } from '../../contenders/peer.ts';
import { effect, effects } from '../effects.ts';
import { type Output, type Place, type Runner, STEPS } from '../part.ts';

type Workflow = (run: number) => Promise<Output>;

// The parts of the package used here.
interface DbosModule {
  DBOS: {
    setConfig(config: Record<string, unknown>): void;
    registerWorkflow(run: Workflow, config: { name: string }): Workflow;
    startWorkflow(workflow: Workflow): (run: number) => Promise<{ getResult(): Promise<Output> }>;
    runStep(step: () => Promise<string>, config: { name: string }): Promise<string>;
    launch(): Promise<void>;
    shutdown(options: { workflowCompletionTimeoutMS: number; deregister: boolean }): Promise<void>;
  };
}

/** Of 10, 20 and 32 it was the fastest. */
const POOL = 20;
const quiet = (): void => {};
const logger = { info: quiet, debug: quiet, warn: quiet, error: (message: unknown) => console.error(message) };

export async function openDbos({ at }: Place): Promise<Runner> {
  const { DBOS } = await load<DbosModule>('@dbos-inc/dbos-sdk');
  DBOS.setConfig({
    name: 'bench',
    // It reads the host of an address, which a socket has none of; the parameter says more.
    systemDatabaseUrl: at.replace('@/', '@localhost/'),
    systemDatabasePoolSize: POOL,
    logger,
    applicationVersion: '1',
    executorID: `bench-${process.pid}`,
  });
  const workflow = DBOS.registerWorkflow(
    async (run) => {
      let last = '';
      for (let n = 1; n <= STEPS; n++) last = await DBOS.runStep(async () => effect(run, n), { name: `s${n}` });
      return { n: STEPS, last };
    },
    { name: 'steps' },
  );
  await DBOS.launch();
  return {
    run: async (run) => (await DBOS.startWorkflow(workflow)(run)).getResult(),
    async close() {
      await DBOS.shutdown({ workflowCompletionTimeoutMS: 10_000, deregister: true });
      return effects();
    },
  };
}
