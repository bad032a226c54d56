-- The oldest schema that is read. Times are microseconds UTC, 0: not yet. A chat is its key, channel:id.

CREATE TABLE cursor (
	channel TEXT PRIMARY KEY,
	value   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- IDs are never used twice, because deliveries, entries and questions continue to name a row that was pruned.
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
	incoming      TEXT NOT NULL,
	memory        INTEGER NOT NULL DEFAULT 0, -- of its turn: the peak in bytes
	cpu           INTEGER NOT NULL DEFAULT 0  -- and the processor time in microseconds
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
	outgoing   TEXT NOT NULL,
	dropped    INTEGER NOT NULL DEFAULT 0, -- its sending cannot be called back, but it is not tried again
	about      INTEGER NOT NULL DEFAULT 0  -- the inbound message that it is about without answering it, 0: none
) STRICT;
CREATE INDEX outbox_unsent ON outbox (state, chat, id) WHERE state <> 'sent';
CREATE INDEX outbox_place ON outbox (item, place) WHERE place > 0;
CREATE INDEX outbox_settled ON outbox (settled, id) WHERE settled > 0;

-- Which deliveries still need a folder of the spool.
CREATE TABLE spooled (
	folder TEXT NOT NULL,
	parcel INTEGER NOT NULL,
	PRIMARY KEY (folder, parcel)
) STRICT, WITHOUT ROWID;
CREATE INDEX spooled_parcel ON spooled (parcel);

-- What the agent said. What users said is in the inbox.
CREATE TABLE transcript (
	item  INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	text  TEXT NOT NULL,
	media TEXT NOT NULL, -- a JSON array
	at    INTEGER NOT NULL,
	PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE afresh ( -- up to which inbound message a chat was forgotten, where somebody asked for that
	chat TEXT PRIMARY KEY,
	item INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What was seen of a turn beyond its answer, where somebody wants to look.
CREATE TABLE trace (
	item INTEGER PRIMARY KEY,
	text TEXT NOT NULL
) STRICT;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN
	DELETE FROM transcript WHERE item = OLD.id;
	DELETE FROM trace WHERE item = OLD.id;
END;

-- What is known of chats beyond what was said.
CREATE TABLE memory (
	chat  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (chat, key)
) STRICT, WITHOUT ROWID;

-- Messages that are removed when their turn ends. A turn may have several.
CREATE TABLE bubble (
	chat TEXT NOT NULL,
	id   TEXT NOT NULL,
	item INTEGER NOT NULL,
	PRIMARY KEY (chat, id)
) STRICT, WITHOUT ROWID;

-- People who are not admitted leave no rows in the inbox and the outbox. What is kept of them is bounded. Somebody with a code waits
-- to be accepted.
CREATE TABLE guest (
	channel  TEXT NOT NULL,
	user     TEXT NOT NULL,
	name     TEXT NOT NULL,
	username TEXT NOT NULL,
	code     TEXT NOT NULL,
	since    INTEGER NOT NULL,
	message  TEXT NOT NULL DEFAULT '', -- that waits for an answer, '': none
	-- 0: nothing is to be done, 1: the person, who was let in, is to be told, 2: told, and the message is to be received
	welcome  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX guest_code ON guest (code) WHERE code <> '';
CREATE INDEX guest_welcome ON guest (channel, user) WHERE welcome > 0;

-- Messages of people who were not admitted, so that the same one offered again is a duplicate.
CREATE TABLE refused (
	seq     INTEGER PRIMARY KEY,
	chat    TEXT NOT NULL,
	message TEXT NOT NULL,
	at      INTEGER NOT NULL,
	UNIQUE (chat, message)
) STRICT;

-- When pairing codes were made, which bounds how many are made in an hour; and who was told to try later.
CREATE TABLE code_made (
	channel TEXT NOT NULL,
	at      INTEGER NOT NULL
) STRICT;
CREATE TABLE told_later (
	channel TEXT NOT NULL,
	user    TEXT NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;

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
	answered_by TEXT NOT NULL DEFAULT '',
	parcel  INTEGER NOT NULL DEFAULT 0 -- the last delivery of its message, 0: none
) STRICT;
CREATE INDEX question_closed ON question (closed, seq) WHERE closed > 0;
CREATE INDEX question_open ON question (chat, seq) WHERE closed = 0;
CREATE INDEX question_item ON question (item) WHERE closed = 0;
CREATE INDEX question_chat ON question (chat, seq);
