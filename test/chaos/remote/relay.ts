import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** What a relay does about the next statement of this name. */
interface Plan {
  readonly statement: RegExp;
  readonly lose: boolean;
  readonly meanwhile: () => Promise<void>;
}

/** The last message of an answer: the server is ready for the next statement. */
const READY = 0x5a;

/**
 * Stands between a store and its server and loses answers: the statement arrives and takes effect, and then the connection
 * is gone.
 */
export class Relay {
  readonly url: string;
  readonly #sockets = new Set<Socket>();
  #plan: Plan | undefined;
  #closed = false;

  private constructor(url: string) {
    this.url = url;
  }

  static async before(t: TestContext, database: string): Promise<Relay> {
    const folder = mkdtempSync(join(tmpdir(), 'lh-relay-'));
    const { pathname, searchParams, hostname, port, username, password } = new URL(
      database.replace('@/', '@localhost/'),
    );
    const host = searchParams.get('host') ?? hostname;
    const target = host.startsWith('/') ? { path: join(host, '.s.PGSQL.5432') } : { host, port: Number(port || 5432) };
    const user = password === '' ? username : `${username}:${password}`;
    const server = createServer();
    const relay = new Relay(`postgres://${user}@${pathname}?host=${encodeURIComponent(folder)}`);
    server.on('connection', (client) => relay.#join(client, connect(target)));
    await new Promise<void>((resolve) => server.listen(join(folder, '.s.PGSQL.5432'), resolve));
    t.after(() => {
      relay.cut();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return relay;
  }

  /** Plans that have not come to pass. */
  get waiting(): boolean {
    return this.#plan !== undefined;
  }

  /** The answer to the next statement of this name is lost. `meanwhile` happens before anybody knows. */
  loseAnswer(statement: string, meanwhile: () => Promise<void> = async () => {}): void {
    this.#plan = { statement: named(statement), lose: true, meanwhile };
  }

  /** The answer to the next statement of this name is the last thing that comes through. */
  cutAfter(statement: string): void {
    const meanwhile = async (): Promise<void> => {
      this.#closed = true;
    };
    this.#plan = { statement: named(statement), lose: false, meanwhile };
  }

  /** Nobody comes through from now on. */
  cut(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#closed = false;
  }

  #join(client: Socket, server: Socket): void {
    let losing: Plan | undefined;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    if (this.#closed) client.destroy();
    client.on('data', (chunk) => {
      const plan = this.#plan;
      if (plan?.statement.test(chunk.toString('latin1'))) {
        losing = plan;
        this.#plan = undefined;
      }
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (losing === undefined) client.write(chunk);
      else if (chunk.at(-6) === READY) {
        const { lose, meanwhile } = losing;
        void meanwhile().finally(() => (lose ? client.destroy() : client.end(chunk)));
      }
    });
  }
}

/** As the name of a prepared statement, to which the store adds what its text is, or as its whole text. */
function named(statement: string): RegExp {
  return new RegExp(`\0${statement}(_[0-9a-f]{16})?\0|^Q\0\0..?${statement}\0`, 's');
}
