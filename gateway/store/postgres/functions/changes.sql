-- change_message carries out an edit or a deletion that was decided on the message this with the version op. It returns
-- nothing if the message has changed meanwhile.
CREATE FUNCTION change_message(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	of_chat text := a->>'chat';
	this bigint := a->>'id';
BEGIN
	PERFORM check_kept(c, a->>'chat');
	IF this <> 0 AND NOT EXISTS (SELECT 1 FROM inbox i JOIN seen s ON s.inbound = i.id
		WHERE i.id = this AND i.op = (a->>'op')::bigint AND s.chat = of_chat AND s.message = a->>'message') THEN
		RETURN NULL;
	END IF;
	IF a ? 'withdraw' THEN
		PERFORM cancel_pending(c, of_chat, this);
	END IF;
	IF a ? 'replace' THEN
		UPDATE inbox SET incoming = a->>'incoming', agent = a->>'agent', op = c.op WHERE id = this;
	END IF;
	IF a ? 'rerun' THEN -- from then on, the IDs of the network's messages lead to the new content
		INSERT INTO inbox (chat, agent, person, state, op, received, ended, status, incoming)
			SELECT chat, a->>'agent', person, 'done', c.op, c.now, c.now, 'edited', a->>'incoming' FROM inbox WHERE id = this
			RETURNING id INTO this;
		UPDATE seen SET inbound = this
			WHERE chat = of_chat AND message IN (SELECT value FROM jsonb_array_elements_text(a->'rerun'));
	END IF;
	IF a ? 'answer' THEN
		PERFORM insert_outbound(c, value, this, false) FROM jsonb_array_elements(a->'answer');
	END IF;
	PERFORM complete_parts(c, of_chat, a->'part', this);
	RETURN json_build_object('id', this, 'now', c.now);
END $$;
