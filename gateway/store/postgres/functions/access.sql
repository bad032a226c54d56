-- pairing_json returns a pairing with the names of store.Pairing.
CREATE FUNCTION pairing_json(p pairing) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('Channel', p.channel, 'User', json_build_object('id', p.person, 'name', p.name,
		'username', p.username), 'Code', p.code, 'Since', time_of(p.since), 'Message', nullif(p.message, '')::json,
		'Greeted', p.welcome = 2)
$$;

-- request_pairing handles a message of a person without access. It returns the number of a store.PairingResult.
CREATE FUNCTION request_pairing(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	lately bigint := c.now - 3600000000;
	known text;
	duplicate boolean := false;
	n integer;
BEGIN
	DELETE FROM pairing WHERE channel = a->>'channel' AND code <> '' AND since <= c.now - (a->>'life')::bigint;
	SELECT code INTO known FROM pairing WHERE channel = a->>'channel' AND person = a->>'person';
	IF known = '' THEN
		RETURN 4;
	END IF;
	IF a->>'message' <> '' THEN
		duplicate := is_known(a->>'chat', a->>'message');
		INSERT INTO refused (chat, message, at) SELECT a->>'chat', a->>'message', c.now WHERE NOT duplicate;
	END IF;
	PERFORM refuse_parts(c, a->>'chat', a->'part');
	-- Networks offer a message again for a day; flooding must not fill the disk.
	DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - 1000;
	IF duplicate THEN
		RETURN 0;
	ELSIF known IS NOT NULL THEN
		UPDATE pairing SET message = a->>'incoming' WHERE channel = a->>'channel' AND person = a->>'person'
			AND a->>'incoming' <> '';
		RETURN 1;
	END IF;
	-- A time in the future was stored while the clock was wrong.
	SELECT count(*) INTO n FROM code_made WHERE channel = a->>'channel' AND at > lately AND at <= c.now;
	IF n >= (a->>'perHour')::integer THEN
		SELECT count(*) INTO n FROM told_later WHERE channel = a->>'channel';
		IF n >= 10000 OR EXISTS (SELECT 1 FROM told_later
			WHERE channel = a->>'channel' AND person = a->>'person' AND at > lately AND at <= c.now) THEN
			RETURN 1;
		END IF;
		INSERT INTO told_later (channel, person, at) VALUES (a->>'channel', a->>'person', c.now)
			ON CONFLICT (channel, person) DO UPDATE SET at = excluded.at;
		PERFORM insert_outbound(c, value, -1, false) FROM jsonb_array_elements(a->'later');
		RETURN 3;
	END IF;
	-- A code too many ends the oldest ones.
	SELECT count(*) - (a->>'open')::integer + 1 INTO n FROM pairing WHERE channel = a->>'channel' AND code <> '';
	DELETE FROM pairing WHERE channel = a->>'channel' AND person IN (SELECT person FROM pairing
		WHERE channel = a->>'channel' AND code <> '' ORDER BY since, person LIMIT greatest(n, 0));
	INSERT INTO code_made (channel, at) VALUES (a->>'channel', c.now);
	INSERT INTO pairing (channel, person, name, username, code, since, message)
		VALUES (a->>'channel', a->>'person', a->>'name', a->>'username', a->>'code', c.now, a->>'incoming');
	PERFORM insert_outbound(c, value, -1, false) FROM jsonb_array_elements(a->'coded');
	RETURN 2;
END $$;

-- admit admits the person with a code, or a person of a channel. A person who has written is greeted later, and the
-- stored message must then be received, so it is no longer refused.
CREATE FUNCTION admit(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	oldest bigint := c.now - (a->>'ttl')::bigint;
	p record;
	admitted pairing;
BEGIN
	DELETE FROM pairing WHERE channel = a->>'channel' AND code <> '' AND since <= oldest;
	SELECT * INTO p FROM pairing WHERE code = a->>'code' AND code <> '' AND since > oldest
		OR channel = a->>'channel' AND person = a->>'person';
	IF p.code = '' THEN
		SELECT * INTO admitted FROM pairing WHERE channel = p.channel AND person = p.person;
		RETURN json_build_object('pairing', pairing_json(admitted));
	ELSIF p.code IS NULL AND a ? 'code' THEN
		RETURN NULL;
	END IF;
	INSERT INTO pairing (channel, person, name, username, since) VALUES (coalesce(p.channel, a->>'channel'),
		coalesce(p.person, a->>'person'), '', '', c.now) ON CONFLICT (channel, person) DO UPDATE SET code = '', since = c.now,
		welcome = (pairing.message <> '')::integer RETURNING * INTO admitted;
	DELETE FROM refused r USING (SELECT nullif(admitted.message, '')::json AS m) stored
		WHERE r.chat = (m->'chat'->>'channel') || ':' || (m->'chat'->>'id') AND r.message = m->>'id';
	RETURN json_build_object('pairing', pairing_json(admitted), 'admitted', true);
END $$;

CREATE FUNCTION greet(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pairing SET welcome = 2 WHERE channel = a->>'channel' AND person = a->>'person' AND code = '' AND welcome = 1;
	IF NOT FOUND THEN
		RETURN 'false';
	END IF;
	PERFORM insert_outbound(c, value, 0, false) FROM jsonb_array_elements(a->'parts');
	RETURN 'true';
END $$;

CREATE FUNCTION forget_message(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pairing SET welcome = 0, message = '' WHERE channel = a->>'channel' AND person = a->>'person' AND welcome = 2;
	RETURN NULL;
END $$;

-- prune_codes deletes expired data of outsiders.
CREATE FUNCTION prune_codes(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM pairing WHERE code <> '' AND since <= c.now - (a->>'life')::bigint;
	DELETE FROM code_made WHERE at <= c.now - 3600000000 OR at > c.now;
	DELETE FROM told_later WHERE at <= c.now - 3600000000 OR at > c.now;
	DELETE FROM refused WHERE at <= c.now - 86400000000;
	RETURN NULL;
END $$;

-- chats_of_person returns the chats with unfinished work of a person, and those in which only they have written.
CREATE FUNCTION chats_of_person(of_channel text, of_person text) RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY(SELECT i.chat FROM inbox i WHERE i.ended = 0 AND is_of(i, of_channel, of_person)
		UNION SELECT o.chat FROM outbox o JOIN inbox i ON i.id = greatest(o.inbound, o.about)
			WHERE o.state IN ('pending', 'sending') AND o.state <> 'sent' AND is_of(i, of_channel, of_person)
		UNION SELECT t.chat FROM token t WHERE t.chat >= of_channel || ':' AND t.chat < of_channel || ';'
			AND only_of(t.chat, of_person))
$$;

-- only_of reports whether a person has written in a chat, and nobody else. Chats of others are found out by one message.
CREATE FUNCTION only_of(of_chat text, of_person text) RETURNS boolean LANGUAGE sql AS $$
	SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE chat = of_chat AND person NOT IN (of_person, '')) THEN false
		ELSE EXISTS (SELECT 1 FROM inbox WHERE chat = of_chat AND person = of_person) END
$$;

CREATE FUNCTION is_of(i inbox, of_channel text, of_person text) RETURNS boolean LANGUAGE sql AS $$
	SELECT i.chat >= of_channel || ':' AND i.chat < of_channel || ';' AND i.person = of_person
$$;

-- dismiss ends the work of a person in the locked chats, and revokes the pairing if the operator has done so. The tokens
-- of chats in which only this person has written become useless.
CREATE FUNCTION dismiss(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	of_channel text := a->>'channel';
	of_person text := a->>'person';
	revoked integer := 0;
	unused text[] := '{}';
	i record;
	o outbox;
BEGIN
	IF (a->>'revoke')::boolean THEN
		DELETE FROM pairing WHERE channel = of_channel AND person = of_person;
		GET DIAGNOSTICS revoked = ROW_COUNT;
	END IF;
	IF (a->>'dismiss')::boolean THEN
		PERFORM count_memory('', 'revocations');
		DELETE FROM token t WHERE chat = ANY (c.chats) AND only_of(t.chat, of_person);
		FOR i IN SELECT id, chat, state FROM inbox t
			WHERE chat = ANY (c.chats) AND ended = 0 AND is_of(t, of_channel, of_person) ORDER BY id LOOP
			IF i.state = 'running' THEN
				UPDATE inbox SET status = 'revoked' WHERE id = i.id; -- op stays: the row is still the answer of the claim
				PERFORM close_questions(c, i.id);
			ELSE
				UPDATE inbox SET state = 'dead', ended = c.now, status = 'revoked', op = c.op WHERE id = i.id;
				PERFORM update_line(i.chat);
			END IF;
		END LOOP;
		PERFORM erase_answers();
		UPDATE outbox SET dropped = true FROM inbox t WHERE outbox.state = 'sending' AND outbox.state <> 'sent'
			AND outbox.chat = ANY (c.chats) AND t.id = greatest(outbox.inbound, about) AND is_of(t, of_channel, of_person);
		FOR o IN SELECT d.* FROM outbox d JOIN inbox t ON t.id = greatest(d.inbound, d.about) WHERE d.state = 'pending'
			AND d.state <> 'sent' AND d.chat = ANY (c.chats) AND is_of(t, of_channel, of_person) LOOP
			unused := unused || settle_delivery(c, o, '{"state": "failed", "reason": "the sender no longer has access"}');
		END LOOP;
	END IF;
	RETURN json_build_object('revoked', revoked > 0, 'unused', unused);
END $$;
