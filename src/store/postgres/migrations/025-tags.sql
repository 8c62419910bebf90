-- Tags that were made by name, whether or not a worker carries them.
CREATE TABLE tag (
  name text COLLATE "C" PRIMARY KEY,
  at bigint NOT NULL,
  author text NOT NULL
);
