-- add_transient records a transient message.
CREATE FUNCTION add_transient(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO transient (chat, id, inbound, board, incoming, owner, op) VALUES (a->>'chat', a->>'id', (a->>'inbound')::bigint,
		CASE WHEN (a->>'board')::boolean THEN c.now ELSE 0 END, (a->>'incoming')::boolean, c.member, c.op)
		ON CONFLICT (chat, id) DO UPDATE SET inbound = excluded.inbound, board = excluded.board, incoming = excluded.incoming,
			owner = excluded.owner, op = excluded.op;
	RETURN NULL;
END $$;

CREATE FUNCTION drop_transient(of_chat text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM transient WHERE chat = of_chat AND id = message;
END $$;

CREATE FUNCTION drop_recorded(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM drop_transient(a->>'chat', a->>'id');
	RETURN NULL;
END $$;

-- transient_json returns a transient message with the names of store.Transient, except for its chat.
CREATE FUNCTION transient_json(b transient) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('Key', b.chat, 'ID', b.id, 'Inbound', b.inbound, 'Board', b.board > 0, 'Incoming', b.incoming)
$$;

-- save_details replaces the details of an inbound message, unless it was pruned.
CREATE FUNCTION save_details(c operation, this bigint, f jsonb, new_fold integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO details (inbound, text, summary, required, fold, owner, op)
		SELECT id, f->>'Details', f->>'Summary', (f->>'Required')::boolean, new_fold,
			CASE WHEN new_fold > 0 THEN c.member ELSE '' END, c.op FROM inbox WHERE id = this
		ON CONFLICT (inbound) DO UPDATE SET text = excluded.text, summary = excluded.summary, required = excluded.required,
			fold = excluded.fold, owner = excluded.owner, op = excluded.op;
END $$;

CREATE FUNCTION replace_details(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM save_details(c, (a->>'id')::bigint, a->'fold', 0);
	RETURN NULL;
END $$;

CREATE FUNCTION replace_fold(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE details SET fold = 2, op = c.op WHERE inbound = (a->>'id')::bigint AND fold > 0;
	RETURN NULL;
END $$;

-- end_fold removes the record of a board and ends the pending fold of its turn.
CREATE FUNCTION end_fold(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM drop_transient(a->>'chat', a->>'id');
	UPDATE details SET fold = 0, owner = '', op = c.op WHERE inbound = (a->>'inbound')::bigint AND fold > 0;
	RETURN NULL;
END $$;
