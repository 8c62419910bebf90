-- The nodes of a cluster: one row for each id, of the newest process that has it. `wish` is what it was started as, `asked` what is
-- asked of it instead ("auto": nothing), `stand` what it does.
CREATE TABLE cluster_node (
  id text COLLATE "C" PRIMARY KEY,
  incarnation text NOT NULL,
  wish text NOT NULL,
  asked text NOT NULL DEFAULT 'auto',
  stand text NOT NULL,
  stand_since bigint NOT NULL,
  address text,
  version text,
  host text,
  pid bigint,
  started_at bigint NOT NULL,
  beat_at bigint NOT NULL,
  left_at bigint
) WITH (fillfactor = 50);
