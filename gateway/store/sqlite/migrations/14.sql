-- What a folded board shows when a person asks for it. It is deleted with its inbound message.
CREATE TABLE details (
	inbound INTEGER PRIMARY KEY,
	text    TEXT NOT NULL
) STRICT;
DROP TRIGGER forget;
CREATE TRIGGER forget AFTER DELETE ON inbox BEGIN
	DELETE FROM transcript WHERE inbound = OLD.id;
	DELETE FROM trace WHERE inbound = OLD.id;
	DELETE FROM details WHERE inbound = OLD.id;
END;
