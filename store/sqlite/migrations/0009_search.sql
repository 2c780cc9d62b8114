-- What searches compare, of the newest message. Older rows get their values when they are judged anew. attempt is the current or last one, zero where
-- none is known; ran is how long workers had the message, in microseconds, without the attempt that goes on; held is when that attempt began, zero
-- where none goes on.
ALTER TABLE tasks ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN ran INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
