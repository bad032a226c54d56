-- What users said is in the inbox; the transcript has only what the agent said, by the item it answers.
CREATE TABLE said (
	item  INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	text  TEXT NOT NULL,
	media TEXT NOT NULL, -- a JSON array
	at    INTEGER NOT NULL,
	PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE afresh ( -- up to which item a chat was forgotten, where somebody asked for that
	chat TEXT PRIMARY KEY,
	item INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO afresh
	WITH RECURSIVE chain (chat, id) AS (
		SELECT chat, entry FROM talk
		UNION ALL
		SELECT chain.chat, t.before FROM chain JOIN transcript t USING (id) WHERE t.before > 0)
	SELECT chat, min(item) - 1 FROM chain JOIN transcript USING (id) GROUP BY chat
	UNION ALL
	SELECT chat, max(id) FROM inbox WHERE attempt > 0 AND chat NOT IN (SELECT chat FROM talk) GROUP BY chat;
INSERT INTO said SELECT item, id, text, media, at FROM transcript WHERE role = 'agent' AND item IN (SELECT id FROM inbox);
DROP TABLE transcript;
ALTER TABLE said RENAME TO transcript;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN DELETE FROM transcript WHERE item = OLD.id; END;
DROP TABLE talk;
