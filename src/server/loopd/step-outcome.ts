import { encodePayload } from '../../core/task/payload.ts';
import type { BodyOf } from '../../protocol/routes.ts';

type Completion = BodyOf<'completeStep'>;

/** Everything that a worker said with the end of a step, except the proof of its lease. */
function everything(completion: Completion): Record<string, unknown> {
  const said = Object.entries(completion).filter(([name, value]) => name !== 'lease_token' && value !== undefined);
  return Object.fromEntries(said);
}

/**
 * The result of a task, for those that read it. A `result` alone is the result, as a worker of any other kind would report it. With more beside
 * it, such as an exit code, all of it is kept together.
 */
export function resultOf(completion: Completion): unknown {
  const { status: _, result, ...more } = everything(completion);
  return result === undefined || Object.keys(more).length > 0 ? everything(completion) : result;
}

/** The error of a failed task: it has a message, and beside it everything that was said. */
export function failureOf(completion: Completion): Record<string, unknown> {
  const { error, ...told } = everything(completion);
  const fields = isRecord(error) ? error : {};
  const message = textOf(error) ?? textOf(told['result']) ?? 'the step failed';
  const merged: Record<string, unknown> = { ...fields, message, ...told };
  // A field of the error may have the name of another one, such as `status`. Then the error is kept as a whole, too.
  const isIn = isRecord(error) && Object.entries(error).every(([name, value]) => merged[name] === value);
  const failure = isIn || typeof error === 'string' || error === undefined ? merged : { ...merged, error };
  // Refused here: an error that is too large would be kept as a few words.
  encodePayload(failure, { field: 'error' });
  return failure;
}

/** The artifacts of ours among what it refers to. Everything else is a text of its own, for whoever reads it. */
export function artifactsIn({ artifact_refs: refs = [] }: Completion): readonly string[] {
  const ours = refs.filter((ref): ref is string => typeof ref === 'string' && ref.startsWith('art_'));
  return [...new Set(ours)];
}

/** Undefined: nothing was said. */
export function cancellationOf(completion: Completion): Record<string, unknown> | undefined {
  const said = everything(completion);
  return Object.keys(said).length === 1 ? undefined : said;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const message = isRecord(value) ? value['message'] : undefined;
  return typeof message === 'string' ? message : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
