import type { SignalBackend, StoredSignal } from '../backends.ts';
import { jsonOf } from '../stored-text.ts';
import { type Row, RunFile } from './run-file.ts';

/** Signals in a SQLite file, among all processes that share it. */
export class SQLiteSignalBackend implements SignalBackend {
  readonly #file: RunFile;

  /** A path is opened once for the process. */
  constructor(file: RunFile | string) {
    this.#file = typeof file === 'string' ? RunFile.shared(file) : file;
  }

  async send(channel: string, data: unknown): Promise<string> {
    const row = this.#file.get(
      'INSERT INTO signals (channel, data_json, created_at) VALUES (?, ?, ?) RETURNING id',
      channel,
      jsonOf(data ?? null),
      new Date(this.#file.now()).toISOString(),
    );
    return String(row?.['id']);
  }

  async consume(channel: string): Promise<StoredSignal | null> {
    return this.#file.transaction(() => this.#shift(channel));
  }

  async peek(channel: string): Promise<readonly StoredSignal[]> {
    return this.#file.all('SELECT * FROM signals WHERE channel = ? ORDER BY id', channel).map(signalOf);
  }

  async channels(): Promise<readonly string[]> {
    const rows = this.#file.all('SELECT channel FROM signals UNION SELECT channel FROM signal_copies ORDER BY 1');
    return rows.map(({ channel }) => String(channel));
  }

  async deliver(channel: string, executionIds: readonly string[]): Promise<StoredSignal | null> {
    return this.#file.transaction(() => this.#deliver(channel, executionIds));
  }

  async addressed(channel: string): Promise<readonly string[]> {
    const rows = this.#file.all('SELECT DISTINCT execution_id FROM signal_copies WHERE channel = ?', channel);
    return rows.map((row) => String(row['execution_id']));
  }

  async receive(channel: string, executionId: string): Promise<StoredSignal | null> {
    return this.#file.transaction(() => {
      const own = this.#file.get(
        'SELECT signal_id AS id, channel, data_json, created_at FROM signal_copies WHERE channel = ? AND execution_id = ? ORDER BY signal_id LIMIT 1',
        channel,
        executionId,
      );
      return own === undefined ? this.#deliver(channel, [executionId]) : signalOf(own);
    });
  }

  async settle(signalId: string, executionId: string): Promise<void> {
    this.#file.run('DELETE FROM signal_copies WHERE signal_id = ? AND execution_id = ?', Number(signalId), executionId);
  }

  #deliver(channel: string, executionIds: readonly string[]): StoredSignal | null {
    if (executionIds.length === 0) return null;
    const signal = this.#shift(channel);
    if (signal === null) return null;
    for (const executionId of executionIds) {
      this.#file.run(
        'INSERT INTO signal_copies (signal_id, execution_id, channel, data_json, created_at) VALUES (?, ?, ?, ?, ?)',
        Number(signal.id),
        executionId,
        channel,
        jsonOf(signal.data),
        signal.created_at,
      );
    }
    return signal;
  }

  #shift(channel: string): StoredSignal | null {
    const row = this.#file.get(
      'DELETE FROM signals WHERE id = (SELECT min(id) FROM signals WHERE channel = ?) RETURNING *',
      channel,
    );
    return row === undefined ? null : signalOf(row);
  }
}

const signalOf = ({ id, channel, data_json: text, created_at }: Row): StoredSignal => ({
  id: String(id),
  channel: String(channel),
  data: JSON.parse(String(text)) as unknown,
  created_at: String(created_at),
});
