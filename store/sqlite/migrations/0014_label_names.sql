-- The names in labels of rollups that are counted apart (lifecycle.NamePlaces). A name that has a row keeps it: its counts are in rows of their own. What has none is
-- counted under one label for all others. Older rows of rollups stay as they are until tasks are counted anew.
CREATE TABLE label_names (
    kind  TEXT NOT NULL,
    agent TEXT NOT NULL,
    name  TEXT NOT NULL,
    PRIMARY KEY (kind, agent, name)
) WITHOUT ROWID;
