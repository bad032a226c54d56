-- What turns have used, by interval: at is its beginning. person is channel:ID, '': nobody has typed the message. took is in
-- microseconds, cost in US dollars. whole says that the interval is a day.
CREATE TABLE usage (
	at            bigint NOT NULL,
	person        word,
	chat          word,
	agent         word,
	model         word,
	whole         boolean NOT NULL,
	turns         bigint NOT NULL,
	took          bigint NOT NULL,
	input_tokens  bigint NOT NULL,
	output_tokens bigint NOT NULL,
	cost          double precision NOT NULL,
	PRIMARY KEY (at, person, chat, agent, model, whole)
);
CREATE INDEX usage_person ON usage (person, at);
CREATE INDEX usage_parts ON usage (at) WHERE NOT whole;
