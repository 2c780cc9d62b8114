-- Messages that died, as package dlqtriage describes them: a projection of the facts, written with them. The columns beside entry are what
-- lists select, order and group by; entry and follow_up are in the form of store/internal/rowcodec.

CREATE TABLE entries (
    stream      INTEGER NOT NULL, -- Of the message, with seq.
    seq         INTEGER NOT NULL,
    id          TEXT NOT NULL,
    subject     TEXT NOT NULL, -- Of decisions about it.
    task        INTEGER NOT NULL,
    task_id     TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    failed      INTEGER NOT NULL,
    status      TEXT NOT NULL,
    category    TEXT NOT NULL,
    detail      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    path        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    type        TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    via         TEXT NOT NULL,
    due         INTEGER NOT NULL, -- Until when it is deferred; zero for no time.
    resolved    INTEGER NOT NULL,
    copied      INTEGER NOT NULL, -- An entry in the broker's queue was seen.
    words       BLOB NOT NULL, -- What a search looks through, in lower case, parts cut by byte 255.
    entry       BLOB NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX entries_by_id ON entries (id);
CREATE INDEX entries_by_death ON entries (failed, id);
CREATE INDEX entries_of_task ON entries (task);
CREATE INDEX entries_due ON entries (due, id) WHERE due <> 0;
CREATE INDEX entries_uncopied ON entries (failed, id) WHERE copied = 0;

-- Messages that name another one as the one that they retry, which may not be known.
CREATE TABLE follow_ups (
    stream    INTEGER NOT NULL, -- Of the message, with seq.
    seq       INTEGER NOT NULL,
    task      INTEGER NOT NULL,
    entry     TEXT NOT NULL, -- The id of the entry of the one that it names.
    follow_up BLOB NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE INDEX follow_ups_of_entry ON follow_ups (entry);
CREATE INDEX follow_ups_of_task ON follow_ups (task);
