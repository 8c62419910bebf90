-- Trees: who bore a task, and the root of all. A task that was pushed has neither, and is its own root.
ALTER TABLE task ADD COLUMN parent bigint, ADD COLUMN root bigint;
