import { NODE_KEPT_MS } from '../../rows/node-rows.ts';
import type { Fragments } from './fragments.ts';

/** Statements of nodes, and the list of duties. */
export function nodeStatements({ s, NOW }: Fragments) {
  return {
    nodeGet: `SELECT * FROM ${s}.cluster_node WHERE id = $1`,
    nodeBeat: `WITH b AS (SELECT incarnation FROM ${s}.cluster_node WHERE id = $1),
      t AS (INSERT INTO ${s}.cluster_node AS n (id, incarnation, wish, stand, stand_since, address, version, host, pid, started_at, beat_at)
        VALUES ($1, $2, $4, $5, ${NOW}, $6, $7, $8, $9, ${NOW}, ${NOW})
        ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, wish = excluded.wish, stand = excluded.stand,
          stand_since = CASE WHEN n.incarnation = excluded.incarnation AND n.stand = excluded.stand THEN n.stand_since
            ELSE excluded.stand_since END,
          address = excluded.address, version = excluded.version, host = excluded.host, pid = excluded.pid,
          started_at = CASE WHEN n.incarnation = excluded.incarnation THEN n.started_at ELSE excluded.started_at END,
          beat_at = excluded.beat_at, left_at = NULL
        WHERE $3 OR n.incarnation = excluded.incarnation OR n.left_at IS NOT NULL RETURNING asked)
      SELECT t.asked, (SELECT incarnation FROM b) AS before FROM t`,
    nodeList: `SELECT n.*, ${NOW} AS now FROM (SELECT) x LEFT JOIN ${s}.cluster_node n ON true ORDER BY n.id`,
    nodeDrop: `DELETE FROM ${s}.cluster_node WHERE id = $1 AND incarnation = $2 AND asked = 'auto'`,
    nodeLeft: `UPDATE ${s}.cluster_node SET left_at = ${NOW} WHERE id = $1 AND incarnation = $2`,
    // At most one node is asked to lead.
    nodeRole: `UPDATE ${s}.cluster_node SET asked = CASE WHEN id = $1 THEN $2 ELSE 'auto' END
      WHERE id = $1 OR ($2 = 'leader' AND asked = 'leader' AND EXISTS (SELECT 1 FROM ${s}.cluster_node WHERE id = $1)) RETURNING id`,
    secretPin: `INSERT INTO ${s}.meta AS m (key, value)
      SELECT $1, $2::text || CASE WHEN EXISTS (SELECT FROM ${s}.task WHERE state = 1) THEN ' ' || ${NOW} ELSE '' END
      ON CONFLICT (key) DO UPDATE SET value = $2 WHERE $3`,
    secretPinned: `SELECT value FROM ${s}.meta WHERE key = $1`,
    settingAdd: `INSERT INTO ${s}.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING key`,
    settingSwap: `UPDATE ${s}.meta SET value = $2 WHERE key = $1 AND value = $3 RETURNING key`,
    nodePrune: `DELETE FROM ${s}.cluster_node WHERE beat_at < ${NOW} - ${NODE_KEPT_MS}`,
    dutyList: `SELECT d.name, d.holder, d.epoch, d.until, ${NOW} AS now FROM (SELECT) x LEFT JOIN ${s}.duty d ON true ORDER BY d.name`,
  } as const;
}
