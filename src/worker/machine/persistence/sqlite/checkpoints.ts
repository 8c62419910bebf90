import { fault } from '../../../../core/errors.ts';
import type { ExecutionFilter, PersistenceBackend, Stored, StoredConfig } from '../backends.ts';
import { checkExecutionId, checkKey, executionOf, isLatest } from '../keys.ts';
import { type PruneOptions, prune } from '../latest.ts';
import { textOf } from '../stored-text.ts';
import { RunFile } from './run-file.ts';

/** Checkpoints in a SQLite file. Every write is fenced: a run that another process has taken over writes nothing more. */
export class SQLiteCheckpointBackend implements PersistenceBackend {
  readonly #file: RunFile;

  /** A path is opened once for the process. */
  constructor(file: RunFile | string) {
    this.#file = typeof file === 'string' ? RunFile.shared(file) : file;
  }

  async save(key: string, value: Stored): Promise<void> {
    checkKey(key);
    const text = textOf(value);
    this.#file.transaction(() => {
      this.#checkFence(executionOf(key));
      if (isLatest(key)) this.#point(key, text);
      else this.#put(key, text, typeof value === 'string' ? {} : value);
    });
  }

  async load(key: string): Promise<Stored | null> {
    checkKey(key);
    if (isLatest(key)) {
      const row = this.#file.get('SELECT latest_key FROM machine_latest WHERE execution_id = ?', executionOf(key));
      return row === undefined ? null : String(row['latest_key']);
    }
    const row = this.#file.get('SELECT snapshot_json FROM machine_checkpoints WHERE checkpoint_key = ?', key);
    return row === undefined ? null : (JSON.parse(String(row['snapshot_json'])) as Stored);
  }

  async delete(key: string): Promise<void> {
    checkKey(key);
    this.#file.transaction(() => {
      this.#checkFence(executionOf(key));
      if (isLatest(key)) this.#file.run('DELETE FROM machine_latest WHERE execution_id = ?', executionOf(key));
      else this.#file.run('DELETE FROM machine_checkpoints WHERE checkpoint_key = ?', key);
    });
  }

  async list(prefix: string): Promise<readonly string[]> {
    const rows = this.#file.all(
      `SELECT checkpoint_key AS key FROM machine_checkpoints WHERE substr(checkpoint_key, 1, length(?1)) = ?1
       UNION SELECT execution_id || '/latest' FROM machine_latest WHERE substr(execution_id || '/latest', 1, length(?1)) = ?1
       ORDER BY 1`,
      prefix,
    );
    return rows.map(({ key }) => String(key));
  }

  /** By the columns of the latest checkpoints: ten thousand waiting runs are not read for it. */
  async listExecutionIds({ event, waiting_channel }: ExecutionFilter = {}): Promise<readonly string[]> {
    if (event === undefined && waiting_channel === undefined) {
      const all =
        'SELECT execution_id FROM machine_checkpoints UNION SELECT execution_id FROM machine_latest ORDER BY 1';
      return this.#file.all(all).map((row) => String(row['execution_id']));
    }
    const rows = this.#file.all(
      `SELECT l.execution_id FROM machine_latest l JOIN machine_checkpoints c ON c.checkpoint_key = l.latest_key
       WHERE (?1 IS NULL OR c.event = ?1) AND (?2 IS NULL OR c.waiting_channel = ?2) ORDER BY 1`,
      event ?? null,
      waiting_channel ?? null,
    );
    return rows.map((row) => String(row['execution_id']));
  }

  async deleteExecution(executionId: string): Promise<void> {
    checkExecutionId(executionId);
    this.#file.transaction(() => {
      this.#checkFence(executionId);
      this.#file.run('DELETE FROM machine_latest WHERE execution_id = ?', executionId);
      this.#file.run('DELETE FROM machine_checkpoints WHERE execution_id = ?', executionId);
    });
  }

  async saveConfig(hash: string, { machine_name, spec_version, config_raw }: StoredConfig): Promise<void> {
    this.#file.run(
      'INSERT OR IGNORE INTO machine_configs (config_hash, machine_name, spec_version, config_raw, created_at) VALUES (?, ?, ?, ?, ?)',
      hash,
      machine_name,
      spec_version,
      config_raw,
      this.#time(),
    );
  }

  /** Deletes old runs, and resolves to how many. */
  prune(options: PruneOptions): Promise<number> {
    return prune(this, options, this.#file.now());
  }

  close(): void {
    this.#file.close();
  }

  /** In the transaction of the write. */
  #checkFence(executionId: string): void {
    const row = this.#file.get(
      'SELECT owner_id, fencing_token, lease_until FROM execution_leases WHERE execution_id = ?',
      executionId,
    );
    const token = this.#file.tokens.get(executionId);
    const lost =
      token === undefined
        ? row !== undefined && row['owner_id'] !== this.#file.owner && Number(row['lease_until']) > this.#file.now()
        : row?.['owner_id'] !== this.#file.owner || Number(row['fencing_token']) !== token;
    if (lost) {
      const problem = `another process runs ${executionId}: nothing was written`;
      throw fault('CONFLICT', { problem }, { hint: 'That process finishes the run; this one leaves it alone.' });
    }
  }

  #put(
    key: string,
    text: string,
    { machine_name, event, current_state, waiting_channel, created_at }: Record<string, unknown>,
  ): void {
    const column = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    this.#file.run(
      `INSERT OR REPLACE INTO machine_checkpoints
       (checkpoint_key, execution_id, machine_name, event, current_state, waiting_channel, snapshot_json, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      key,
      executionOf(key),
      column(machine_name),
      column(event),
      column(current_state),
      column(waiting_channel),
      text,
      column(created_at) ?? this.#time(),
    );
  }

  #point(key: string, to: string): void {
    this.#file.run(
      'INSERT OR REPLACE INTO machine_latest (execution_id, latest_key, updated_at) VALUES (?, ?, ?)',
      executionOf(key),
      to,
      this.#time(),
    );
  }

  #time(): string {
    return new Date(this.#file.now()).toISOString();
  }
}
