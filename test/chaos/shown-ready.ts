/**
 * When ready tasks could be seen, by the database's clock. The time of an event is that of its statement; others see the row with the
 * commit, which on a host that starts a node beside five may come most of a second later. No claim is late before that.
 */
import type pg from 'pg';

const READY = 0;

export async function installShown(client: pg.Client, schema: string): Promise<void> {
  const s = `"${schema}"`;
  await client.query(`
    CREATE TABLE ${s}.shown (ids bigint[], at bigint, shown_at bigint);
    CREATE FUNCTION ${s}.show() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${s}.shown VALUES (NEW.ids, NEW.at, ${s}.now_ms()); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER show_ready AFTER INSERT ON ${s}.outbox DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.state = ${READY}) EXECUTE FUNCTION ${s}.show();`);
}

/** When the readiness of a task that an event tells of could be seen. */
export async function shownReady(client: pg.Client, schema: string): Promise<(task: number, at: number) => number> {
  const { rows } = await client.query<{ ids: readonly string[]; at: string; shown_at: string }>(
    `SELECT * FROM "${schema}".shown`,
  );
  const shown = new Map(rows.flatMap(({ ids, at, shown_at: to }) => ids.map((id) => [`${id} ${at}`, Number(to)])));
  return (task, at) => shown.get(`${task} ${at}`) ?? at;
}
