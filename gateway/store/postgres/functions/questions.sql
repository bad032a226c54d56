-- question_json returns a question with the names of store.Question. Times that remain are in nanoseconds.
CREATE FUNCTION question_json(q question, now bigint) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('ID', q.id, 'Inbound', q.inbound, 'Key', q.chat, 'Text', q.text, 'Options', q.options::json,
		'Timeout', CASE q.expires WHEN 0 THEN 0 ELSE greatest(q.expires - now, 0) * 1000 END,
		'Expired', q.expires > 0 AND q.expires <= now, 'Approval', q.approval, 'OtherText', q.other_text,
		'Commands', nullif(q.commands, '')::json, 'Secret', q.secret, 'Answer', q.answer, 'By', q.answered_by,
		'Closed', q.closed > 0,
		'Newest', NOT EXISTS (SELECT 1 FROM question newer WHERE newer.chat = q.chat AND newer.seq > q.seq),
		'Outbound', coalesce(o.state, ''), 'Receipt', coalesce(o.receipt, ''))
	FROM (SELECT 1) one LEFT JOIN outbox o ON o.id = q.delivery
$$;

CREATE FUNCTION ask(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	sent json;
BEGIN
	INSERT INTO question (id, inbound, chat, text, options, asked, expires, approval, other_text, commands, secret)
		VALUES (a->>'id', (a->>'inbound')::bigint, a->>'chat', a->>'text', a->>'options', c.now,
		CASE WHEN (a->>'timeout')::bigint > 0 THEN c.now + (a->>'timeout')::bigint ELSE 0 END,
		(a->>'approval')::boolean, a->>'otherText', a->>'commands', (a->>'secret')::boolean);
	sent := insert_outbound(c, a->'outbound', (a->>'answers')::bigint, false);
	UPDATE question SET delivery = (sent->'ids'->>-1)::bigint WHERE id = a->>'id' AND json_array_length(sent->'ids') > 0;
	RETURN sent->'unused';
END $$;

-- answer_question answers an open question with a store.Reply, and reports whether it was open.
CREATE FUNCTION answer_question(c operation, reply jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE question SET answer = reply->>'Text', answered_by = reply->>'By', closed = c.now
		WHERE id = reply->>'Question' AND closed = 0 AND (expires = 0 OR expires > c.now);
	RETURN FOUND;
END $$;

-- close_questions closes the open questions of an inbound message, except pickers.
CREATE FUNCTION close_questions(c operation, of_inbound bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE question SET closed = c.now WHERE inbound = of_inbound AND closed = 0 AND commands = '';
END $$;

-- erase_answers removes the answers to the secret questions of inbound messages that have ended. It is called wherever
-- one ends. The index has only the few answers that are not erased.
CREATE FUNCTION erase_answers() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM question WHERE secret AND answer IS NOT NULL) THEN
		UPDATE question q SET answer = NULL WHERE secret AND answer IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = q.inbound AND inbox.ended = 0);
	END IF;
END $$;

CREATE FUNCTION withdraw(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE question SET closed = c.now WHERE id = a->>'id' AND closed = 0;
	RETURN to_json(FOUND);
END $$;

CREATE FUNCTION erase_answer(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE question SET answer = NULL WHERE id = a->>'id' AND secret AND answer IS NOT NULL;
	RETURN NULL;
END $$;
