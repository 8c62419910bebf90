/**
 * A table of papers that was there before, `paper_queue`, as a work backend of FlatMachines: pending papers are its items. What a claim needs and the
 * table lacks (who has a paper, until when, in which claim) is added to it.
 *
 * A claim is a lease: while its process lives it is renewed, and one that has run out is free for the next worker. Every write of a worker names its claim,
 * so whoever comes back after its lease has run out changes nothing.
 */
import { DatabaseSync } from 'node:sqlite';
import type { WorkBackend, WorkItem, WorkPool } from 'leasehold/compat';

/** As the crawler makes it. */
const TABLE = `CREATE TABLE IF NOT EXISTS paper_queue (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending',
  summary_path TEXT,
  error TEXT,
  added_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)`;
const ADDED = {
  claimed_by: 'TEXT',
  claim: 'INTEGER NOT NULL DEFAULT 0',
  claimed_until: 'INTEGER',
  attempts: 'INTEGER NOT NULL DEFAULT 0',
  max_retries: 'INTEGER NOT NULL DEFAULT 3',
};
/** What may be claimed: papers that wait, and those whose worker has fallen silent. */
const FREE = `(status = 'pending' OR (status = 'processing' AND claimed_until < :now))`;
/** The paper of a claim that still holds. */
const HELD = `id = :id AND claim = :claim AND status = 'processing'`;
const BACK = `status = CASE WHEN attempts >= max_retries THEN 'failed' ELSE 'pending' END, claimed_by = NULL, claimed_until = NULL`;

export interface Paper {
  readonly path: string;
  readonly title: string;
}

interface Row extends Paper {
  readonly id: number;
  readonly claim: number;
  readonly attempts: number;
  readonly max_retries: number;
}

export interface PaperQueueOptions {
  /** How long a claim holds without being renewed; default 60. */
  readonly leaseSeconds?: number;
}

export class PaperQueue implements WorkBackend, WorkPool {
  readonly #db: DatabaseSync;
  readonly #leaseMs: number;
  /** The claims of this process, by the id of their paper. */
  readonly #claims = new Map<string, number>();
  readonly #renewal: NodeJS.Timeout;

  constructor(file: string, { leaseSeconds = 60 }: PaperQueueOptions = {}) {
    this.#leaseMs = leaseSeconds * 1000;
    this.#db = new DatabaseSync(file, { timeout: 10_000 });
    this.#db.exec(`PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; ${TABLE}`);
    const there = new Set(
      this.#db
        .prepare('PRAGMA table_info(paper_queue)')
        .all()
        .map(({ name }) => name),
    );
    for (const [name, type] of Object.entries(ADDED)) {
      if (!there.has(name)) this.#db.exec(`ALTER TABLE paper_queue ADD COLUMN ${name} ${type}`);
    }
    this.#db.exec('COMMIT');
    this.#renewal = setInterval(() => this.#renew(), this.#leaseMs / 3).unref();
  }

  /** There is one pool, whatever it is called. */
  pool(): WorkPool {
    return this;
  }

  /** Of a paper that is there already nothing changes. */
  async push(item: unknown, { max_retries = 3 }: { readonly max_retries?: number } = {}): Promise<string> {
    const { path, title } = item as Paper;
    this.#db
      .prepare('INSERT INTO paper_queue (path, title, max_retries) VALUES (?, ?, ?) ON CONFLICT (path) DO NOTHING')
      .run(path, title, Math.max(1, max_retries));
    return String(this.#db.prepare('SELECT id FROM paper_queue WHERE path = ?').get(path)?.['id']);
  }

  /** One statement: of two workers only one gets a paper. */
  async claim(worker_id: string): Promise<WorkItem | null> {
    const now = Date.now();
    this.#bury(now);
    const row = this.#db
      .prepare(
        `UPDATE paper_queue SET status = 'processing', claimed_by = :worker, claimed_until = :until,
           claim = claim + 1, attempts = attempts + 1
         WHERE id = (SELECT id FROM paper_queue WHERE ${FREE} ORDER BY id LIMIT 1)
         RETURNING id, path, title, claim, attempts, max_retries`,
      )
      .get({ worker: worker_id, until: now + this.#leaseMs, now }) as Row | undefined;
    if (row === undefined) return null;
    const { id, claim, attempts, max_retries, path, title } = row;
    this.#claims.set(String(id), claim);
    return { id: String(id), data: { id, path, title }, claimed_by: worker_id, attempts, max_retries };
  }

  async complete(item: string | WorkItem, result?: unknown): Promise<void> {
    const path = (result as { readonly summary_path?: string } | undefined)?.summary_path ?? null;
    this.#settle(item, `status = 'done', summary_path = :path, error = NULL, claimed_by = NULL, claimed_until = NULL`, {
      path,
    });
  }

  /** Pending again at once, or failed for good after its last try. */
  async fail(item: string | WorkItem, error?: unknown): Promise<void> {
    this.#settle(item, `${BACK}, error = :error`, { error: textOf(error) });
  }

  async size(): Promise<number> {
    const counted = this.#db.prepare(`SELECT count(*) AS n FROM paper_queue WHERE ${FREE}`).get({ now: Date.now() });
    return Number(counted?.['n']);
  }

  /** What a worker had that is known to be gone. */
  async releaseByWorker(worker_id: string): Promise<number> {
    const { changes } = this.#db
      .prepare(
        `UPDATE paper_queue SET ${BACK}, error = 'its worker was lost' WHERE claimed_by = ? AND status = 'processing'`,
      )
      .run(worker_id);
    return Number(changes);
  }

  counts(): Readonly<Record<string, number>> {
    const rows = this.#db
      .prepare('SELECT status, count(*) AS n FROM paper_queue GROUP BY status ORDER BY status')
      .all();
    return Object.fromEntries(rows.map(({ status, n }) => [status, Number(n)]));
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
    this.#db.close();
  }

  #settle(item: string | WorkItem, change: string, values: Readonly<Record<string, string | null>>): void {
    const id = typeof item === 'string' ? item : item.id;
    const claim = this.#claims.get(id) ?? 0;
    this.#claims.delete(id);
    const { changes } = this.#db
      .prepare(`UPDATE paper_queue SET ${change} WHERE ${HELD}`)
      .run({ id, claim, ...values });
    if (changes === 0) throw new Error(`paper ${id} belongs to another worker by now: this result is ignored`);
  }

  #renew(): void {
    const until = Date.now() + this.#leaseMs;
    const renew = this.#db.prepare(`UPDATE paper_queue SET claimed_until = :until WHERE ${HELD}`);
    for (const [id, claim] of this.#claims) renew.run({ until, id, claim });
  }

  /** A paper that has taken each of its workers with it is tried no more. */
  #bury(now: number): void {
    this.#db
      .prepare(
        `UPDATE paper_queue SET ${BACK}, error = 'its workers were lost'
         WHERE status = 'processing' AND claimed_until < ? AND attempts >= max_retries`,
      )
      .run(now);
  }
}

function textOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  const text = typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error);
  return (text ?? 'the worker gave no reason').slice(0, 2000);
}
