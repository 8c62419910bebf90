import { fault } from '../../core/errors.ts';
import { MAX_SCHEMA_BYTES } from '../../core/placement/worker.ts';
import { encodePayload } from '../../core/task/payload.ts';

/**
 * The part of the Standard Schema interface that a validator must have. zod, valibot, arktype and others have it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema, which some validators have as well. */
    readonly jsonSchema?: JsonSchemaMaker | undefined;
  };
}

interface JsonSchemaMaker {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => Readonly<Record<string, unknown>>;
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InferInput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input'];
export type InferOutput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output'];

const MAX_ISSUES = 5;

/** The value as the schema transforms it; refused with every problem and its path. */
export async function parseInput(schema: StandardSchema | undefined, value: unknown, task: string): Promise<unknown> {
  if (schema === undefined) return value;
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  const problems = result.issues.slice(0, MAX_ISSUES).map(describe);
  const more = result.issues.length - problems.length;
  throw fault('INVALID_INPUT', {
    field: `input of ${task}`,
    problem: [...problems, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
  });
}

/** The schema as JSON Schema text; undefined where its library cannot make it, or it is too large for a form. */
export function jsonSchemaOf(schema: StandardSchema | undefined): string | undefined {
  try {
    const made = schema?.['~standard'].jsonSchema?.input({ target: 'draft-2020-12' });
    return made === undefined ? undefined : encodePayload(made, { maxBytes: MAX_SCHEMA_BYTES });
  } catch {
    // Such as a date, which JSON does not have: the task works without a form too.
    return undefined;
  }
}

function describe({ message, path }: SchemaIssue): string {
  const place = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return place === '' ? message : `${place}: ${message}`;
}
