-- What the messages of a day (at is its beginning) have used of a quota, by person, chat or agent.
CREATE TABLE quota (
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	used    REAL NOT NULL,
	PRIMARY KEY (at, rule, subject)
) STRICT, WITHOUT ROWID;
-- The quotas for which running messages count.
CREATE TABLE counted (
	inbound INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	unit    TEXT NOT NULL,
	PRIMARY KEY (inbound, rule, subject)
) STRICT, WITHOUT ROWID;
-- The chats that were told that a quota is used up (spent = 1) or will be soon. inbound is the running message because of
-- which, or 0.
CREATE TABLE quota_told (
	at      INTEGER NOT NULL,
	rule    TEXT NOT NULL,
	subject TEXT NOT NULL,
	chat    TEXT NOT NULL,
	spent   INTEGER NOT NULL,
	inbound INTEGER NOT NULL,
	PRIMARY KEY (at, rule, subject, chat, spent)
) STRICT, WITHOUT ROWID;
