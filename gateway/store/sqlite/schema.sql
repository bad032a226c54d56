-- What the migrations make of no schema. A test writes it: go test ./gateway/store/sqlite -run NewDatabase -update
CREATE TABLE cursor (
	channel TEXT PRIMARY KEY,
	value   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
, owner TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT 'default', not_before INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT 'person') STRICT;
CREATE TABLE seen (
	chat    TEXT NOT NULL,
	message TEXT NOT NULL,
	inbound    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (chat, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE line (
	seq  INTEGER PRIMARY KEY,
	chat TEXT NOT NULL UNIQUE
, not_before INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE outbox (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	inbound       INTEGER NOT NULL,
	sequence      INTEGER NOT NULL,
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
, doubtful INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE spooled (
	folder TEXT NOT NULL,
	delivery INTEGER NOT NULL,
	PRIMARY KEY (folder, delivery)
) STRICT, WITHOUT ROWID;
CREATE TABLE transcript (
	inbound  INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	text  TEXT NOT NULL,
	media TEXT NOT NULL, -- a JSON array
	at    INTEGER NOT NULL, delivery INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (inbound, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE afresh ( -- up to which inbound message a chat was forgotten, where somebody asked for that
	chat TEXT PRIMARY KEY,
	inbound INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE trace (
	inbound INTEGER PRIMARY KEY,
	text TEXT NOT NULL
) STRICT;
CREATE TABLE memory (
	chat  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (chat, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE "transient" (
	chat TEXT NOT NULL,
	id   TEXT NOT NULL,
	inbound INTEGER NOT NULL, board INTEGER NOT NULL DEFAULT 0, incoming INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (chat, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE "pairing" (
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
CREATE TABLE refused (
	seq     INTEGER PRIMARY KEY,
	chat    TEXT NOT NULL,
	message TEXT NOT NULL,
	at      INTEGER NOT NULL,
	UNIQUE (chat, message)
) STRICT;
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
	inbound    INTEGER NOT NULL,
	chat    TEXT NOT NULL,
	text    TEXT NOT NULL,
	options TEXT NOT NULL, -- a JSON array
	asked   INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- 0: never
	closed  INTEGER NOT NULL DEFAULT 0, -- when it was answered or ended
	answer  TEXT,
	answered_by TEXT NOT NULL DEFAULT '',
	delivery  INTEGER NOT NULL DEFAULT 0 -- the last delivery of its message, 0: none
, approval INTEGER NOT NULL DEFAULT 0, other_text TEXT NOT NULL DEFAULT '', commands TEXT NOT NULL DEFAULT '', secret INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE token (
	token TEXT PRIMARY KEY,
	chat  TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TABLE part (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they came
	chat     TEXT NOT NULL,
	message  TEXT NOT NULL,
	whole    TEXT NOT NULL, -- which message of the chat it belongs to
	at       INTEGER NOT NULL,
	incoming TEXT NOT NULL
) STRICT;
CREATE TABLE record (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE details (
	inbound INTEGER PRIMARY KEY,
	text    TEXT NOT NULL
, summary TEXT NOT NULL DEFAULT '', required INTEGER NOT NULL DEFAULT 0, fold INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE schedule (
	name      TEXT PRIMARY KEY,
	chat      TEXT NOT NULL,
	maker     TEXT NOT NULL,
	spec      TEXT NOT NULL,
	made      INTEGER NOT NULL,
	accounted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE occurrence (
	schedule TEXT NOT NULL,
	due      INTEGER NOT NULL,
	wall     TEXT NOT NULL,
	outcome  TEXT NOT NULL,
	reason   TEXT NOT NULL,
	inbound  INTEGER NOT NULL, -- 0: none
	PRIMARY KEY (schedule, due, wall)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage (
	at            INTEGER NOT NULL,
	person        TEXT NOT NULL,
	chat          TEXT NOT NULL,
	agent         TEXT NOT NULL,
	model         TEXT NOT NULL,
	whole         INTEGER NOT NULL,
	turns         INTEGER NOT NULL,
	took          INTEGER NOT NULL,
	input_tokens  INTEGER NOT NULL,
	output_tokens INTEGER NOT NULL,
	cost          REAL NOT NULL,
	PRIMARY KEY (at, person, chat, agent, model, whole)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota (
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	used    REAL NOT NULL,
	PRIMARY KEY (at, rule, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE counted (
	inbound INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	unit    TEXT NOT NULL,
	PRIMARY KEY (inbound, rule, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota_told (
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	chat    TEXT NOT NULL,
	spent   INTEGER NOT NULL,
	inbound INTEGER NOT NULL,
	PRIMARY KEY (at, rule, subject, chat, spent)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_chat ON inbox (chat, id);
CREATE INDEX inbox_ended ON inbox (ended, id) WHERE ended > 0;
CREATE INDEX outbox_unsent ON outbox (state, chat, id) WHERE state <> 'sent';
CREATE INDEX outbox_place ON outbox (inbound, sequence) WHERE sequence > 0;
CREATE INDEX outbox_settled ON outbox (settled, id) WHERE settled > 0;
CREATE INDEX spooled_parcel ON spooled (delivery);
CREATE UNIQUE INDEX guest_code ON "pairing" (code) WHERE code <> '';
CREATE INDEX guest_welcome ON "pairing" (channel, user) WHERE welcome > 0;
CREATE INDEX question_closed ON question (closed, seq) WHERE closed > 0;
CREATE INDEX question_open ON question (chat, seq) WHERE closed = 0;
CREATE INDEX question_item ON question (inbound) WHERE closed = 0;
CREATE INDEX question_chat ON question (chat, seq);
CREATE UNIQUE INDEX part_message ON part (chat, message) WHERE message <> '';
CREATE INDEX part_whole ON part (chat, whole);
CREATE INDEX inbox_gathering ON inbox (chat, id) WHERE state = 'pending' AND not_before > 0;
CREATE INDEX details_fold ON details (inbound) WHERE fold > 0;
CREATE INDEX question_secret ON question (inbound) WHERE secret = 1 AND answer IS NOT NULL;
CREATE INDEX inbox_open ON inbox (state, chat, (origin <> 'person' AND attempt = 0), id) WHERE ended = 0;
CREATE INDEX inbox_origin ON inbox (origin, id) WHERE ended = 0 AND origin <> 'person';
CREATE INDEX schedule_chat ON schedule (chat, name);
CREATE INDEX usage_person ON usage (person, at);
CREATE INDEX usage_parts ON usage (at) WHERE whole = 0;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN
	DELETE FROM transcript WHERE inbound = OLD.id;
	DELETE FROM trace WHERE inbound = OLD.id;
	DELETE FROM details WHERE inbound = OLD.id;
END;
CREATE VIEW searched (inbound, n, text) AS
	SELECT id, 0, char(57344) || hex(chat) || ' ' ||
		CASE WHEN json_valid(incoming) THEN substr(coalesce(incoming ->> '$.text', ''), 1, 65536) ELSE '' END
		FROM inbox WHERE attempt > 0
	UNION ALL SELECT t.inbound, t.n, char(57344) || hex(i.chat) || ' ' || substr(t.text, 1, 65536)
		FROM transcript t JOIN inbox i ON i.id = t.inbound WHERE t.n < 1 << 20;
CREATE VIRTUAL TABLE search USING fts5(text, content = '', contentless_delete = 1, detail = none,
	tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER search_message AFTER INSERT ON inbox WHEN NEW.attempt > 0 BEGIN
	INSERT INTO search (rowid, text) SELECT inbound << 20, text FROM searched WHERE inbound = NEW.id AND n = 0;
END;
CREATE TRIGGER search_change AFTER UPDATE OF attempt, incoming ON inbox
	WHEN (OLD.attempt > 0) <> (NEW.attempt > 0) OR NEW.attempt > 0 AND OLD.incoming <> NEW.incoming BEGIN
	DELETE FROM search WHERE rowid = NEW.id << 20;
	INSERT INTO search (rowid, text) SELECT inbound << 20, text FROM searched WHERE inbound = NEW.id AND n = 0;
	INSERT INTO search (search) SELECT 'optimize' WHERE coalesce(OLD.incoming ->> '$.text', '') <> ''
		AND coalesce(NEW.incoming ->> '$.text', '') = ''; -- the text was a secret
END;
CREATE TRIGGER search_delete AFTER DELETE ON inbox BEGIN
	DELETE FROM search WHERE rowid = OLD.id << 20;
END;
CREATE TRIGGER search_entry AFTER INSERT ON transcript BEGIN
	INSERT INTO search (rowid, text) SELECT inbound << 20 | n, text FROM searched WHERE inbound = NEW.inbound AND n = NEW.n;
END;
CREATE TRIGGER search_entry_delete AFTER DELETE ON transcript BEGIN
	DELETE FROM search WHERE rowid = OLD.inbound << 20 | OLD.n;
END;
