-- Alerts ask for the tasks with an anomaly every few seconds: these must not be looked for among all tasks of a day.
CREATE INDEX tasks_by_anomaly ON tasks (last_event) WHERE listed AND anomalies <> '';
