-- add_entry adds an entry (text, media, at) to the transcript of an inbound message. delivery is the first one of its
-- message, NULL: unknown.
CREATE FUNCTION add_entry(c operation, of_inbound bigint, e jsonb, delivery bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO transcript (inbound, n, text, media, at, delivery)
		SELECT of_inbound, coalesce(max(n), 0) + 1, e->>'text', e->>'media', coalesce(nullif((e->>'at')::bigint, 0), c.now),
			coalesce(add_entry.delivery, 0)
		FROM transcript WHERE inbound = of_inbound;
END $$;

-- turns_of returns the turns of a chat's conversation, newest first: the person's message (incoming, if it had a turn)
-- and the agent's entries.
CREATE FUNCTION turns_of(of_chat text, before bigint, without bigint, most integer) RETURNS SETOF json LANGUAGE sql AS $$
	SELECT json_build_object('id', i.id, 'received', time_of(i.received),
		'incoming', CASE WHEN i.attempt > 0 THEN i.incoming::json END,
		'entries', (SELECT coalesce(json_agg(json_build_object('text', t.text, 'media', t.media::json,
			'time', time_of(t.at)) ORDER BY t.n), '[]') FROM transcript t WHERE t.inbound = i.id))
	FROM inbox i WHERE i.chat = of_chat AND i.id < before AND i.id <> without
		AND (i.attempt > 0 OR i.origin <> 'person' AND EXISTS (SELECT 1 FROM transcript t WHERE t.inbound = i.id))
		AND i.id > coalesce((SELECT a.inbound FROM afresh a WHERE a.chat = of_chat), 0) ORDER BY i.id DESC LIMIT most
$$;

CREATE FUNCTION save_memory(of_chat text, of_key text, new text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF new = '' THEN
		DELETE FROM memory WHERE chat = of_chat AND key = of_key;
	ELSE
		INSERT INTO memory (chat, key, value) VALUES (of_chat, of_key, new)
			ON CONFLICT (chat, key) DO UPDATE SET value = excluded.value;
	END IF;
END $$;

-- count_memory adds 1 to the memory that has a number.
CREATE FUNCTION count_memory(of_chat text, of_key text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO memory AS m (chat, key, value) VALUES (of_chat, of_key, '1')
		ON CONFLICT (chat, key) DO UPDATE SET value = (m.value::bigint + 1)::text
$$;

CREATE FUNCTION remember(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM save_memory(a->>'chat', a->>'key', a->>'value');
	RETURN NULL;
END $$;

-- start_conversation hides the conversation so far, deletes the chat's memories and names the new conversation.
CREATE FUNCTION start_conversation(c operation, of_chat text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM memory WHERE chat = of_chat AND NOT starts_with(key, 'lasting:');
	SELECT count_memory(of_chat, 'lasting:conversation');
	INSERT INTO afresh (chat, inbound) SELECT of_chat, coalesce(max(id), 0) FROM inbox WHERE chat = of_chat
		ON CONFLICT (chat) DO UPDATE SET inbound = excluded.inbound;
$$;
