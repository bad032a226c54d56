-- prune deletes up to a hundred rows of a table that a condition finds, or changes them by the assignment set, and
-- returns how many. The condition is on a row t; $2 are its numbers and $3 is the time. The chats of the rows are locked
-- first: whoever changes a chat sees all of a message or nothing. With the IDs of messages (chats), the memories and the
-- tokens of the chats that have no messages any more are deleted.
CREATE FUNCTION prune(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	numbers bigint[] := ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(a->'numbers') AS listed (n));
	rows tid[];
	chats text[];
	messages bigint[];
	n integer;
BEGIN
	EXECUTE format('SELECT array_agg(ctid), array_agg(%s) FROM (SELECT ctid, * FROM %I t WHERE %s LIMIT 100) AS found',
		a->>'chat', a->>'table', a->>'condition') INTO rows, chats USING rows, numbers, c.now;
	PERFORM lock_chats(chats);
	IF a->>'table' = 'inbox' THEN
		EXECUTE format('SELECT array_agg(id) FROM inbox t WHERE ctid = ANY ($1) AND %s', a->>'condition')
			INTO messages USING rows, numbers, c.now;
		DELETE FROM transcript WHERE inbound = ANY (messages);
		DELETE FROM trace WHERE inbound = ANY (messages);
		DELETE FROM details WHERE inbound = ANY (messages);
	END IF;
	EXECUTE format(CASE WHEN a ? 'set' THEN 'UPDATE %I t SET ' || (a->>'set') ELSE 'DELETE FROM %I t' END
		|| ' WHERE ctid = ANY ($1) AND %s', a->>'table', a->>'condition') USING rows, numbers, c.now;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF (a->>'chats')::boolean THEN
		SELECT array_agg(chat) INTO chats FROM unnest(chats) AS listed (chat)
			WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.chat = listed.chat)
			AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.chat = listed.chat);
		DELETE FROM memory WHERE chat = ANY (chats);
		DELETE FROM token WHERE chat = ANY (chats);
	END IF;
	RETURN n;
END $$;
