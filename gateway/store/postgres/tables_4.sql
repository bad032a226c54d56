-- The index of what people wrote (n = 0) and agents answered (n as in transcript). words has the words of the text and that
-- of the chat, whose underscore no other word has. Triggers maintain it, so that members of the version before do so, too.
ALTER TABLE transcript ADD COLUMN delivery bigint NOT NULL DEFAULT 0; -- the first of its message, 0: unknown
CREATE TABLE search (
	inbound bigint NOT NULL,
	n       integer NOT NULL,
	words   tsvector NOT NULL,
	PRIMARY KEY (inbound, n)
);
CREATE INDEX search_words ON search USING gin (words);

-- search_words returns the words of a text, in order, without case and diacritics. It does not depend on the locale of the
-- database: Greek and Cyrillic letters are named because lower() may know only ASCII, and so are the separators.
CREATE FUNCTION search_words(given text) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
	SELECT left(w, 100) FROM regexp_split_to_table(translate(lower(
		regexp_replace(normalize(left(given, 65536), NFD), '[\u0300-\u036f]+', '', 'g') COLLATE "default"),
		'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІҐЂЈЉЊЋЏЅ',
		'αβγδεζηθικλμνξοπρστυφχψωабвгдежзиклмнопрстуфхцчшщъыьэюяєіґђјљњћџѕ'),
		'[\u0001-/:-@[-`{-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u02c2-\u02c5\u02d2-\u02df\u0375\u037e'
		'\u0387\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05f3\u05f4\u0609-\u060d\u061b-\u061f\u066a-\u066d\u06d4\u0964\u0965'
		'\u1680\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u303d\u30fb'
		'\ue000-\uf8ff\ufe00-\ufe6f\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufff0-\uffff\U0001f000-\U0001faff'
		'\U000e0000-\U0010ffff]+') AS w WHERE w <> ''
$$;
CREATE FUNCTION chat_word(of_chat text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT '_' || encode(convert_to(of_chat, 'UTF8'), 'hex')
$$;
CREATE FUNCTION search_vector(of_chat text, given text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT array_to_tsvector(ARRAY(SELECT search_words(given)) || chat_word(of_chat))
$$;
-- text_of returns the text of a message, '' if its JSON cannot be read.
CREATE FUNCTION text_of(incoming text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN coalesce(incoming::json->>'text', '');
EXCEPTION WHEN data_exception THEN
	RETURN '';
END $$;
INSERT INTO search (inbound, n, words) SELECT id, 0, search_vector(chat, text_of(incoming)) FROM inbox WHERE attempt > 0
	UNION ALL SELECT t.inbound, t.n, search_vector(i.chat, t.text) FROM transcript t JOIN inbox i ON i.id = t.inbound;

CREATE FUNCTION search_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		DELETE FROM search WHERE inbound = NEW.id AND n = 0;
	END IF;
	IF NEW.attempt > 0 THEN
		INSERT INTO search (inbound, n, words) VALUES (NEW.id, 0, search_vector(NEW.chat, text_of(NEW.incoming)));
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER search_message AFTER INSERT ON inbox FOR EACH ROW WHEN (NEW.attempt > 0) EXECUTE FUNCTION search_message();
CREATE TRIGGER search_change AFTER UPDATE OF attempt, incoming ON inbox FOR EACH ROW
	WHEN ((OLD.attempt > 0) <> (NEW.attempt > 0) OR NEW.attempt > 0 AND OLD.incoming <> NEW.incoming)
	EXECUTE FUNCTION search_message();
CREATE FUNCTION search_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM search WHERE inbound IN (SELECT id FROM gone);
	RETURN NULL;
END $$;
CREATE TRIGGER search_delete AFTER DELETE ON inbox REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION search_delete();
CREATE FUNCTION search_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		DELETE FROM search WHERE inbound = OLD.inbound AND n = OLD.n;
	ELSE
		INSERT INTO search (inbound, n, words) SELECT NEW.inbound, NEW.n, search_vector(chat, NEW.text) FROM inbox
			WHERE id = NEW.inbound;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER search_entry AFTER INSERT OR DELETE ON transcript FOR EACH ROW EXECUTE FUNCTION search_entry();
