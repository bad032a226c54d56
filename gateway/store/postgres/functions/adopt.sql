-- is_left reports whether something is to be adopted: its owner is gone, or is the caller, which does not know of it.
CREATE FUNCTION is_left(c operation, unknown jsonb, id bigint, owner text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT CASE owner WHEN c.member THEN unknown @> to_jsonb(id) ELSE is_gone(owner) END
$$;

-- adopt takes over the work of members that are gone, of up to 100 chats: a transaction must not have too many locks.
-- more says that there may be more. inbounds and deliveries are those of the caller that it does not know of.
CREATE FUNCTION adopt(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	most CONSTANT integer := 100;
	chats text[];
BEGIN
	IF NOT c.repeated THEN
		UPDATE forward SET member = c.member WHERE is_gone(member);
		UPDATE member SET swept = true
			WHERE id IN (SELECT id FROM member WHERE lease < 0 AND NOT swept FOR UPDATE SKIP LOCKED); -- it waits for no beat
		chats := ARRAY(SELECT chat FROM (
			SELECT chat FROM inbox i WHERE owner <> '' AND is_left(c, a->'inbounds', i.id, owner)
			UNION SELECT chat FROM outbox o
				WHERE state = 'sending' AND state <> 'sent' AND is_left(c, a->'deliveries', o.id, owner)
			UNION SELECT chat FROM transient WHERE is_gone(owner)
			UNION SELECT i.chat FROM details d JOIN inbox i ON i.id = d.inbound WHERE d.fold > 0 AND is_gone(d.owner)
			) AS all_chats ORDER BY chat LIMIT most);
		PERFORM lock_chats(chats);
		UPDATE inbox SET owner = c.member, op = c.op
			WHERE chat = ANY (chats) AND owner <> '' AND is_left(c, a->'inbounds', id, owner);
		UPDATE outbox SET owner = c.member, op = c.op
			WHERE chat = ANY (chats) AND state = 'sending' AND state <> 'sent' AND is_left(c, a->'deliveries', id, owner);
		UPDATE transient SET owner = c.member, op = c.op WHERE chat = ANY (chats) AND is_gone(owner);
		UPDATE details d SET owner = c.member, op = c.op FROM inbox i
			WHERE i.id = d.inbound AND i.chat = ANY (chats) AND d.fold > 0 AND is_gone(d.owner);
	END IF;
	RETURN json_build_object('more', coalesce(cardinality(chats) = most, true),
		'inbounds', (SELECT json_agg(inbound_json(i) ORDER BY id) FROM inbox i WHERE owner = c.member AND op = c.op),
		'deliveries', (SELECT json_agg(delivery_json(o) ORDER BY id) FROM outbox o
			WHERE state = 'sending' AND state <> 'sent' AND owner = c.member AND op = c.op),
		'transients', (SELECT json_agg(transient_json(b) ORDER BY inbound, chat, id) FROM transient b
			WHERE owner = c.member AND op = c.op),
		'folds', (SELECT json_agg(json_build_object('Summary', d.summary, 'Details', d.text, 'Required', d.required,
				'Replaced', d.fold = 2, 'In', i.incoming::json, 'Inbound', d.inbound, 'Key', i.chat, 'ID', coalesce((SELECT b.id
					FROM transient b WHERE b.inbound = d.inbound AND b.chat = i.chat AND b.board > 0 ORDER BY b.board DESC LIMIT 1), ''))
				ORDER BY d.inbound)
			FROM details d JOIN inbox i ON i.id = d.inbound WHERE d.fold > 0 AND d.owner = c.member AND d.op = c.op));
END $$;
