-- Who has the name of a joined worker: its `holder` (core/placement/name-hold.ts), its row by incarnation, and the process that it
-- is connected to, with the id of that process as a node where it is one.
CREATE TABLE worker_name (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  process text COLLATE "C" NOT NULL,
  node text COLLATE "C"
);
