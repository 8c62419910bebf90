import type { Timers } from '../../../../core/world.ts';
import type { ExecutionLock } from '../backends.ts';
import { checkExecutionId } from '../keys.ts';
import { REAL_TIMERS } from '../real-timers.ts';
import { isGone } from './process-owner.ts';
import { RunFile } from './run-file.ts';

/** A lease lasts this long, and is renewed three times in that. */
const TTL_MS = 300_000;
const RENEW_MS = 100_000;

/**
 * A lease in a SQLite file, among the processes that share it. A process that is killed
 * holds its leases until they run out, for processes of other hosts. Each one who takes over
 * has a fencing token that is one higher, and every write of checkpoints is checked against it.
 */
export class SQLiteLeaseLock implements ExecutionLock {
  readonly #file: RunFile;
  readonly #timers: Pick<Timers, 'after'>;
  readonly #renewals = new Map<string, () => void>();

  constructor(file: RunFile | string, timers: Pick<Timers, 'after'> = REAL_TIMERS) {
    this.#file = typeof file === 'string' ? RunFile.shared(file) : file;
    this.#timers = timers;
  }

  async acquire(key: string): Promise<boolean> {
    checkExecutionId(key);
    const { owner, tokens } = this.#file;
    if (tokens.has(key)) return false;
    const now = this.#file.now();
    const row = this.#file.transaction(() =>
      this.#file.get(
        `INSERT INTO execution_leases (execution_id, owner_id, phase, lease_until, fencing_token, acquired_at, updated_at)
         VALUES (?1, ?2, 'running', ?3, 1, ?4, ?4)
         ON CONFLICT (execution_id) DO UPDATE SET owner_id = ?2, phase = 'running', lease_until = ?3,
           fencing_token = fencing_token + 1, acquired_at = ?4, updated_at = ?4
         WHERE lease_until <= ?4 OR owner_id = ?2
         RETURNING fencing_token`,
        key,
        owner,
        now + TTL_MS,
        now,
      ),
    );
    const token = row === undefined ? this.#inherited(key, now) : Number(row['fencing_token']);
    if (token === undefined) return false;
    tokens.set(key, token);
    this.#renewLater(key);
    return true;
  }

  /** The lease of a process of this host that is no more: nobody has to wait for its end. */
  #inherited(key: string, now: number): number | undefined {
    const before = this.#file.get('SELECT owner_id, fencing_token FROM execution_leases WHERE execution_id = ?', key);
    if (before === undefined || !isGone(String(before['owner_id']))) return undefined;
    const row = this.#file.get(
      `UPDATE execution_leases SET owner_id = ?2, lease_until = ?3, fencing_token = fencing_token + 1, acquired_at = ?4, updated_at = ?4
       WHERE execution_id = ?1 AND owner_id = ?5 AND fencing_token = ?6 RETURNING fencing_token`,
      key,
      this.#file.owner,
      now + TTL_MS,
      now,
      before['owner_id'] as string,
      before['fencing_token'] as number,
    );
    return row === undefined ? undefined : Number(row['fencing_token']);
  }

  /** A lease that ran out is not renewed: somebody else may have had it since. */
  renew(key: string): boolean {
    const { owner, tokens } = this.#file;
    const now = this.#file.now();
    const renewed = this.#file.run(
      `UPDATE execution_leases SET lease_until = ?3, updated_at = ?4
       WHERE execution_id = ?1 AND owner_id = ?2 AND fencing_token = ?5 AND lease_until > ?4`,
      key,
      owner,
      now + TTL_MS,
      now,
      tokens.get(key) ?? 0,
    );
    return renewed > 0;
  }

  async release(key: string): Promise<void> {
    const { owner, tokens } = this.#file;
    const token = tokens.get(key);
    this.#renewals.get(key)?.();
    this.#renewals.delete(key);
    if (token === undefined) return;
    tokens.delete(key);
    // The row stays for its token, which must never go back.
    this.#file.run(
      "UPDATE execution_leases SET lease_until = 0, phase = 'released', updated_at = ? WHERE execution_id = ? AND owner_id = ? AND fencing_token = ?",
      this.#file.now(),
      key,
      owner,
      token,
    );
  }

  /** After a renewal that failed the next write says that the run is lost. */
  #renewLater(key: string): void {
    const again = (): void => {
      if (this.renew(key)) this.#renewLater(key);
    };
    this.#renewals.set(key, this.#timers.after(RENEW_MS, again, { unref: true }));
  }
}
