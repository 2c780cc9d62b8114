-- What agents reported that a task cost, in millionths of a USD; zero where nothing was. Older rows get their values when they are judged anew.
ALTER TABLE tasks ADD COLUMN cost bigint NOT NULL DEFAULT 0;
