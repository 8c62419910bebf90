import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { normalizeUses } from '../../core/limits/limit.ts';
import { checkName } from '../../core/names.ts';
import { normalizePermissions } from '../../core/placement/permissions.ts';
import { normalizePlacement } from '../../core/placement/placement.ts';
import { normalizeRetry } from '../../core/task/retry.ts';
import { normalizeReuse } from '../../core/task/reuse.ts';
import { MAX_TRIES_BOUND } from '../../core/task/task.ts';
import { readWorkspaceSpec } from '../../core/workspace/spec.ts';
import type { Given, TaskContext, TaskDefinition, TaskOptions } from './definition.ts';
import type { OutcomeValue } from './outcome.ts';
import type { StandardSchema } from './schema.ts';

const KNOWN: ReadonlySet<string> = new Set([
  'input',
  'queue',
  'retry',
  'maxAttempts',
  'timeout',
  'waitTimeout',
  'placement',
  'workspace',
  'limits',
  'reuse',
  'permissions',
  'isolation',
  'module',
  'run',
] satisfies (keyof TaskOptions<undefined, unknown>)[]);

/** Defines a task. All its options are checked here, once, and not at the first push. */
export function task<S extends StandardSchema | undefined = undefined, R = unknown>(
  name: string,
  options: TaskOptions<S, R>,
): TaskDefinition<Given<S>, OutcomeValue<Awaited<R>>> {
  checkName('handler', name);
  if (typeof options !== 'object' || options === null) throw refuse(name, 'its options must be an object');
  for (const option of Object.keys(options)) {
    if (!KNOWN.has(option)) {
      const known = [...KNOWN].join(', ');
      throw fault('UNKNOWN_OPTION', { option, known }, { hint: `The options of a task are ${known}.` });
    }
  }
  const { input, queue, retry, maxAttempts, timeout, waitTimeout, placement, limits, reuse, module } = options;
  const { isolation = 'inline', permissions, workspace } = options;
  if (typeof options.run !== 'function') throw refuse(name, 'run must be a function');
  if (input !== undefined && typeof input['~standard']?.validate !== 'function') {
    throw refuse(name, 'input must be a Standard Schema, such as those of zod, valibot or arktype');
  }
  if (isolation !== 'inline' && isolation !== 'process') {
    throw refuse(name, `isolation is inline or process, not ${JSON.stringify(isolation)}`);
  }
  if (
    maxAttempts !== undefined &&
    !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= MAX_TRIES_BOUND)
  ) {
    throw refuse(name, `maxAttempts must be a whole number from 1 to ${MAX_TRIES_BOUND}`);
  }
  if (module !== undefined && !URL.canParse(module)) throw refuse(name, 'module must be a URL: give import.meta.url');
  if (retry !== undefined) normalizeRetry(retry);
  if (placement !== undefined) normalizePlacement(placement);
  if (limits !== undefined) normalizeUses(limits);
  if (reuse !== undefined) normalizeReuse(reuse);
  if (permissions !== undefined) normalizePermissions(permissions);
  if (workspace !== undefined && typeof workspace !== 'function') checkWorkspace(name, workspace);
  return Object.freeze({
    name,
    queue: checkName('queue', queue ?? name),
    schema: input,
    retry,
    maxAttempts,
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, 'timeout'),
    waitTimeoutMs: waitTimeout === undefined ? undefined : parseDuration(waitTimeout, 'waitTimeout'),
    placement,
    limits,
    reuse,
    permissions,
    ...(workspace === undefined ? {} : { workspace }),
    isolation,
    module,
    run: (value: unknown, ctx: TaskContext) => options.run(value as never, ctx),
  });
}

function checkWorkspace(name: string, workspace: unknown): void {
  const read = readWorkspaceSpec(workspace);
  if (!('spec' in read)) throw refuse(name, `its workspace: ${read.problems.join('; ')}`);
}

function refuse(name: string, problem: string): Error {
  return fault('INVALID_INPUT', { field: `task ${name}`, problem });
}
