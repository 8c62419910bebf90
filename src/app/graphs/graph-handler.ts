/** The handler `graph` of a worker: what runs graphs is loaded with the first of them. */
import { GRAPH_HANDLER, GRAPH_QUEUE, GRAPH_TRIES } from '../../flow/graph/graph-run.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { realWorld } from '../world.ts';

/** Nodes that only compute run in the worker that has it; all others are tasks of their handlers. */
export function graphs(): AnyTask {
  let loaded: Promise<AnyTask> | undefined;
  const definition = task(GRAPH_HANDLER, {
    queue: GRAPH_QUEUE,
    maxAttempts: GRAPH_TRIES,
    run: () => {
      throw new Error('a graph is driven');
    },
  });
  return Object.freeze({
    ...definition,
    drive: async (...given: Parameters<NonNullable<AnyTask['drive']>>) => {
      loaded ??= load();
      const { drive } = await loaded;
      return (drive as NonNullable<typeof drive>)(...given);
    },
  });
}

async function load(): Promise<AnyTask> {
  const { graphTask } = await import('../../worker/graph/graph-task.ts');
  return graphTask({ world: realWorld() });
}
