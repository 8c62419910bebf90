import { fault } from '../../core/errors.ts';
import type { SchemaIssue, SchemaResult } from '../../worker/define/schema.ts';
import type { FormSchema } from '../../worker/handlers/schema.ts';

/** Settings of a launcher as its schema reads them; refused with every problem and its place. */
export function readSettings<T>(schema: FormSchema<T>, settings: Readonly<Record<string, unknown>>): T {
  const result = schema['~standard'].validate(settings) as SchemaResult<T>;
  if (result.issues === undefined) return result.value;
  const problems = result.issues.map((issue) => ({ field: placeOf(issue), problem: issue.message }));
  const [first] = problems;
  if (problems.length === 1 && first !== undefined) throw fault('INVALID_INPUT', first);
  throw fault('INVALID_INPUT', {
    field: 'launcher',
    problem: problems.map(({ field, problem }) => `${field} ${problem}`).join('; '),
    problems,
  });
}

function placeOf({ path = [] }: SchemaIssue): string {
  const keys = path.map((key) => (typeof key === 'object' ? key.key : key));
  return ['launcher', ...keys].map(String).join('.');
}
