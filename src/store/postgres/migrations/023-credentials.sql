-- Credentials: named secrets. `sealed` is the value under a key of its own, which is wrapped by the secret of the cluster: nothing here opens it.
-- `version` only grows, also over a removal, which leaves the row with no value; `value_version` is the one that the value was sealed under.
-- `workers` and `tags` are JSON lists of who may hold it. `level`, of what is demanded, and other codes are positions in core/credential.
CREATE TABLE credential (
  name text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  value_version bigint NOT NULL,
  sealed text,
  kind smallint NOT NULL,
  type text,
  workers text NOT NULL,
  tags text NOT NULL,
  level smallint,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL
);

-- One credential at the workers of one name.
CREATE TABLE credential_holding (
  worker text COLLATE "C" NOT NULL,
  credential text COLLATE "C" NOT NULL,
  status smallint NOT NULL,
  wanted bigint NOT NULL,
  acked bigint,
  level smallint,
  error text,
  asked_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  PRIMARY KEY (worker, credential)
);
CREATE INDEX credential_holding_credential ON credential_holding (credential, worker);
CREATE INDEX credential_holding_open ON credential_holding (worker, credential)
  WHERE status IN (0, 2) OR (status = 1 AND acked <> wanted);

-- The key pair by which the cluster signs what it gives to workers: one row. The private half is sealed as a value is.
CREATE TABLE credential_signer (
  id integer PRIMARY KEY CHECK (id = 1),
  public text NOT NULL,
  sealed text NOT NULL
);
