import { Client } from 'pg';
import type { Counts } from '../contender.ts';

/** Counts a peer's rows straight from its tables, over a connection of its own. */
export class Counter {
  readonly #client: Client;
  readonly #sql: string;

  private constructor(client: Client, sql: string) {
    this.#client = client;
    this.#sql = sql;
  }

  /** `sql` gives one row with `unfinished` and `finished`. */
  static async open(place: string, sql: string): Promise<Counter> {
    const client = new Client({ connectionString: place });
    await client.connect();
    return new Counter(client, sql);
  }

  async counts(): Promise<Counts> {
    const { rows } = await this.#client.query<Record<keyof Counts, string>>(this.#sql);
    return { unfinished: Number(rows[0]?.unfinished), finished: Number(rows[0]?.finished) };
  }

  async exists(table: string): Promise<boolean> {
    const { rows } = await this.#client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
      table,
    ]);
    return rows[0]?.found === true;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
