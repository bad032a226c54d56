-- The index of what people wrote and agents answered. A row of it has the number inbound * 2^20 + n: n is 0 for the person's
-- message, else that of the transcript. The first word of each text is that of its chat; 57344 is a private-use character,
-- which no searched word has. Rows that are deleted leave their words to the next merge, and 'optimize' removes them at once.
ALTER TABLE transcript ADD COLUMN delivery INTEGER NOT NULL DEFAULT 0; -- the first of its message, 0: unknown
CREATE VIEW searched (inbound, n, text) AS
	SELECT id, 0, char(57344) || hex(chat) || ' ' ||
		CASE WHEN json_valid(incoming) THEN substr(coalesce(incoming ->> '$.text', ''), 1, 65536) ELSE '' END
		FROM inbox WHERE attempt > 0
	UNION ALL SELECT t.inbound, t.n, char(57344) || hex(i.chat) || ' ' || substr(t.text, 1, 65536)
		FROM transcript t JOIN inbox i ON i.id = t.inbound WHERE t.n < 1 << 20;
CREATE VIRTUAL TABLE search USING fts5(text, content = '', contentless_delete = 1, detail = none,
	tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO search (rowid, text) SELECT inbound << 20 | n, text FROM searched ORDER BY inbound, n;
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
