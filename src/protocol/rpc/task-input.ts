import { z } from 'zod';

/** Tasks as apflow clients write them. Null is the same as absent. */

const MAX_ID = 100;
const MAX_DEPENDENCIES = 500;

/** Ids of the engine begin with `task_`, so that no other id can be taken for one. */
export const DocumentId = z
  .string()
  .max(MAX_ID)
  .regex(
    /^(?!task_)[A-Za-z0-9][A-Za-z0-9._:@/-]*$/,
    'it is of A-Z, a-z, 0-9, "._:@/-", and does not begin with "task_"',
  );
const Reference = z.string().min(1).max(MAX_ID);
const Fields = z.record(z.string(), z.unknown());
const Schema = z.looseObject({ properties: z.record(z.string(), z.looseObject({})).optional() });

export const Dependency = z.union([
  Reference.transform((id) => ({ id, required: true })),
  z
    .strictObject({ id: Reference.optional(), name: Reference.optional(), required: z.boolean().default(true) })
    .refine(({ id, name }) => (id === undefined) !== (name === undefined), 'it has an id, or a name')
    .transform(({ id, name, required }) => ({ id: (id ?? name) as string, required })),
]);

const Schemas = z.strictObject({
  type: z.string().max(100).nullish(),
  method: z.string().max(63).nullish(),
  input_schema: Schema.nullish(),
  output_schema: Schema.nullish(),
});

/** The fields of a task; all of them can be changed while it is pending. */
const fields = {
  name: z.string().min(1).max(255),
  priority: z.number().int().min(0).max(3).nullish(),
  dependencies: z.array(Dependency).max(MAX_DEPENDENCIES).nullish(),
  inputs: Fields.nullish(),
  params: Fields.nullish(),
  schemas: Schemas.nullish(),
  user_id: z.string().min(1).max(255).nullish(),
  parent_id: Reference.nullish(),
  placement_constraints: z.record(z.string(), z.unknown()).nullish(),
  queue: z.string().nullish(),
  max_attempts: z.number().int().min(1).max(100).nullish(),
  backoff_strategy: z.enum(['fixed', 'exponential']).nullish(),
  backoff_base_seconds: z.number().min(0.1).max(3600).nullish(),
  idempotency_key: z.string().min(1).max(255).nullish(),
};

export const TaskInput = z.strictObject({ id: DocumentId.nullish(), ...fields });
export type TaskInput = z.output<typeof TaskInput>;

export const TaskEdit = z.strictObject({ ...fields, name: fields.name.optional() });
export type TaskEdit = z.output<typeof TaskEdit>;
