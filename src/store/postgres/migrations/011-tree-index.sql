-- The members of a tree by number. Those of `done`, day by day, and what older programs have written: fill-trees.ts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS task_root ON {schema}.task (root, id) WHERE root IS NOT NULL;
