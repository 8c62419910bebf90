export const READ_STATEMENTS = {
  taskMax: 'SELECT max(id) AS id FROM task',
  taskGet: `SELECT t.*, l.handler AS handler, q.name AS queue FROM task t
    JOIN lane l ON l.id = t.lane JOIN queue q ON q.id = l.queue WHERE t.id = ?`,
} as const;
