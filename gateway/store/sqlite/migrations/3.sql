-- What was seen of a turn beyond its answer, where somebody wants to look.
CREATE TABLE trace (
	item INTEGER PRIMARY KEY,
	text TEXT NOT NULL
) STRICT;
DROP TRIGGER forget;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN
	DELETE FROM transcript WHERE item = OLD.id;
	DELETE FROM trace WHERE item = OLD.id;
END;

CREATE INDEX inbox_bubble ON inbox (id) WHERE bubble <> '';
