import type { CredentialValue } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import { Secret } from './secret.ts';

/** The credentials of a run: those that the placement of its task names. */
export interface TaskCredentials {
  /** What `text`, `fields` and `file` take. */
  names(): readonly string[];
  /** Rejects with `CREDENTIAL_MISSING` where the task does not name it, or its worker does not hold it any more. */
  text(name: string): Promise<Secret>;
  /** Its fields; of a plain text one, named `value`. */
  fields(name: string): Promise<Readonly<Record<string, Secret>>>;
  /** The path of a file with it, for this user alone, until the attempt ends; of fields a JSON object. */
  file(name: string): Promise<string>;
}

/** Where a run finds the values, in this process or in that of its worker. */
export interface CredentialReader {
  readonly names: readonly string[];
  read(name: string): Promise<CredentialValue>;
  file(name: string): Promise<string>;
  /** Takes what was read so far out of a text. Undefined: the worker does that, and not this process. */
  hide?(text: string): string;
}

export class HandlerCredentials implements TaskCredentials {
  readonly #reader: CredentialReader | undefined;

  constructor(reader: CredentialReader | undefined) {
    this.#reader = reader;
  }

  names(): readonly string[] {
    return this.#reader?.names ?? [];
  }

  async text(name: string): Promise<Secret> {
    const value = await this.#named(name).read(name);
    if ('value' in value) return new Secret(value.value);
    throw fault('INVALID_INPUT', { field: `credential ${name}`, problem: 'it has fields; read them with fields()' });
  }

  async fields(name: string): Promise<Readonly<Record<string, Secret>>> {
    const value = await this.#named(name).read(name);
    const fields = 'value' in value ? { value: value.value } : value.fields;
    return Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, new Secret(text)]));
  }

  async file(name: string): Promise<string> {
    return this.#named(name).file(name);
  }

  #named(name: string): CredentialReader {
    if (this.#reader?.names.includes(name) === true) return this.#reader;
    throw fault('CREDENTIAL_MISSING', { credential: name, problem: 'the placement of the task does not name it' });
  }
}
