import type { Socket } from 'node:net';
import pg, { type ClientConfig } from 'pg';
import type { World } from '../../../core/world.ts';
import { type KnownColumns, NamedQuery, type RowForm } from './named-query.ts';

/** 64-bit integers are numbers here: ids have 48 bits, times fewer. */
const INT8 = 20;
const INT8_ARRAY = 1016;
const INT4_ARRAY = 1007;
const NUMERIC = 1700;
/** What the driver says of a statement whose deadline has passed. */
const LATE = 'Query read timeout';

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [NUMERIC, Number],
  [INT8_ARRAY, parseNumbers],
  [INT4_ARRAY, parseNumbers],
]);

export function parseNumbers(text: string): readonly number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(Number);
}

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    const own = format === 'binary' ? undefined : PARSERS.get(oid);
    return own ?? pg.types.getTypeParser(oid, format as 'text');
  },
} as unknown as NonNullable<ClientConfig['types']>;

/** One session with the server. Every query has a deadline; a session that misses one is not used again. */
export class Connection {
  readonly #client: pg.Client;
  readonly #world: World;
  readonly #known: KnownColumns = new Map();
  /** Named statements under way, with the time by which each must be answered. */
  readonly #pending = new Map<NamedQuery, number>();
  /** When the alarm for them rings: it is set again when it does, not at every statement. */
  #alarmAt = Number.POSITIVE_INFINITY;
  #cancelAlarm = (): void => {};
  #spoilt = false;
  /** The monotonic time by which the next query must be answered. */
  deadline = Number.POSITIVE_INFINITY;

  private constructor(client: pg.Client, world: World) {
    this.#client = client;
    this.#world = world;
    // An idle client has an error when the server goes away.
    client.on('error', () => this.spoil());
    client.on('end', () => this.spoil());
  }

  static async open(config: ClientConfig, world: World, deadline: number): Promise<Connection> {
    const left = Math.max(1, Math.ceil(deadline - world.clock.monotonic()));
    const client = new pg.Client({ ...config, types, keepAlive: true, connectionTimeoutMillis: Math.min(left, 5000) });
    const connection = new Connection(client, world);
    try {
      await client.connect();
      return connection;
    } catch (error) {
      void connection.close();
      throw error;
    }
  }

  get usable(): boolean {
    return !this.#spoilt;
  }

  get pid(): number {
    return (this.#client as unknown as { readonly processID: number }).processID;
  }

  /** It must not be used again. */
  spoil(): this {
    this.#spoilt = true;
    return this;
  }

  /** In use: it keeps the process alive. */
  hold(): this {
    this.#socket?.ref();
    return this;
  }

  /** Idle: a process with nothing else to do may end. */
  rest(): this {
    this.#socket?.unref();
    return this;
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload = '' }) => listener(payload));
  }

  onEnd(listener: () => void): void {
    this.#client.once('end', listener);
    this.#client.once('error', listener);
  }

  async rows(
    name: string | undefined,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly (readonly unknown[])[]> {
    if (name !== undefined) return (await this.#run(name, text, values, 'array')) as readonly (readonly unknown[])[];
    const { rows } = await this.#query({ text, values: values as unknown[], rowMode: 'array' });
    return rows as unknown as readonly (readonly unknown[])[];
  }

  async all<T>(name: string | undefined, text: string, values: readonly unknown[]): Promise<readonly T[]> {
    if (name !== undefined) return (await this.#run(name, text, values, 'object')) as readonly T[];
    const { rows } = await this.#query({ text, values: values as unknown[] });
    return rows as T[];
  }

  async raw(text: string): Promise<void> {
    await this.#query({ text });
  }

  async close(): Promise<void> {
    this.spoil();
    this.#setAlarm(Number.POSITIVE_INFINITY);
    // The caller of `close` must stay alive until it ends.
    this.hold();
    // A busy session would delay the close, so it is cut off.
    const cut = this.#world.timers.after(1000, () => this.#socket?.destroy(), { unref: true });
    await this.#client.end().catch(() => {});
    cut();
  }

  #run(name: string, text: string, values: readonly unknown[], form: RowForm): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const query = new NamedQuery({ name, text, values }, form, { known: this.#known, types }, (error, rows) => {
        this.#pending.delete(query);
        if (error === undefined) resolve(rows);
        else reject(error as Error);
      });
      this.#pending.set(query, this.deadline);
      if (this.deadline < this.#alarmAt) this.#setAlarm(this.deadline);
      this.#client.query(query);
    });
  }

  #setAlarm(at: number): void {
    this.#cancelAlarm();
    this.#alarmAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    const ms = Math.max(1, Math.ceil(at - this.#world.clock.monotonic()));
    this.#cancelAlarm = this.#world.timers.after(ms, () => this.#ring(), { unref: true });
  }

  /** Whoever is late gets no answer any more, and neither does anybody behind it. */
  #ring(): void {
    const first = Math.min(...this.#pending.values());
    if (first > this.#world.clock.monotonic()) return this.#setAlarm(first);
    this.#alarmAt = Number.POSITIVE_INFINITY;
    for (const query of this.#pending.keys()) query.fail(new Error(LATE));
    this.spoil();
    this.#socket?.destroy();
  }

  async #query(config: pg.QueryConfig & { readonly rowMode?: 'array' }): Promise<pg.QueryResult> {
    const left = Math.ceil(this.deadline - this.#world.clock.monotonic());
    if (left < Number.POSITIVE_INFINITY) Object.assign(config, { query_timeout: Math.max(1, left) });
    try {
      return await this.#client.query(config as pg.QueryConfig);
    } catch (error) {
      if ((error as { message?: string }).message === LATE) {
        this.spoil();
        this.#socket?.destroy();
      }
      throw error;
    }
  }

  get #socket(): Socket | undefined {
    return (this.#client as unknown as { readonly connection?: { readonly stream?: Socket } }).connection?.stream;
  }
}
