-- Tasks of apflow clients: trees that are written down, and run when somebody says so. `task` is the last execution, of which there
-- were `run`; what became of it is told by the task alone. `shows` is the document whose task this one shows instead of its own.
-- The version of a root grows with each change of its tree: writers compare it. The name of the table is one that another
-- program in the same file hardly has.
CREATE TABLE task_document (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  root TEXT NOT NULL,
  parent TEXT,
  user_id TEXT,
  shows TEXT,
  body TEXT NOT NULL,
  task INTEGER,
  run INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX task_document_root ON task_document (root, num);
CREATE INDEX task_document_task ON task_document (task, num) WHERE task IS NOT NULL;
CREATE INDEX task_document_user ON task_document (user_id, num) WHERE user_id IS NOT NULL;
