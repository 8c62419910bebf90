import { fault } from '../core/errors.ts';

/** One numbered step of a schema. Migrations go forward only, each runs once, and a released one never changes. */
export interface Migration {
  readonly version: number;
  readonly file: string;
  /** The oldest version whose processes can still work on the data after this migration. */
  readonly compatibleFrom: number;
}

/** The schema version of a store. 0 and 0 where there is no schema of ours yet. */
export interface SchemaStatus {
  readonly version: number;
  readonly compatibleFrom: number;
}

/** The version that a program with these migrations knows. */
export function knownVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/**
 * The migrations that bring a store up to date, in order. A newer store needs none, as long as this program can still
 * work on it; otherwise it is refused.
 */
export function planMigrations<M extends Migration>(
  migrations: readonly M[],
  have: number,
  compatibleFrom: number,
): readonly M[] {
  const known = knownVersion(migrations);
  if (have > known && compatibleFrom > known) throw fault('SCHEMA_TOO_NEW', { found: have, known });
  return migrations.filter(({ version }) => version > have);
}

/** Whether processes of this version can go on working on the store after a migration. */
export function leavesRoomFor(version: number, migration: Migration): boolean {
  return migration.compatibleFrom <= version;
}
