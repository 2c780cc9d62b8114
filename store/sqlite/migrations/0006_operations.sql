-- The list of operations: actions that are no part of another one, the newest first.
CREATE INDEX actions_alone ON actions (created, id) WHERE operation = '';
