-- What attempts have written, in place of the checkpoints. `kind` is a position in ENTRY_KINDS (codes.ts); `ref` is the child, whose
-- `value` is when it was made; `usage` is JSON.
ALTER TABLE checkpoint RENAME TO journal;
ALTER INDEX checkpoint_pkey RENAME TO journal_pkey;
ALTER TABLE journal
  ADD COLUMN kind smallint NOT NULL DEFAULT 0,
  ADD COLUMN began bigint,
  ADD COLUMN ref bigint,
  ADD COLUMN usage text,
  ALTER COLUMN value DROP NOT NULL;
