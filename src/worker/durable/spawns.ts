import type { ChildRequest } from '../../protocol/link.ts';
import type { AnyPushable } from '../define/pushable-task.ts';
import { parseInput } from '../define/schema.ts';
import { placedForWorkspace } from '../define/workspace-placement.ts';
import { checkOptions } from './check-options.ts';
import type { Child, DependencyResult, HandlerRef, SpawnOptions } from './durable-context.ts';
import type { Journal } from './journal.ts';
import { resultOf } from './waits.ts';

export const SPAWN_OPTIONS: ReadonlySet<string> = new Set([
  'name',
  'queue',
  'priority',
  'delay',
  'runAt',
  'maxAttempts',
  'retry',
  'timeout',
  'waitTimeout',
  'unique',
  'placement',
  'limits',
  'fairness',
  'reuse',
] satisfies (keyof SpawnOptions)[]);

/** Children that a handler starts, and the results of its dependencies. */
export class Spawns {
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  readonly spawn = (task: AnyPushable | HandlerRef, input?: unknown, options: SpawnOptions = {}): Promise<Child> => {
    const handler = 'handler' in task ? task.handler : task.name;
    return this.#journal.at('spawn', options?.name ?? handler, async (place) => {
      checkOptions(`options of spawn ${place}`, options, SPAWN_OPTIONS);
      const journal = this.#journal;
      const key = `spawn:${place}`;
      const known = await journal.recall(key);
      if (known !== undefined) return JSON.parse(known) as Child;
      journal.refuseStopped();
      return JSON.parse(await journal.spawnChild(key, await childRequestOf(task, handler, input, options))) as Child;
    });
  };

  readonly dependencies = async (): Promise<readonly DependencyResult[]> =>
    (await this.#journal.session.dependencies()).map((one) => ({ ...resultOf(one), optional: one.optional }));
}

/** The child as the link takes it, after its input was checked. */
export async function childRequestOf(
  task: AnyPushable | HandlerRef,
  handler: string,
  input: unknown,
  { name: _name, ...options }: SpawnOptions,
): Promise<ChildRequest> {
  const given = withoutUndefined(options);
  if ('handler' in task) return { queue: task.queue, ...given, handler, input };
  const parsed = await parseInput(task.schema, input, handler);
  const { queue, retry, maxAttempts, timeoutMs, waitTimeoutMs, placement, limits, reuse } = task;
  const defaults = { retry, maxAttempts, timeout: timeoutMs, waitTimeout: waitTimeoutMs, placement, limits, reuse };
  const request = { queue, ...withoutUndefined(defaults), ...given, handler, input };
  if (task.workspace === undefined) return request;
  const placed = placedForWorkspace(handler, task.workspace, parsed, request.placement);
  return { ...request, ...(placed === undefined ? {} : { placement: placed }) };
}

function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
