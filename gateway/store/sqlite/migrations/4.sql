-- What is known of chats beyond what was said.
CREATE TABLE memory (
	chat  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (chat, key)
) STRICT, WITHOUT ROWID;

-- Messages that are to go when their turn ends. A turn may have several.
CREATE TABLE bubble (
	chat TEXT NOT NULL,
	id   TEXT NOT NULL,
	item INTEGER NOT NULL,
	PRIMARY KEY (chat, id)
) STRICT, WITHOUT ROWID;
INSERT INTO bubble SELECT chat, bubble, id FROM inbox WHERE bubble <> '';
DROP INDEX inbox_bubble;
ALTER TABLE inbox DROP COLUMN bubble;
