-- The list in the order of what tasks cost. What was not reported has no place in it, so tasks without a cost cost no entry.
CREATE INDEX tasks_by_cost ON tasks (cost) WHERE listed = 1 AND cost > 0;
