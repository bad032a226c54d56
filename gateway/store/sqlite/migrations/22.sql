-- What turns have used, by interval: at is its beginning. person is channel:ID, '': nobody has typed the message. took is in
-- microseconds, cost in US dollars. whole says that the interval is a day.
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
CREATE INDEX usage_person ON usage (person, at);
CREATE INDEX usage_parts ON usage (at) WHERE whole = 0;
