export const TAG_STATEMENTS = {
  tagAdd: 'INSERT INTO tag (name, at, author) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  tagFind: 'SELECT 1 FROM tag WHERE name = ?',
  tagList: 'SELECT name, at, author AS by FROM tag ORDER BY name',
  tagDrop: 'DELETE FROM tag WHERE name = ?',
} as const;
