-- What users said is in the inbox; the transcript has only what the agent said, by the item it answers.
CREATE TABLE said (
	item  INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	text  TEXT NOT NULL,
	media TEXT NOT NULL, -- a JSON array
	at    INTEGER NOT NULL,
	PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;
INSERT INTO said SELECT item, id, text, media, at FROM transcript WHERE role = 'agent' AND item IN (SELECT id FROM inbox);
DROP TABLE transcript;
ALTER TABLE said RENAME TO transcript;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN DELETE FROM transcript WHERE item = OLD.id; END;

-- Up to which item a chat was forgotten, where somebody asked for that.
CREATE TABLE afresh (
	chat TEXT PRIMARY KEY,
	item INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO afresh SELECT chat, max(id) FROM inbox WHERE chat NOT IN (SELECT chat FROM talk) GROUP BY chat;
DROP TABLE talk;
