-- The only agents that a token may report for, with spaces in between; empty for any.
ALTER TABLE tokens ADD COLUMN agents bytea NOT NULL DEFAULT '';
