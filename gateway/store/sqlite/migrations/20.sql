-- Who began a message: person, ask, agent, hook:NAME or schedule:NAME. A person's message is claimed before the others of its
-- chat that wait.
ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT 'person';
DROP INDEX inbox_open;
CREATE INDEX inbox_open ON inbox (state, chat, (origin <> 'person' AND attempt = 0), id) WHERE ended = 0;
CREATE INDEX inbox_origin ON inbox (origin, id) WHERE ended = 0 AND origin <> 'person';
-- The schedules of the configuration and of chats. spec is JSON. maker is the person who has made it, '': the operator.
-- accounted is the time up to which all occurrences are in the table occurrence.
CREATE TABLE schedule (
	name      TEXT PRIMARY KEY,
	chat      TEXT NOT NULL,
	maker     TEXT NOT NULL,
	spec      TEXT NOT NULL,
	made      INTEGER NOT NULL,
	accounted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_chat ON schedule (chat, name);
-- wall is the local time that the schedule names: in a change to summer time, two of them have the same due.
CREATE TABLE occurrence (
	schedule TEXT NOT NULL,
	due      INTEGER NOT NULL,
	wall     TEXT NOT NULL,
	outcome  TEXT NOT NULL,
	reason   TEXT NOT NULL,
	inbound  INTEGER NOT NULL, -- 0: none
	PRIMARY KEY (schedule, due, wall)
) STRICT, WITHOUT ROWID;
