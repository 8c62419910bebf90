import { type CredentialValue, textsOf } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { CredentialReader } from './handler-credentials.ts';
import type { AttemptFiles, SecretFiles } from './secret-files.ts';

/** What a worker has for its attempts. */
export interface CredentialStock {
  /** Undefined: it is not held. */
  read(name: string): Promise<CredentialValue | undefined>;
  readonly files: SecretFiles;
}

/** The credentials of one attempt, in its worker. Whatever it reads is hidden in what it says from then on. */
export class AttemptCredentials implements CredentialReader {
  readonly names: readonly string[];
  readonly #stock: CredentialStock;
  readonly #redactor: Redactor;
  #files: AttemptFiles | undefined;
  #over = false;

  constructor(names: readonly string[], stock: CredentialStock, redactor: Redactor) {
    this.names = names;
    this.#stock = stock;
    this.#redactor = redactor;
  }

  async read(name: string): Promise<CredentialValue> {
    // Asked again on this side: a child process may say anything.
    const value = this.#over || !this.names.includes(name) ? undefined : await this.#stock.read(name);
    if (value === undefined)
      throw fault('CREDENTIAL_MISSING', { credential: name, problem: 'this worker does not hold it for this attempt' });
    this.#redactor.add(textsOf(value));
    return value;
  }

  async file(name: string): Promise<string> {
    const value = await this.read(name);
    this.#files ??= this.#stock.files.forAttempt();
    return this.#files.write(name, 'value' in value ? value.value : JSON.stringify(value.fields));
  }

  hide(text: string): string {
    return this.#redactor.hide(text);
  }

  /** Its files go. */
  async close(): Promise<void> {
    this.#over = true;
    await this.#files?.remove();
  }
}
