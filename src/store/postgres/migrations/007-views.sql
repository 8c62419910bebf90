-- Questions that people ask again, by name: `screen` is the list that they are of, `query` what stands in the address of its page.
CREATE TABLE saved_view (
  name text COLLATE "C" PRIMARY KEY,
  screen text NOT NULL,
  query text NOT NULL,
  saved_by text NOT NULL,
  saved_at bigint NOT NULL
);
