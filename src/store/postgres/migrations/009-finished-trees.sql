-- Finished tasks keep their kin.
ALTER TABLE done ADD COLUMN parent bigint, ADD COLUMN root bigint;
-- Of this table only, which has no rows of its own: it reads none. Days that are made from now on have it from their first row;
-- those that are there get theirs in the file after the next.
CREATE INDEX done_root ON ONLY done (root, id) WHERE root IS NOT NULL;
