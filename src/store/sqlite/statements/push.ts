const NEW_TASK = '(lane, spec, state, prio, max_tries, flags, created_at, run_at, payload)';

const ROW = '(?, ?, ?, ?, ?, ?, ?, ?, ?)';

export const PUSH_STATEMENTS = {
  taskAdd: `INSERT INTO task ${NEW_TASK} VALUES ${ROW}`,
  // Several rows a statement: 2.2 instead of 3.3 µs a row.
  taskAdd4: `INSERT INTO task ${NEW_TASK} VALUES ${Array(4).fill(ROW).join(', ')}`,
  taskAdd16: `INSERT INTO task ${NEW_TASK} VALUES ${Array(16).fill(ROW).join(', ')}`,
  // Apart from the insert, so that tasks without a wait timeout pay nothing for it.
  taskExpiry: 'UPDATE task SET expires_at = ? WHERE id = ?',
  bodyPut: 'INSERT OR REPLACE INTO body (task, part, data) VALUES (?, ?, ?)',
  bodyGet: 'SELECT data FROM body WHERE task = ? AND part = ?',
  bodyDrop: 'DELETE FROM body WHERE task = ?',
  bodyDropPart: 'DELETE FROM body WHERE task = ? AND part = ?',
  uniqFind: 'SELECT task, hash, until FROM uniq WHERE queue = ? AND key = ?',
  uniqPut: `INSERT INTO uniq (queue, key, task, hash, until) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (queue, key) DO UPDATE SET task = excluded.task, hash = excluded.hash, until = excluded.until`,
  uniqOf: 'SELECT key FROM uniq WHERE task = ?',
  uniqGet: 'SELECT u.task FROM uniq u JOIN queue q ON q.id = u.queue WHERE q.name = ? AND u.key = ?',
  opFind: 'SELECT answer FROM op WHERE id = ? AND until > ?',
  opPut: `INSERT INTO op (id, answer, until) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, until = excluded.until`,
} as const;
