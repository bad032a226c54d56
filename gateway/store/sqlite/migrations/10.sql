-- Parts of messages that networks deliver in parts, until the whole message is received.
CREATE TABLE part (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they came
	chat     TEXT NOT NULL,
	message  TEXT NOT NULL,
	whole    TEXT NOT NULL, -- which message of the chat it belongs to
	at       INTEGER NOT NULL,
	incoming TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX part_message ON part (chat, message) WHERE message <> '';
CREATE INDEX part_whole ON part (chat, whole);
