-- Messages that died, as package dlqtriage describes them: a projection of the facts, written with them under the lock of the task's row.
-- The columns beside entry are what lists select, order and group by; entry and follow_up are in the form of store/internal/rowcodec.

CREATE TABLE entries (
    stream      integer NOT NULL, -- Of the message, with seq.
    seq         bigint  NOT NULL,
    id          bytea   NOT NULL,
    subject     bytea   NOT NULL, -- Of decisions about it.
    task        bigint  NOT NULL,
    task_id     bytea   NOT NULL,
    message_id  bytea   NOT NULL,
    failed      bigint  NOT NULL,
    status      bytea   NOT NULL,
    category    text    NOT NULL,
    detail      bytea   NOT NULL,
    kind        bytea   NOT NULL,
    path        text    NOT NULL,
    agent       bytea   NOT NULL,
    type        bytea   NOT NULL,
    fingerprint bytea   NOT NULL,
    outcome     text    NOT NULL,
    via         bytea   NOT NULL,
    due         bigint  NOT NULL, -- Until when it is deferred; zero for no time.
    resolved    bigint  NOT NULL,
    copied      boolean NOT NULL, -- An entry in the broker's queue was seen.
    words       bytea   NOT NULL, -- What a search looks through, in lower case, parts cut by byte 255.
    entry       bytea   NOT NULL,
    PRIMARY KEY (stream, seq)
) WITH (fillfactor = 70);
-- Ties of times are sorted when they are read: they are few, and ids are long.
CREATE INDEX entries_by_id ON entries (substring(id, 1, 64));
CREATE INDEX entries_by_death ON entries (failed);
CREATE INDEX entries_of_task ON entries (task);
CREATE INDEX entries_due ON entries (due) WHERE due <> 0;
CREATE INDEX entries_uncopied ON entries (failed) WHERE NOT copied;

-- Messages that name another one as the one that they retry, which may not be known.
CREATE TABLE follow_ups (
    stream    integer NOT NULL, -- Of the message, with seq.
    seq       bigint  NOT NULL,
    task      bigint  NOT NULL,
    entry     bytea   NOT NULL, -- The id of the entry of the one that it names.
    follow_up bytea   NOT NULL,
    PRIMARY KEY (stream, seq)
) WITH (fillfactor = 70);
CREATE INDEX follow_ups_of_entry ON follow_ups (substring(entry, 1, 64));
CREATE INDEX follow_ups_of_task ON follow_ups (task);
