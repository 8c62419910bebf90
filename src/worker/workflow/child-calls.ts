import type { Place, StoredError } from '../../flow/workflow/workflow-journal.ts';
import type { TaskResult } from '../../protocol/link.ts';
import type { AnyPushable } from '../define/pushable-task.ts';
import { checkOptions } from '../durable/check-options.ts';
import type { HandlerRef, SpawnOptions } from '../durable/durable-context.ts';
import { childRequestOf, SPAWN_OPTIONS } from '../durable/spawns.ts';
import { storedError } from './step-error.ts';
import type { Settle, WorkflowRun } from './workflow-run.ts';

export interface ChildAsked {
  readonly task: AnyPushable | HandlerRef;
  readonly input: unknown;
  readonly options: SpawnOptions;
  /** How many children of a map must end before it can go on. */
  readonly need?: (open: number) => number;
}

/** Children: tasks of the tree of the run. */
export class ChildCalls {
  readonly #run: WorkflowRun;

  constructor(run: WorkflowRun) {
    this.#run = run;
  }

  call(place: Place, asked: ChildAsked): Promise<unknown> {
    checkOptions(`options of child ${place.name}`, asked.options, SPAWN_OPTIONS);
    const { key } = place;
    return this.#run.call<unknown>(place, {
      // The store has what it gave, unless it was one of the run that this one was forked from.
      read: (text) => (text === undefined ? valueOf(this.#run.waits.resultOf(key)) : (JSON.parse(text) as unknown)),
      begin: (settle) => this.#begin(key, asked, settle),
    });
  }

  #begin(key: string, { task, input, options, need }: ChildAsked, settle: Settle): void {
    const run = this.#run;
    const wait = {
      key,
      child: true as const,
      ...(need === undefined ? {} : { need }),
      end: (came: unknown) => this.#ended(key, came as TaskResult, settle),
    };
    if (run.waits.isBorn(key)) {
      run.waits.add(wait);
      return;
    }
    const handler = 'handler' in task ? task.handler : task.name;
    run.run(async () => {
      try {
        const child = await childRequestOf(task, handler, input, options);
        const ordinal = run.note({
          what: key,
          kind: 'child',
          child,
          born: (text) => run.waits.born(key, text),
          refused: (error) => {
            run.waits.drop(key);
            settle.failed(storedError(error));
          },
        });
        run.waits.bears(key, ordinal);
        run.waits.add(wait);
      } catch (error) {
        settle.failed(storedError(error));
      }
    });
  }

  #ended(key: string, result: TaskResult, settle: Settle): void {
    if (result.state === 'completed') {
      settle.done({ what: `end:${key}`, kind: 'wait', value: { outcome: 'woken' } }, valueOf(result));
    } else settle.failed(errorOf(result));
  }
}

function valueOf({ result }: TaskResult): unknown {
  return result === undefined ? null : (JSON.parse(result) as unknown);
}

function errorOf({ id, state, result }: TaskResult): StoredError {
  const error = result === undefined ? undefined : (JSON.parse(result) as unknown);
  const said = error === undefined || error === null ? undefined : storedError(error);
  const why =
    state === 'gone' ? 'its result is no longer kept' : state === 'cancelled' ? 'it was cancelled' : undefined;
  return {
    name: said?.name ?? 'ChildError',
    message: why ?? said?.message ?? 'it gave no reason',
    code: said?.code ?? 'TASK_FAILED',
    details: { task: id, state, ...(said?.details === undefined ? {} : { error: said.details }) },
  };
}
