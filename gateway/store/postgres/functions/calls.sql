CREATE FUNCTION database_time() RETURNS bigint LANGUAGE sql AS $$
	SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- lock_chats locks chats until the end of the transaction, in the order of their keys.
CREATE FUNCTION lock_chats(chats text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c text;
BEGIN
	IF cardinality(chats) > 1 THEN
		chats := ARRAY(SELECT DISTINCT k COLLATE "C" AS key FROM unnest(chats) AS u (k) ORDER BY key);
	END IF;
	FOREACH c IN ARRAY coalesce(chats, '{}') LOOP
		IF c <> '' THEN
			PERFORM pg_advisory_xact_lock(hashtextextended(c, 'inbox'::regclass::oid::bigint));
		END IF;
	END LOOP;
END $$;

-- try_lock_chat locks a chat until the end of the transaction, unless it is locked already.
CREATE FUNCTION try_lock_chat(chat text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN pg_try_advisory_xact_lock(hashtextextended(chat, 'inbox'::regclass::oid::bigint));
END $$;

-- chats_of returns the chats that a change concerns, by what it names: a row of a table, or the work of a person. Other
-- things have names without a colon: what is known of outsiders is 'pairing'.
CREATE FUNCTION chats_of(kind text, id text) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
	CASE kind -- a statement: an expression would open the tables of all cases
	WHEN 'chat' THEN RETURN ARRAY[id];
	WHEN 'inbound' THEN RETURN ARRAY(SELECT chat FROM inbox i WHERE i.id = chats_of.id::bigint);
	WHEN 'delivery' THEN RETURN ARRAY(SELECT chat FROM outbox o WHERE o.id = chats_of.id::bigint);
	WHEN 'question' THEN RETURN ARRAY(SELECT chat FROM question q WHERE q.id = chats_of.id);
	WHEN 'outbound' THEN RETURN ARRAY[id::jsonb->>0] || ARRAY(SELECT chat::text FROM inbox i
		WHERE i.id IN ((chats_of.id::jsonb->>1)::bigint, (chats_of.id::jsonb->>2)::bigint) AND chat <> chats_of.id::jsonb->>0);
	WHEN 'person' THEN RETURN ARRAY['pairing'] || chats_of_person(id::jsonb->>0, id::jsonb->>1);
	WHEN 'schedule' THEN RETURN ARRAY(SELECT chat FROM schedule s WHERE s.name = chats_of.id);
	WHEN 'names' THEN RETURN ARRAY(SELECT jsonb_array_elements_text(id::jsonb));
	ELSE RETURN '{}';
	END CASE;
END $$;

-- change makes a change in one transaction, once: a repeated call gets the answer of the first one. fn is the function
-- that makes it, and kind and id say which chats it concerns. keep says that its answer is stored; without it, fn finds
-- the answer in the rows. at is the time, if it is not the database's.
CREATE FUNCTION change(caller text, caller_slot integer, number bigint, at bigint, keep boolean, kind text, id text,
	fn text, args jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	last record;
	c operation;
	chats text[] := chats_of(kind, id);
	answer text;
BEGIN
	PERFORM lock_chats(chats); -- before the slot, so that a repeated call waits for the first one
	-- The row lock also makes the transaction of a repeated call one that writes: it waits for a synchronous standby,
	-- which the first call may not have done before its connection was cut.
	SELECT op, result INTO last FROM call WHERE member = caller AND slot = caller_slot FOR UPDATE;
	IF NOT FOUND OR last.op > number THEN
		PERFORM fail_fenced();
	END IF;
	c := ROW(caller, number, coalesce(at, database_time()), last.op = number, chats);
	IF c.repeated AND keep THEN
		RETURN last.result;
	END IF;
	CASE fn -- frequent changes are not parsed each time
	WHEN 'receive' THEN answer := receive(c, args);
	WHEN 'enqueue' THEN answer := enqueue(c, args);
	WHEN 'settle' THEN answer := settle(c, args);
	WHEN 'finish' THEN answer := finish(c, args);
	WHEN 'claim' THEN answer := claim(c, args);
	WHEN 'next_delivery' THEN answer := next_delivery(c, args);
	WHEN 'store_part' THEN answer := store_part(c, args);
	ELSE EXECUTE format('SELECT %I($1, $2)', fn) INTO answer USING c, args;
	END CASE;
	IF NOT c.repeated THEN
		UPDATE call SET op = number, result = CASE WHEN keep THEN answer END WHERE member = caller AND slot = caller_slot;
	END IF;
	RETURN answer;
END $$;

CREATE FUNCTION fail_state(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = 'NB001', MESSAGE = what;
END $$;

CREATE FUNCTION fail_fenced() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = 'NB002', MESSAGE = 'fenced';
END $$;
