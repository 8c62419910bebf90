-- When a token was last noted as used, in calendar time. It is written at most once a minute for each.
ALTER TABLE entry_token ADD COLUMN last_used_at bigint;
