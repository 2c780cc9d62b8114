-- Who published a message, by its own word, and when it was stored: for lists of what somebody gave. Empty and zero where the message does not say it. Older rows get
-- their values when tasks are judged anew.
ALTER TABLE messages ADD COLUMN publisher TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN given INTEGER NOT NULL DEFAULT 0;
CREATE INDEX messages_by_publisher ON messages (publisher, given) WHERE publisher <> '';
