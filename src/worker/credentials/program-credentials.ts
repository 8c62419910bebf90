import { closeSync, openSync, rmSync } from 'node:fs';
import { type Field, object, oneOf, optional, type Shape, text } from '../handlers/schema.ts';
import { Redactor } from '../redaction/redactor.ts';
import type { TaskCredentials } from './handler-credentials.ts';

const entry = {
  as: oneOf(['file', 'fd', 'env']),
  name: text({ minLength: 1 }),
};
/** Of one credential: how a program gets it, and the variable that says where, or has it. */
type Way = Shape<typeof entry>;
export type ProgramWishes = Readonly<Record<string, Way>>;

const oneWay = object(entry);
const VARIABLE = /^[A-Za-z_]\w*$/;
/** The first descriptor after the standard ones. */
const FIRST_FD = 3;
const ABOUT =
  'Credentials by their names: { as: "file" | "fd" | "env", name: "VARIABLE" }. A file or a descriptor shows less.';

/** The field of an input. */
export const programCredentials: Field<ProgramWishes, true> = optional({
  optional: false,
  jsonSchema: { type: 'object', additionalProperties: oneWay.jsonSchema, description: ABOUT },
  read(value, path, report) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      report(path, 'must be an object');
      return {};
    }
    const variables = new Set<string>();
    for (const [name, given] of Object.entries(value)) {
      const checked = oneWay['~standard'].validate(given) as {
        readonly value?: Way;
        readonly issues?: readonly { readonly message: string }[];
      };
      for (const { message } of checked.issues ?? []) report([...path, name], message);
      const variable = checked.value?.name;
      if (variable === undefined) continue;
      if (!VARIABLE.test(variable) || variable.startsWith('LEASEHOLD_') || variables.has(variable))
        report([...path, name, 'name'], 'is not the name of a variable, is reserved, or is given twice');
      variables.add(variable);
    }
    return value as ProgramWishes;
  },
});

export interface ProgramCredentials {
  readonly env: Readonly<Record<string, string>>;
  /** Handed on as descriptors from 3 on. */
  readonly fds: readonly number[];
  /** Hides them in what the program says. */
  readonly redactor: Redactor;
  /** This process needs the descriptors no more. */
  close(): void;
}

/**
 * Prepares credentials for a program. A descriptor is that of a file without a name, in memory where the system has such a place: the pipes of
 * Node are sockets, which no program can open under /dev/fd.
 */
export async function forProgram(wishes: ProgramWishes, credentials: TaskCredentials): Promise<ProgramCredentials> {
  const env: Record<string, string> = {};
  const fds: number[] = [];
  const redactor = new Redactor();
  const close = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  try {
    for (const [name, { as, name: variable }] of Object.entries(wishes)) {
      const fields = await credentials.fields(name);
      redactor.add(Object.values(fields).map((one) => one.reveal()));
      if (as === 'env') {
        env[variable] = (await credentials.text(name)).reveal();
        continue;
      }
      const path = await credentials.file(name);
      if (as === 'file') env[variable] = path;
      else {
        env[variable] = `/dev/fd/${FIRST_FD + fds.length}`;
        fds.push(openSync(path, 'r'));
        rmSync(path);
      }
    }
  } catch (error) {
    close();
    throw error;
  }
  return { env, fds, redactor, close };
}

/** The same program without a core file, in which its memory would be. */
export function withoutCore(
  file: string,
  args: readonly string[],
): { readonly file: string; readonly args: readonly string[] } {
  return { file: '/bin/sh', args: ['-c', 'ulimit -c 0; exec "$@"', 'sh', file, ...args] };
}
