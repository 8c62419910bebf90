import type { ExecutionFilter, PersistenceBackend, Stored } from './backends.ts';
import { checkExecutionId, checkKey, executionOf, isLatest } from './keys.ts';
import { fitting, type PruneOptions, prune } from './latest.ts';
import { textOf } from './stored-text.ts';

/** Checkpoints in the memory of this object: gone with it, and seen by nobody else. Kept as text, because hooks may write to what they were given. */
export class MemoryBackend implements PersistenceBackend {
  readonly #values = new Map<string, string>();

  async save(key: string, value: Stored): Promise<void> {
    checkKey(key);
    this.#values.set(key, textOf(value));
  }

  async load(key: string): Promise<Stored | null> {
    checkKey(key);
    const text = this.#values.get(key);
    if (text === undefined) return null;
    return isLatest(key) ? text : (JSON.parse(text) as Stored);
  }

  async delete(key: string): Promise<void> {
    checkKey(key);
    this.#values.delete(key);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).toSorted();
  }

  async listExecutionIds(filter: ExecutionFilter = {}): Promise<readonly string[]> {
    const ids = new Set([...this.#values.keys()].map(executionOf));
    return fitting(this, [...ids].toSorted(), filter);
  }

  async deleteExecution(executionId: string): Promise<void> {
    checkExecutionId(executionId);
    for (const key of await this.list(`${executionId}/`)) this.#values.delete(key);
  }

  /** Deletes old runs, and resolves to how many. */
  prune(options: PruneOptions): Promise<number> {
    return prune(this, options);
  }
}
