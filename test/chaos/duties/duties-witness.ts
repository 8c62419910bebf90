/**
 * What the database itself saw, written down by triggers of the test: every change of the duty's rows, and every row that
 * only the holder of a duty may write, with the session that wrote it and whoever held the duty at that moment.
 */
import assert from 'node:assert/strict';
import type pg from 'pg';

/** Sessions have the name of their process as `application_name`; the holder of a duty is the same name, or that and an incarnation. */
export async function installWitness(client: pg.Client, schema: string): Promise<void> {
  const s = `"${schema}"`;
  await client.query(`
    CREATE TABLE ${s}.witness (id bigint GENERATED ALWAYS AS IDENTITY, at bigint, duty text, writer text, holder text, epoch bigint);
    CREATE TABLE ${s}.tenure (id bigint GENERATED ALWAYS AS IDENTITY, at bigint, duty text, writer text, holder text,
      epoch bigint, was bigint, was_holder text, was_until bigint, until bigint);
    CREATE FUNCTION ${s}.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${s}.witness (at, duty, writer, holder, epoch)
        SELECT ${s}.now_ms(), d.name, current_setting('application_name'), split_part(d.holder, '/', 1), d.epoch FROM ${s}.duty d WHERE d.name = TG_ARGV[0];
      RETURN NULL; END $$;
    CREATE FUNCTION ${s}.see_duty() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${s}.tenure (at, duty, writer, holder, epoch, was, was_holder, was_until, until)
        VALUES (${s}.now_ms(), NEW.name, current_setting('application_name'), split_part(NEW.holder, '/', 1), NEW.epoch, OLD.epoch,
          split_part(OLD.holder, '/', 1), OLD.until, NEW.until);
      RETURN NULL; END $$;
    CREATE TRIGGER see_duty AFTER INSERT OR UPDATE ON ${s}.duty FOR EACH ROW EXECUTE FUNCTION ${s}.see_duty();
    CREATE TRIGGER see_staged AFTER INSERT ON ${s}.outbox FOR EACH ROW WHEN (NEW.kind = 8) EXECUTE FUNCTION ${s}.see('stager');
    CREATE TRIGGER see_reaped AFTER INSERT ON ${s}.outbox FOR EACH ROW WHEN (NEW.kind = 7) EXECUTE FUNCTION ${s}.see('reaper');
    CREATE TRIGGER see_numbered AFTER INSERT ON ${s}.event FOR EACH ROW EXECUTE FUNCTION ${s}.see('feed');
    CREATE TRIGGER see_fired AFTER UPDATE ON ${s}.trigger_def FOR EACH ROW EXECUTE FUNCTION ${s}.see('cron');`);
}

export interface Sighted {
  /** Writes of holders that landed, by duty. */
  readonly writes: Readonly<Record<string, number>>;
  /** Terms, by duty. */
  readonly terms: Readonly<Record<string, number>>;
}

/** A leader that was killed, and when; who starts on its host sees that it is gone, and may free its term before the time. */
export interface Killed {
  readonly epoch: number;
  readonly from: number;
}

/** Epochs only grow, each belongs to one holder, and nothing landed but by the session of whoever held the duty. */
export async function checkWitness(
  client: pg.Client,
  schema: string,
  killed: readonly Killed[] = [],
): Promise<Sighted> {
  const s = `"${schema}"`;
  const wrong = async (what: string, sql: string): Promise<void> => {
    assert.deepEqual((await client.query(sql)).rows, [], what);
  };
  const impostors = `SELECT * FROM ${s}.witness WHERE writer <> holder ORDER BY id`;
  await wrong('a write landed that was not the holder’s', impostors);
  await client.query('BEGIN');
  await client.query(`UPDATE ${s}.trigger_def SET next_at = next_at`);
  assert.ok((await client.query(impostors)).rows.length > 0, 'the witness does not see impostors');
  await client.query('ROLLBACK');
  await wrong('an epoch shrank, or jumped', `SELECT * FROM ${s}.tenure WHERE epoch NOT IN (was, was + 1) ORDER BY id`);
  await wrong(
    'a holder changed without a new epoch',
    `SELECT * FROM ${s}.tenure WHERE epoch = was AND holder <> was_holder ORDER BY id`,
  );
  await wrong(
    'a duty was taken whose term was not over',
    `SELECT * FROM ${s}.tenure WHERE epoch = was + 1 AND was_until >= at ORDER BY id`,
  );
  const freed = killed.map(({ epoch, from }) => `(epoch = ${epoch} AND at >= ${from})`).join(' OR ') || 'false';
  await wrong(
    'somebody wrote to the term of another',
    `SELECT * FROM ${s}.tenure WHERE writer <> holder
      AND NOT (duty = 'leader' AND epoch = was AND until = 0 AND (${freed})) ORDER BY id`,
  );
  await wrong(
    'an epoch had two holders',
    `SELECT duty, epoch FROM ${s}.tenure GROUP BY duty, epoch HAVING count(DISTINCT holder) > 1`,
  );
  await wrong(
    'a write of an older epoch came after one of a newer',
    `SELECT * FROM (SELECT *, max(epoch) OVER (PARTITION BY duty ORDER BY id) AS newest FROM ${s}.witness) w WHERE epoch < newest`,
  );
  const count = async (table: string, what: string): Promise<Readonly<Record<string, number>>> => {
    const { rows } = await client.query(`SELECT duty, count(${what})::int AS n FROM ${s}.${table} GROUP BY duty`);
    return Object.fromEntries(rows.map(({ duty, n }) => [duty, n]));
  };
  return { writes: await count('witness', '*'), terms: await count('tenure', 'DISTINCT epoch') };
}
