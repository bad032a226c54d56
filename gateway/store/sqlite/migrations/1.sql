-- Times are microseconds UTC, 0: not yet. A chat is its key, channel:id.

CREATE TABLE cursor (
	channel TEXT PRIMARY KEY,
	value   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Ids are never used twice, because parcels, entries and questions go on naming an item that was pruned.
CREATE TABLE inbox (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	chat          TEXT NOT NULL,
	state         TEXT NOT NULL,
	attempt       INTEGER NOT NULL DEFAULT 0,
	received      INTEGER NOT NULL,
	started       INTEGER NOT NULL DEFAULT 0,
	ended         INTEGER NOT NULL DEFAULT 0,
	status        TEXT NOT NULL DEFAULT '',
	exit_code     INTEGER NOT NULL DEFAULT 0,
	signal        TEXT NOT NULL DEFAULT '',
	bubble        TEXT NOT NULL DEFAULT '',
	incoming      TEXT NOT NULL
) STRICT;
CREATE INDEX inbox_chat ON inbox (chat, id);
CREATE INDEX inbox_open ON inbox (state, chat, id) WHERE ended = 0;
CREATE INDEX inbox_ended ON inbox (ended, id) WHERE ended > 0;

-- What was received once, kept longer than the inbox, so that an old message offered again stays a duplicate.
CREATE TABLE seen (
	chat    TEXT NOT NULL,
	message TEXT NOT NULL,
	item    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (chat, message)
) STRICT, WITHOUT ROWID;

-- The chats that have something pending and nothing running, in the order of their turns.
CREATE TABLE line (
	seq  INTEGER PRIMARY KEY,
	chat TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE outbox (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	item       INTEGER NOT NULL,
	place      INTEGER NOT NULL,
	part       INTEGER NOT NULL,
	digest     BLOB NOT NULL,
	chat       TEXT NOT NULL,
	state      TEXT NOT NULL,
	tries      INTEGER NOT NULL DEFAULT 0,
	not_before INTEGER NOT NULL DEFAULT 0,
	reason     TEXT NOT NULL DEFAULT '',
	receipt    TEXT NOT NULL DEFAULT '',
	queued     INTEGER NOT NULL,
	settled    INTEGER NOT NULL DEFAULT 0,
	outgoing   TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_unsent ON outbox (state, chat, id) WHERE state <> 'sent';
CREATE INDEX outbox_place ON outbox (item, place) WHERE place > 0;
CREATE INDEX outbox_settled ON outbox (settled, id) WHERE settled > 0;

-- Which parcels still need a folder of the spool.
CREATE TABLE spooled (
	folder TEXT NOT NULL,
	parcel INTEGER NOT NULL,
	PRIMARY KEY (folder, parcel)
) STRICT, WITHOUT ROWID;
CREATE INDEX spooled_parcel ON spooled (parcel);

-- Each entry names the one before it in its chat. An index by chat would do the same, but then many chats that talk at once
-- would each write a page of their own.
CREATE TABLE transcript (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	before INTEGER NOT NULL,
	item   INTEGER NOT NULL,
	role   TEXT NOT NULL,
	text   TEXT NOT NULL,
	media  TEXT NOT NULL, -- a JSON array
	at     INTEGER NOT NULL
) STRICT;

-- The last entry of a chat since it was started afresh.
CREATE TABLE talk (
	chat  TEXT PRIMARY KEY,
	entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A guest with a code waits to be accepted.
CREATE TABLE guest (
	channel  TEXT NOT NULL,
	user     TEXT NOT NULL,
	name     TEXT NOT NULL,
	username TEXT NOT NULL,
	code     TEXT NOT NULL,
	since    INTEGER NOT NULL,
	PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX guest_code ON guest (code) WHERE code <> '';

CREATE TABLE question (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE,
	item    INTEGER NOT NULL,
	chat    TEXT NOT NULL,
	text    TEXT NOT NULL,
	options TEXT NOT NULL, -- a JSON array
	asked   INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- 0: never
	closed  INTEGER NOT NULL DEFAULT 0, -- when it was answered or ended
	answer  TEXT,
	answered_by TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX question_closed ON question (closed, seq) WHERE closed > 0;
CREATE INDEX question_open ON question (chat, seq) WHERE closed = 0;
CREATE INDEX question_item ON question (item) WHERE closed = 0;
