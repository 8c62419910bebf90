import type { Fragments } from './fragments.ts';

/** Statements of tags that were made by name. */
export function tagStatements({ s, NOW }: Fragments) {
  return {
    tagAdd: `INSERT INTO ${s}.tag (name, at, author) VALUES ($1, ${NOW}, $2) ON CONFLICT DO NOTHING RETURNING name`,
    tagFind: `SELECT name FROM ${s}.tag WHERE name = $1`,
    tagList: `SELECT name, at, author AS by FROM ${s}.tag ORDER BY name`,
    tagDrop: `DELETE FROM ${s}.tag WHERE name = $1 RETURNING name`,
  } as const;
}
