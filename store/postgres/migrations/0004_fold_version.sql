-- By which version of the rules tasks were judged and counted (lifecycle.FoldVersion), and how far an upgrade to a newer one is.

ALTER TABLE tasks ADD COLUMN fold integer NOT NULL DEFAULT 0;

CREATE TABLE fold_version (
    id        integer PRIMARY KEY CHECK (id = 1),
    version   integer NOT NULL, -- Rollups are counted by it.
    target    integer NOT NULL, -- Another one while an upgrade runs.
    last_task bigint NOT NULL, -- The upgrade has passed it.
    end_task  bigint NOT NULL, -- Later tasks are judged by the new rules from the beginning.
    judged    bigint NOT NULL
);
INSERT INTO fold_version (id, version, target, last_task, end_task, judged) VALUES (1, 0, 0, 0, 0, 0);

-- What the rollups will be when the upgrade is done: the counts of the tasks that it has passed, and of later ones.
CREATE TABLE rollups_next (
    metric text   NOT NULL,
    bucket bigint NOT NULL,
    digest bytea  NOT NULL, -- Of agent and label.
    agent  bytea  NOT NULL,
    label  bytea  NOT NULL,
    n      bigint NOT NULL,
    PRIMARY KEY (metric, bucket, digest)
) WITH (fillfactor = 70);

-- What deleted tasks have contributed to the rollups: it cannot be counted anew.
CREATE TABLE rollups_ended (
    metric text   NOT NULL,
    bucket bigint NOT NULL,
    digest bytea  NOT NULL, -- Of agent and label.
    agent  bytea  NOT NULL,
    label  bytea  NOT NULL,
    n      bigint NOT NULL,
    PRIMARY KEY (metric, bucket, digest)
) WITH (fillfactor = 70);
