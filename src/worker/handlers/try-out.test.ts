import type { AnyTask } from '../define/definition.ts';
import { runHandler } from '../runner/run-handler.ts';
import type { RunOutcome, RunRequest } from '../runner/runner.ts';

export interface TriedOut {
  readonly ended: RunOutcome;
  /** What it said by `ctx.log`. */
  readonly lines: readonly string[];
}

/** For tests: one attempt of a handler, the way a runner makes it, its input checked by its schema. */
export async function tryOut(definition: AnyTask, input: unknown, signal?: AbortSignal): Promise<TriedOut> {
  const lines: string[] = [];
  const request: RunRequest = {
    task: 1,
    attempt: 1,
    id: 'task_1',
    queue: definition.queue,
    handler: definition.name,
    payload: JSON.stringify(input),
    tries: 1,
    maxTries: 3,
    alone: false,
  };
  const parts = {
    signal: signal ?? new AbortController().signal,
    log: (line: string) => void lines.push(line),
    progress: () => {},
  };
  return { ended: await runHandler(definition, request, parts), lines };
}

/** The error of an attempt that did not end well, with how it ended. */
export function problemOf({ ended }: TriedOut): {
  readonly kind: RunOutcome['kind'];
  readonly message: string;
  readonly code: unknown;
} {
  const error: Error & { code?: unknown } =
    'error' in ended && ended.error instanceof Error ? ended.error : new Error(JSON.stringify(ended));
  return { kind: ended.kind, message: error.message, code: error.code };
}
