-- The names in labels of rollups that are counted apart (lifecycle.NamePlaces). A name that has a row keeps it: its counts are in rows of their own. What has none is
-- counted under one label for all others. Older rows of rollups stay as they are until tasks are counted anew.
CREATE TABLE label_names (
    kind     text  NOT NULL,
    agent_id bytea NOT NULL, -- Digest of agent.
    name_id  bytea NOT NULL, -- Digest of name.
    agent    bytea NOT NULL,
    name     bytea NOT NULL,
    PRIMARY KEY (kind, agent_id, name_id)
);

-- Its one row is held by who gives places to names. It is apart from the table that is vacuumed, which may hold up a lock for long.
CREATE TABLE label_names_turn (id integer PRIMARY KEY);
INSERT INTO label_names_turn (id) VALUES (1);
