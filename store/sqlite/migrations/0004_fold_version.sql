-- By which version of the rules tasks were judged and counted (lifecycle.FoldVersion), and how far an upgrade to a newer one is.

ALTER TABLE tasks ADD COLUMN fold INTEGER NOT NULL DEFAULT 0;

CREATE TABLE fold_version (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    version   INTEGER NOT NULL, -- Rollups are counted by it.
    target    INTEGER NOT NULL, -- Another one while an upgrade runs.
    last_task INTEGER NOT NULL, -- The upgrade has passed it.
    end_task  INTEGER NOT NULL, -- Later tasks are judged by the new rules from the beginning.
    judged    INTEGER NOT NULL
);
INSERT INTO fold_version (id, version, target, last_task, end_task, judged) VALUES (1, 0, 0, 0, 0, 0);

-- What the rollups will be when the upgrade is done: the counts of the tasks that it has passed, and of later ones.
CREATE TABLE rollups_next (
    metric TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    agent  TEXT NOT NULL,
    label  TEXT NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (metric, bucket, agent, label)
) WITHOUT ROWID;

-- What deleted tasks have contributed to the rollups: it cannot be counted anew.
CREATE TABLE rollups_ended (
    metric TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    agent  TEXT NOT NULL,
    label  TEXT NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (metric, bucket, agent, label)
) WITHOUT ROWID;
