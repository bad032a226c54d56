-- complete_parts deletes the parts of a complete message and stores their IDs as known, with the inbound message that
-- they belong to (0: none).
CREATE FUNCTION complete_parts(c operation, of_chat text, part jsonb, this bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF part ? 'last' THEN
		INSERT INTO seen (chat, message, inbound, at) SELECT p.chat, p.message, this, c.now FROM part p
			WHERE p.chat = of_chat AND p.whole = part->>'group' AND p.message <> '' ON CONFLICT DO NOTHING;
		DELETE FROM part p WHERE p.chat = of_chat AND p.whole = part->>'group';
	END IF;
END $$;

-- refuse_parts deletes the parts of an outsider's complete message and stores their IDs as refused.
CREATE FUNCTION refuse_parts(c operation, of_chat text, part jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF part ? 'last' THEN
		INSERT INTO refused (chat, message, at) SELECT p.chat, p.message, c.now FROM part p
			WHERE p.chat = of_chat AND p.whole = part->>'group' AND p.message <> '' ON CONFLICT DO NOTHING;
		DELETE FROM part p WHERE p.chat = of_chat AND p.whole = part->>'group';
	END IF;
END $$;

CREATE FUNCTION is_known(of_chat text, id text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT 1 FROM seen WHERE chat = of_chat AND message = id)
		OR EXISTS (SELECT 1 FROM refused WHERE chat = of_chat AND message = id)
$$;

CREATE FUNCTION store_part(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF a->>'message' <> '' AND is_known(a->>'chat', a->>'message') THEN
		RETURN true;
	END IF;
	INSERT INTO part (chat, message, whole, at, incoming)
		VALUES (a->>'chat', a->>'message', a->>'group', c.now, a->>'incoming') ON CONFLICT DO NOTHING;
	RETURN false;
END $$;

CREATE FUNCTION drop_parts(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM complete_parts(c, a->>'chat', a->'part', 0);
	RETURN NULL;
END $$;
