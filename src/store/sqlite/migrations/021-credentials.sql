-- Credentials: named secrets. `sealed` is the value under a key of its own, which is wrapped by the secret of the cluster: nothing here opens it.
-- `version` only grows, also over a removal, which leaves the row with no value; `value_version` is the one that the value was sealed under.
-- `workers` and `tags` are JSON lists of who may hold it. `level`, of what is demanded, and other codes are positions in core/credential.
CREATE TABLE credential (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  value_version INTEGER NOT NULL,
  sealed TEXT,
  kind INTEGER NOT NULL,
  type TEXT,
  workers TEXT NOT NULL,
  tags TEXT NOT NULL,
  level INTEGER,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One credential at the workers of one name.
CREATE TABLE credential_holding (
  worker TEXT NOT NULL,
  credential TEXT NOT NULL,
  status INTEGER NOT NULL,
  wanted INTEGER NOT NULL,
  acked INTEGER,
  level INTEGER,
  error TEXT,
  asked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (worker, credential)
) STRICT, WITHOUT ROWID;
CREATE INDEX credential_holding_credential ON credential_holding (credential, worker);
CREATE INDEX credential_holding_open ON credential_holding (worker, credential)
  WHERE status IN (0, 2) OR (status = 1 AND acked <> wanted);

-- The key pair by which the cluster signs what it gives to workers: one row. The private half is sealed as a value is.
CREATE TABLE credential_signer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  public TEXT NOT NULL,
  sealed TEXT NOT NULL
) STRICT;
