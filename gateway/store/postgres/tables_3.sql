-- What the messages of a day (at is its beginning) have used of a quota, by person, chat or agent.
CREATE TABLE quota (
	at      bigint NOT NULL,
	rule    word,
	subject word,
	used    double precision NOT NULL,
	PRIMARY KEY (at, rule, subject)
);
-- The quotas for which running messages count.
CREATE TABLE counted (
	inbound bigint NOT NULL,
	at      bigint NOT NULL,
	rule    word,
	subject word,
	unit    word,
	PRIMARY KEY (inbound, rule, subject)
);
-- The chats that were told that a quota is used up (spent) or will be soon. inbound is the running message because of which,
-- or 0.
CREATE TABLE quota_told (
	at      bigint NOT NULL,
	rule    word,
	subject word,
	chat    word,
	spent   boolean NOT NULL,
	inbound bigint NOT NULL,
	PRIMARY KEY (at, rule, subject, chat, spent)
);
CREATE INDEX quota_told_inbound ON quota_told (inbound) WHERE inbound <> 0;
