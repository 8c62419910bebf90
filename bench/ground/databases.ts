/** Addresses of databases on one server. */
import { Client } from 'pg';

type Row = Readonly<Record<string, unknown>>;

/** One statement over a connection of its own. */
export async function query(place: string, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: place });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const NAME = /^(postgres:\/\/[^/]*\/)([^?]*)/;

export function database(place: string): string {
  return NAME.exec(place)?.[2] ?? '';
}

/** A second database beside this one, which goes when this one goes. */
export async function beside(place: string, name: string): Promise<string> {
  const other = `${database(place)}_${name}`;
  await query(place.replace(NAME, '$1postgres'), `CREATE DATABASE ${other}`);
  return place.replace(NAME, `$1${other}`);
}
