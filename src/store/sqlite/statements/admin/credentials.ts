const SHOWN = 'name, version, sealed IS NOT NULL AS present, kind, type, workers, tags, level, created_at, changed_at';
const HOLDING = 'worker, credential, status, wanted, acked, level, error, asked_at, changed_at';

/** Statuses: 0 wanted, 1 stored, 2 removing, 3 removed, 4 failed, 5 told. */
export const CREDENTIAL_STATEMENTS = {
  credentialGet: `SELECT ${SHOWN} FROM credential WHERE name = ?`,
  credentialList: `SELECT ${SHOWN} FROM credential WHERE sealed IS NOT NULL ORDER BY name`,
  /** A value that is null leaves that which is there. */
  credentialPut: `INSERT INTO credential (name, version, value_version, sealed, kind, type, workers, tags, level, created_at, changed_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10) ON CONFLICT (name) DO UPDATE SET version = excluded.version,
      value_version = iif(excluded.sealed IS NULL, value_version, excluded.value_version), sealed = coalesce(excluded.sealed, sealed),
      kind = excluded.kind, type = excluded.type, workers = excluded.workers, tags = excluded.tags, level = excluded.level,
      created_at = iif(sealed IS NULL, excluded.created_at, created_at), changed_at = excluded.changed_at`,
  credentialDrop: `UPDATE credential SET sealed = NULL, type = NULL, workers = '[]', tags = '[]', level = NULL, changed_at = ?
    WHERE name = ? AND sealed IS NOT NULL`,
  credentialValues:
    'SELECT name, version, value_version, sealed FROM credential WHERE sealed IS NOT NULL ORDER BY name',
  credentialValuesOf: `SELECT name, version, value_version, sealed FROM credential
    WHERE sealed IS NOT NULL AND name IN (SELECT value FROM json_each(?)) ORDER BY name`,
  credentialLeave: 'UPDATE credential SET workers = ?, changed_at = ? WHERE name = ?',
  credentialRetag: 'UPDATE credential SET tags = ?, changed_at = ? WHERE name = ?',
  credentialReseal: 'UPDATE credential SET sealed = ? WHERE name = ? AND value_version = ? AND sealed IS NOT NULL',
  holdingList: `SELECT ${HOLDING} FROM credential_holding ORDER BY worker, credential`,
  holdingsAt: `SELECT ${HOLDING} FROM credential_holding WHERE worker = ? ORDER BY credential`,
  holdingsOf: `SELECT ${HOLDING} FROM credential_holding WHERE credential IN (SELECT value FROM json_each(?)) ORDER BY credential, worker`,
  holdingPut: `INSERT INTO credential_holding (worker, credential, status, wanted, acked, level, error, asked_at, changed_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT (worker, credential) DO UPDATE SET status = excluded.status,
      wanted = excluded.wanted, acked = excluded.acked, level = excluded.level, error = excluded.error, changed_at = excluded.changed_at,
      asked_at = iif(excluded.wanted <> wanted OR excluded.status IN (0, 2) AND excluded.status <> status, excluded.asked_at, asked_at)`,
  holdingDrop: 'DELETE FROM credential_holding WHERE worker = ? AND credential = ?',
  holdingsDrop: 'DELETE FROM credential_holding WHERE worker = ?',
  holdingsPending: `SELECT h.worker, h.credential, h.status, h.wanted, c.level
    FROM credential_holding h INDEXED BY credential_holding_open LEFT JOIN credential c ON c.name = h.credential
    WHERE (h.status IN (0, 2) OR (h.status = 1 AND h.acked <> h.wanted)) AND h.worker IN (SELECT value FROM json_each(?))
      AND (h.status = 2 OR c.sealed IS NOT NULL AND coalesce((SELECT s.enabled FROM worker_setting s WHERE s.name = h.worker), 1) = 1)
    ORDER BY h.worker, h.credential`,
  signerGet: 'SELECT public, sealed FROM credential_signer WHERE id = 1',
  signerPut: 'INSERT INTO credential_signer (id, public, sealed) VALUES (1, ?1, ?2) ON CONFLICT (id) DO NOTHING',
  signerReplace: 'UPDATE credential_signer SET public = ?, sealed = ? WHERE id = 1 AND sealed = ?',
  signerDrop: 'DELETE FROM credential_signer',
  workerTags: 'UPDATE worker SET tags = ?1, revision = revision + 1 WHERE id = ?2 AND tags <> ?1',
} as const;
