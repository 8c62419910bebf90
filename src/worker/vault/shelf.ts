import type { CredentialLevel } from '../../protocol/credential-envelope.ts';
import { newKeys, type WorkerKeys } from './envelope.ts';

/** What is known of a credential: held in this version, or removed, and then nothing older comes back. */
export interface Kept {
  readonly name: string;
  readonly version: number;
  readonly held: boolean;
}

/** Where a vault keeps what it holds. Each write is whole or did not happen. */
export interface Shelf {
  readonly level: CredentialLevel;
  readonly keys: WorkerKeys;
  /** What was there at the start. */
  readonly found: readonly Kept[];
  /** The key of the cluster that this worker has first believed. */
  readonly signer: string | undefined;
  pin(signer: string): Promise<void>;
  put(name: string, version: number, text: string): Promise<void>;
  /** The value is wiped; the version stays. */
  remove(name: string, version: number): Promise<void>;
  /** The version is forgotten too. */
  forget(name: string): Promise<void>;
  /** Undefined: it is not there any more, whoever has removed it. */
  read(name: string): Promise<string | undefined>;
}

/** Keeps nothing beyond this process. */
export class MemoryShelf implements Shelf {
  readonly level = 'memory';
  readonly keys = newKeys();
  readonly found: readonly Kept[] = [];
  readonly #texts = new Map<string, string>();
  #signer: string | undefined;

  get signer(): string | undefined {
    return this.#signer;
  }

  async pin(signer: string): Promise<void> {
    this.#signer = signer;
  }

  async put(name: string, _version: number, text: string): Promise<void> {
    this.#texts.set(name, text);
  }

  async remove(name: string): Promise<void> {
    this.#texts.delete(name);
  }

  async forget(): Promise<void> {}

  async read(name: string): Promise<string | undefined> {
    return this.#texts.get(name);
  }
}
