-- keeper returns the live member that runs the chat, or keeps an agent or commands for it; NULL: none.
CREATE FUNCTION keeper(of_chat text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	known text;
BEGIN
	SELECT m.id INTO known FROM inbox i JOIN member m ON m.id = i.owner AND m.lease > 0
		WHERE i.state = 'running' AND i.chat = of_chat AND i.ended = 0;
	IF NOT FOUND THEN
		SELECT m.id INTO known FROM kept k JOIN member m ON m.id = k.member AND m.lease > 0 WHERE k.chat = of_chat;
	END IF;
	RETURN known;
END $$;

-- is_kept reports whether another member is to receive the messages of a chat next: it keeps the chat, or the first of those
-- that were forwarded is for it. They may be for several members, which then wait for each other.
CREATE FUNCTION is_kept(me text, of_chat text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT coalesce(keeper(of_chat) <> me, false)
		OR coalesce((SELECT member FROM forward WHERE chat = of_chat ORDER BY id LIMIT 1) <> me, false)
$$;

-- check_kept refuses a person's message that is to be forwarded.
CREATE FUNCTION check_kept(c operation, of_chat text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF is_kept(c.member, of_chat) THEN
		RAISE EXCEPTION USING ERRCODE = 'NB003', MESSAGE = 'kept';
	END IF;
END $$;

CREATE FUNCTION forward_message(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO forward (member, chat, incoming) VALUES (
		coalesce((SELECT f.member FROM forward f WHERE f.chat = a->>'chat' ORDER BY f.id DESC LIMIT 1), keeper(a->>'chat'), c.member),
		a->>'chat', a->>'incoming');
	RETURN NULL;
END $$;

CREATE FUNCTION drop_forwarded(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM forward WHERE id = (a->>'id')::bigint; -- it may have become another member's meanwhile
	RETURN NULL;
END $$;

-- keep_chat records whether the member that has ended a turn keeps the chat.
CREATE FUNCTION keep_chat(c operation, of_chat text, keeps boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF keeps THEN
		INSERT INTO kept (chat, member) VALUES (of_chat, c.member) ON CONFLICT (chat) DO UPDATE SET member = excluded.member;
	ELSE
		DELETE FROM kept WHERE chat = of_chat;
	END IF;
END $$;

CREATE FUNCTION release_chats(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM kept WHERE member = c.member AND chat IN (SELECT jsonb_array_elements_text(a->'chats'));
	RETURN NULL;
END $$;
