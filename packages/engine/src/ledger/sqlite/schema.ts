// The shape of the file. Migrations only go forward, and a released one never changes.

/** Marks the file as ours ("CAIS"). */
export const APPLICATION_ID = 0x43414953;

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    sql: `
CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL) STRICT;

-- The truth. '' is the project's own stream. A run is read backwards from its head along prev_offset: an index by run
-- would make every commit touch a page for each run that is busy.
CREATE TABLE events (
  offset INTEGER PRIMARY KEY,
  run TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  type TEXT NOT NULL,
  version INTEGER NOT NULL,
  at TEXT NOT NULL,
  trace TEXT NOT NULL,
  data TEXT NOT NULL,
  prev_offset INTEGER NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event never changes'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;

-- How long each stream is and how it ends: what makes a missing row visible.
CREATE TABLE streams (run TEXT PRIMARY KEY, count INTEGER NOT NULL, head TEXT NOT NULL, head_offset INTEGER NOT NULL, sealed INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE totals (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, head TEXT NOT NULL) STRICT;
CREATE TABLE seals (run TEXT PRIMARY KEY, count INTEGER NOT NULL, head TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO totals VALUES (1, 0, '${'0'.repeat(64)}');

-- Projections: rebuilt from events alone. Columns beside "row" are for finding only.
CREATE TABLE runs (
  run TEXT PRIMARY KEY, status TEXT NOT NULL, priority INTEGER NOT NULL, accepted_offset INTEGER NOT NULL,
  session TEXT, idempotency_key TEXT, row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_acceptance ON runs (accepted_offset);
CREATE INDEX runs_by_status ON runs (status, accepted_offset);
CREATE UNIQUE INDEX runs_by_key ON runs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE attempts (run TEXT NOT NULL, attempt INTEGER NOT NULL, row TEXT NOT NULL, PRIMARY KEY (run, attempt)) STRICT, WITHOUT ROWID;
CREATE TABLE questions (
  id TEXT PRIMARY KEY, run TEXT NOT NULL, status TEXT NOT NULL, asked_offset INTEGER NOT NULL, row TEXT NOT NULL
) STRICT;
CREATE INDEX questions_by_status ON questions (status, asked_offset);
CREATE TABLE spend (run TEXT PRIMARY KEY, session TEXT, day TEXT NOT NULL, row TEXT NOT NULL) STRICT;
CREATE INDEX spend_by_day ON spend (day);

-- Working rows: who may act now.
CREATE TABLE slots (run TEXT PRIMARY KEY, pool TEXT NOT NULL, host TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE queue (run TEXT PRIMARY KEY, pool TEXT NOT NULL, host TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE holds (name TEXT PRIMARY KEY, holder TEXT NOT NULL, host TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE kv (space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (space, key)) STRICT, WITHOUT ROWID;
`,
  },
  {
    version: 2,
    sql: `
-- The queue follows from the events too: a run stands in it from its acceptance to its first attempt or its ending.
ALTER TABLE runs ADD COLUMN queued_in TEXT;
CREATE INDEX runs_in_turn ON runs (queued_in, priority, accepted_offset) WHERE queued_in IS NOT NULL;
UPDATE runs SET queued_in = 'runs' WHERE status = 'queued' AND row ->> '$.attempt' = 0;
DROP TABLE queue;
`,
  },
  {
    version: 3,
    sql: `
-- A run that ended without a seal is found without looking at the others. A changed row loses its check until it is
-- written again: SQL cannot compute it.
ALTER TABLE runs ADD COLUMN unsealed INTEGER;
UPDATE runs SET unsealed = 1, row = json_set(json_remove(row, '$.check'), '$.unsealed', json('true'))
  WHERE CASE WHEN json_valid(row) THEN row ->> '$.ending' IS NOT NULL END
    AND NOT EXISTS (SELECT 1 FROM events WHERE id IN ('evidence.sealed:' || runs.run, 'run.forgotten:' || runs.run));
CREATE INDEX runs_unsealed ON runs (accepted_offset) WHERE unsealed IS NOT NULL;
`,
  },
  {
    version: 4,
    sql: `
-- A run whose question was answered no longer waits. As above, a changed row loses its check.
UPDATE runs SET status = 'answered', row = json_patch(json_remove(runs.row, '$.check'),
    json_object('status', 'answered', 'continuedBy', questions.row ->> '$.continuedBy'))
  FROM questions WHERE questions.run = runs.run AND questions.status = 'answered' AND runs.status = 'waiting'
    AND json_valid(runs.row) AND json_valid(questions.row);
`,
  },
  {
    version: 5,
    sql: `
-- Each condition of a list has an index in the order of the list, so that a page costs the same in any ledger.
ALTER TABLE runs ADD COLUMN agent TEXT;
ALTER TABLE runs ADD COLUMN runtime TEXT;
ALTER TABLE runs ADD COLUMN continues TEXT;
ALTER TABLE runs ADD COLUMN accepted_at TEXT;
ALTER TABLE runs ADD COLUMN ended_at TEXT;
UPDATE runs SET agent = row ->> '$.agent', runtime = row ->> '$.runtime', continues = row ->> '$.continues',
  accepted_at = row ->> '$.acceptedAt', ended_at = row ->> '$.endedAt' WHERE json_valid(row);
CREATE INDEX runs_by_session ON runs (session, accepted_offset) WHERE session IS NOT NULL;
CREATE INDEX runs_by_agent ON runs (agent, accepted_offset) WHERE agent IS NOT NULL;
CREATE INDEX runs_by_runtime ON runs (runtime, accepted_offset) WHERE runtime IS NOT NULL;
CREATE INDEX runs_by_earlier ON runs (continues, accepted_offset) WHERE continues IS NOT NULL;
CREATE INDEX runs_by_time ON runs (accepted_at, accepted_offset);
CREATE INDEX runs_by_ending ON runs (ended_at, accepted_offset) WHERE ended_at IS NOT NULL;
-- A run is named by the end of its id.
CREATE INDEX runs_by_id_end ON runs (substr(run, -4));
CREATE INDEX questions_by_run ON questions (run, asked_offset);
CREATE INDEX spend_by_session ON spend (session) WHERE session IS NOT NULL;

-- Approvals follow from the events, too.
CREATE TABLE approvals (
  id TEXT PRIMARY KEY, run TEXT NOT NULL, status TEXT NOT NULL, requested_offset INTEGER NOT NULL, row TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_by_status ON approvals (status, requested_offset);
CREATE INDEX approvals_by_run ON approvals (run, requested_offset);
CREATE INDEX approvals_by_id_end ON approvals (substr(id, -4));
WITH decided AS (
  SELECT data ->> '$.approvalId' AS id, data ->> '$.decision' AS decision, data ->> '$.by' AS by, max(offset)
  FROM events WHERE type = 'approval.decided' AND json_valid(data) GROUP BY 1
), requested AS (
  SELECT e.data ->> '$.approvalId' AS id, e.run, e.offset, e.at, e.data, decided.by AS by,
    CASE decided.decision WHEN 'allow' THEN 'allowed' WHEN 'deny' THEN 'denied'
      ELSE CASE WHEN runs.status = 'running' AND runs.row ->> '$.attempt' = e.attempt THEN 'open' END END AS status
  FROM events e LEFT JOIN decided ON decided.id = e.data ->> '$.approvalId' LEFT JOIN runs ON runs.run = e.run
  WHERE e.type = 'approval.requested' AND json_valid(e.data) AND e.data ->> '$.approvalId' IS NOT NULL
)
INSERT INTO approvals SELECT id, run, coalesce(status, 'denied'), offset, json_patch('{}', json_object(
    'approvalId', id, 'runId', run, 'tool', data ->> '$.tool', 'what', data ->> '$.what',
    'actionClass', data ->> '$.actionClass', 'requestedAt', at, 'requestedOffset', offset,
    'deadlineAt', data ->> '$.deadlineAt', 'status', coalesce(status, 'denied'),
    'by', CASE WHEN status IS NULL THEN 'ending' ELSE by END))
  FROM requested WHERE true ON CONFLICT (id) DO NOTHING;
`,
  },
  {
    version: 6,
    sql: `
-- That a run was applied or forgotten follows from the events, too. As above, a changed row loses its check.
WITH applied AS (
  SELECT run, at, json_valid(data) AND version = 1 AND data ->> '$.hasConflicts' = 1 AS conflicts, max(offset)
  FROM events WHERE type = 'run.applied' GROUP BY run
)
UPDATE runs SET row = json_patch(json_remove(runs.row, '$.check'), json_object(
    'appliedAt', applied.at, 'appliedWithConflicts', CASE WHEN conflicts THEN json('true') END))
  FROM applied WHERE applied.run = runs.run AND json_valid(runs.row);
WITH forgotten AS (SELECT run, at, max(offset) FROM events WHERE type = 'run.forgotten' GROUP BY run)
UPDATE runs SET row = json_set(json_remove(runs.row, '$.check'), '$.forgottenAt', forgotten.at)
  FROM forgotten WHERE forgotten.run = runs.run AND json_valid(runs.row);
DELETE FROM kv WHERE space IN ('applied', 'forgotten');
`,
  },
  {
    version: 7,
    sql: `
-- A branch that waits for a person is found without looking at other runs. As above, a changed row loses its check.
ALTER TABLE runs ADD COLUMN waiting_branch TEXT;
CREATE INDEX runs_by_waiting_branch ON runs (waiting_branch, accepted_offset) WHERE waiting_branch IS NOT NULL;
WITH accepted AS (
  SELECT run, data -> '$.repository.push' AS pushes FROM events
  WHERE type = 'dispatch.accepted' AND json_valid(data) AND data ->> '$.repository.remote' IS NOT NULL
)
UPDATE runs SET row = json_set(json_remove(runs.row, '$.check'), '$.pushes', json(coalesce(pushes, 'false')))
  FROM accepted WHERE accepted.run = runs.run AND json_valid(runs.row);
WITH made AS (
  SELECT run, type IN ('dispatch.finished', 'dispatch.failed') AS by_itself FROM events
  WHERE type IN ('dispatch.finished', 'dispatch.failed', 'dispatch.cancelled', 'dispatch.needs_input')
    AND json_valid(data) AND data ->> '$.branch.status' = 'created'
), outcome AS (
  SELECT run, type, max(offset) FROM events
  WHERE type IN ('branch.pushed', 'branch.push-failed', 'branch.dropped') GROUP BY run
), drained AS (SELECT DISTINCT run FROM events WHERE type = 'timeout.drained')
UPDATE runs SET waiting_branch = CASE
    WHEN runs.row ->> '$.forgottenAt' IS NOT NULL OR found.outcome = 'branch.dropped' THEN NULL
    WHEN found.outcome = 'branch.push-failed' THEN 'failed'
    WHEN runs.row ->> '$.pushes' IS NOT NULL AND found.outcome IS NULL
      THEN CASE WHEN runs.row ->> '$.pushes' AND found.by_itself THEN 'pending' ELSE 'kept' END
    WHEN runs.status = 'timeout' AND NOT found.is_drained THEN 'late' END
  FROM (SELECT made.run, made.by_itself, outcome.type AS outcome, drained.run IS NOT NULL AS is_drained
    FROM made LEFT JOIN outcome ON outcome.run = made.run LEFT JOIN drained ON drained.run = made.run) AS found
  WHERE found.run = runs.run AND json_valid(runs.row);
UPDATE runs SET row = json_set(json_remove(row, '$.check'), '$.waitingBranch', waiting_branch)
  WHERE waiting_branch IS NOT NULL;
`,
  },
  {
    version: 8,
    sql: `
-- Threads of workflows; no earlier version has recorded one. A page of them costs the same in any ledger.
CREATE TABLE threads (
  id TEXT PRIMARY KEY, workflow TEXT NOT NULL, status TEXT NOT NULL, accepted_offset INTEGER NOT NULL, row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX threads_by_acceptance ON threads (accepted_offset);
CREATE INDEX threads_by_status ON threads (status, accepted_offset);
CREATE INDEX threads_by_workflow ON threads (workflow, accepted_offset);
CREATE INDEX threads_by_workflow_status ON threads (workflow, status, accepted_offset);
`,
  },
  {
    version: 9,
    sql: `
-- What a run cost is added up by agent and by model, too. As above, a changed row loses its check.
UPDATE spend SET row = json_patch(json_remove(spend.row, '$.check'),
    json_object('agent', runs.row ->> '$.agent', 'runtime', runs.row ->> '$.runtime'))
  FROM runs WHERE runs.run = spend.run AND json_valid(runs.row) AND json_valid(spend.row);
WITH used AS (
  SELECT DISTINCT e.run, m.value AS model
  FROM events e, json_each(CASE WHEN json_valid(e.data) THEN e.data ELSE '{}' END, '$.usage.models') m
  WHERE e.type IN ('attempt.ended', 'dispatch.finished', 'dispatch.failed', 'dispatch.cancelled', 'dispatch.needs_input')
    AND e.version = 1
), listed AS (SELECT run, json_group_array(model) AS models FROM (SELECT * FROM used ORDER BY run, model) GROUP BY run)
UPDATE spend SET row = json_set(json_remove(spend.row, '$.check'), '$.models', json(listed.models))
  FROM listed WHERE listed.run = spend.run AND json_valid(spend.row);
`,
  },
  {
    version: 10,
    sql: `
-- A branch that was not made waits for a person, too. As above, a changed row loses its check.
WITH unmade AS (
  SELECT run, type IN ('dispatch.finished', 'dispatch.failed') AS by_itself FROM events
  WHERE type IN ('dispatch.finished', 'dispatch.failed', 'dispatch.cancelled', 'dispatch.needs_input')
    AND json_valid(data) AND data ->> '$.branch.status' IN ('held', 'taken', 'failed')
), drained AS (SELECT DISTINCT run FROM events WHERE type = 'timeout.drained')
UPDATE runs SET waiting_branch = 'held', row = json_set(json_remove(runs.row, '$.check'), '$.waitingBranch', 'held')
  FROM (SELECT unmade.run, unmade.by_itself, drained.run IS NOT NULL AS is_drained
    FROM unmade LEFT JOIN drained ON drained.run = unmade.run) AS found
  WHERE found.run = runs.run AND json_valid(runs.row) AND runs.row ->> '$.forgottenAt' IS NULL
    AND CASE WHEN runs.row ->> '$.pushes' IS NULL THEN runs.status = 'timeout' AND NOT found.is_drained
      ELSE runs.status = 'timeout' OR (runs.row ->> '$.pushes' AND found.by_itself) END;
`,
  },
];

/** The newest version in a list of migrations. */
export function latestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}
