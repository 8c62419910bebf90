/** ?1 is calendar time, ?2 lease time. */
export const NODE_STATEMENTS = {
  nodeGet: 'SELECT * FROM cluster_node WHERE id = ?',
  nodeBeat: `INSERT INTO cluster_node AS n (id, incarnation, wish, stand, stand_since, address, version, host, pid, started_at, beat_at)
    VALUES (?3, ?4, ?6, ?7, ?1, ?8, ?9, ?10, ?11, ?1, ?2)
    ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, wish = excluded.wish, stand = excluded.stand,
      stand_since = CASE WHEN n.incarnation = excluded.incarnation AND n.stand = excluded.stand THEN n.stand_since ELSE ?1 END,
      address = excluded.address, version = excluded.version, host = excluded.host, pid = excluded.pid,
      started_at = CASE WHEN n.incarnation = excluded.incarnation THEN n.started_at ELSE ?1 END,
      beat_at = excluded.beat_at, left_at = NULL
    WHERE ?5 OR n.incarnation = excluded.incarnation OR n.left_at IS NOT NULL RETURNING asked`,
  nodeList: 'SELECT * FROM cluster_node ORDER BY id',
  nodeDrop: "DELETE FROM cluster_node WHERE id = ? AND incarnation = ? AND asked = 'auto'",
  nodeLeft: 'UPDATE cluster_node SET left_at = ? WHERE id = ? AND incarnation = ?',
  nodeRole: 'UPDATE cluster_node SET asked = ? WHERE id = ?',
  // At most one node is asked to lead.
  nodeRoleOnce: "UPDATE cluster_node SET asked = 'auto' WHERE asked = 'leader' AND id <> ?",
  secretPin: `INSERT INTO meta (key, value)
    SELECT ?1, ?2 || iif(EXISTS (SELECT 1 FROM task INDEXED BY task_running WHERE state = 1), ' ' || CAST(?3 AS INTEGER), '')
    WHERE true ON CONFLICT (key) DO UPDATE SET value = ?2 WHERE ?4`,
  settingAdd: 'INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING',
  settingSwap: 'UPDATE meta SET value = ?2 WHERE key = ?1 AND value = ?3',
  nodePrune: 'DELETE FROM cluster_node WHERE beat_at < ?',
} as const;
