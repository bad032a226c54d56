CREATE TABLE chats (
	id      TEXT PRIMARY KEY,
	owner   TEXT NOT NULL,
	title   TEXT NOT NULL,
	updated INTEGER NOT NULL, -- Unix milliseconds, as all times here
	name    TEXT NOT NULL DEFAULT '', -- that a person has given it, shown instead of the title
	pinned  INTEGER NOT NULL DEFAULT 0,
	deleted INTEGER NOT NULL DEFAULT 0 -- 1: its messages are being removed; 2: they are removed
) WITHOUT ROWID;
CREATE INDEX chats_by_time ON chats (updated);

-- Events in order. Sequence numbers are never reused, so a client can resume after the last one that it has seen.
CREATE TABLE events (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	chat    TEXT NOT NULL,
	type    TEXT NOT NULL, -- message, pressed, closed, inserted, removed, changed, deleted or reserved
	id      TEXT NOT NULL, -- of the message; of other events, the message that they change
	time    INTEGER NOT NULL,
	key     TEXT,          -- what must not happen twice
	taken   INTEGER NOT NULL, -- 0: the gateway does not have it yet
	pressed TEXT,          -- which of a message's buttons was pressed
	body    BLOB NOT NULL  -- JSON
);
CREATE INDEX events_by_chat ON events (chat, seq) WHERE type = 'message';
CREATE UNIQUE INDEX messages ON events (chat, id) WHERE type = 'message';
CREATE UNIQUE INDEX keys ON events (key) WHERE key IS NOT NULL;
CREATE INDEX waiting ON events (seq) WHERE taken = 0;

-- The files of messages. Each is stored under its ID in the folder media.
CREATE TABLE media (
	id   TEXT PRIMARY KEY,
	seq  INTEGER NOT NULL,
	chat TEXT NOT NULL,
	name TEXT NOT NULL,
	type TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX media_by_seq ON media (seq);

-- The names that people have chosen, and the same in lower case.
CREATE TABLE people (
	id     TEXT PRIMARY KEY,
	name   TEXT NOT NULL,
	folded TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX people_folded ON people (folded);
