-- time_of returns a time as JSON has it; 0 is the zero time of Go.
CREATE FUNCTION time_of(us bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE us WHEN 0 THEN '0001-01-01T00:00:00Z'
		ELSE to_char(timestamp 'epoch' + us * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END
$$;

-- delivery_json returns a delivery with the names of store.Delivery. Messages to outsiders answer no inbound message.
CREATE FUNCTION delivery_json(o outbox) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('ID', o.id, 'Inbound', greatest(o.inbound, 0), 'Out', o.outgoing::json, 'State', o.state,
		'Tries', o.tries, 'NotBefore', time_of(o.not_before), 'Err', o.reason, 'Doubtful', o.doubtful,
		'Receipt', o.receipt, 'Queued', time_of(o.queued))
$$;

-- insert_outbound stores an outbound message that answers an inbound message, or none (0), unless an earlier attempt
-- did. o has chat, about, sequence, digest, unstreamed, parts (outgoing, folders, replace) and entry. The first stored
-- part is marked as sending if claim is set and the chat has no pending or sending deliveries. It returns the IDs of
-- the new deliveries, the index of the first stored part, whether that is sending, and the copies that no delivery needs.
CREATE FUNCTION insert_outbound(c operation, o jsonb, answered bigint, claim boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	total integer := jsonb_array_length(o->'parts');
	stored integer[] := '{}';
	ids bigint[] := '{}';
	first integer := 0;
	sending boolean := false;
	unused text[] := '{}';
	fenced boolean;
	revoked boolean;
	now_sending boolean;
	p jsonb;
	new bigint;
BEGIN
	SELECT coalesce(bool_or(id = answered AND state = 'running' AND ended = 0 AND owner <> c.member), false),
		coalesce(bool_or(status = 'revoked'), false) INTO fenced, revoked
		FROM inbox WHERE id IN (answered, (o->>'about')::bigint) AND id > 0;
	IF fenced AND total > 0 THEN
		PERFORM fail_fenced();
	END IF;
	IF answered > 0 AND (o->>'sequence')::integer > 0 THEN
		stored := ARRAY(SELECT part FROM outbox WHERE inbound = answered AND sequence = (o->>'sequence')::integer
			AND sequence > 0 AND digest = o->>'digest' AND state <> 'failed');
	END IF;
	IF NOT revoked AND NOT ((o->>'unstreamed')::boolean AND cardinality(stored) > 0) THEN
		FOR n IN 0 .. total - 1 LOOP
			CONTINUE WHEN n = ANY (stored);
			p := o->'parts'->n;
			IF ids = '{}' THEN
				first := n;
				sending := claim AND NOT EXISTS (SELECT 1 FROM outbox
					WHERE state IN ('pending', 'sending') AND state <> 'sent' AND chat = o->>'chat');
			END IF;
			now_sending := sending AND ids = '{}';
			INSERT INTO outbox (inbound, about, sequence, part, digest, chat, state, owner, op, tries, queued, outgoing)
				VALUES (answered, (o->>'about')::bigint, (o->>'sequence')::integer, n, o->>'digest', o->>'chat',
				CASE WHEN now_sending THEN 'sending' ELSE 'pending' END, CASE WHEN now_sending THEN c.member ELSE '' END,
				c.op, now_sending::integer, c.now, p->>'outgoing') RETURNING id INTO new;
			ids := ids || new;
			IF p->'folders' <> '[]' THEN
				INSERT INTO spooled (folder, delivery) SELECT folder, new
					FROM jsonb_array_elements_text(p->'folders') AS f (folder) ON CONFLICT DO NOTHING;
			END IF;
			IF p->>'replace' <> '' THEN
				PERFORM drop_transient(o->>'chat', p->>'replace');
			END IF;
		END LOOP;
	END IF;
	IF jsonb_typeof(o->'entry') = 'object' AND (total = 0 OR ids <> '{}') THEN
		PERFORM add_entry(c, answered, o->'entry', ids[1]);
	END IF;
	IF cardinality(ids) < total THEN
		unused := unneeded_copies(ARRAY(SELECT jsonb_array_elements_text(value->'folders')
			FROM jsonb_array_elements(o->'parts') AS all_parts (value)));
	END IF;
	RETURN json_build_object('ids', ids, 'first', first, 'sending', sending, 'unused', unused);
END $$;

-- unneeded_copies returns the folders of copies that no delivery needs.
CREATE FUNCTION unneeded_copies(folders text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
	IF cardinality(folders) = 0 THEN
		RETURN folders;
	END IF;
	RETURN ARRAY(SELECT f FROM unnest(folders) AS all_folders (f) WHERE NOT EXISTS (SELECT 1 FROM spooled WHERE folder = f));
END $$;

CREATE FUNCTION enqueue(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN insert_outbound(c, a->'outbound', (a->>'inbound')::bigint, (a->>'claim')::boolean)::jsonb
		|| jsonb_build_object('queued', time_of(c.now));
END $$;

-- next_delivery marks the oldest pending delivery of a chat as sending. A repeated call finds it by its op.
CREATE FUNCTION next_delivery(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	next outbox;
BEGIN
	SELECT * INTO next FROM outbox WHERE state = 'sending' AND state <> 'sent' AND chat = a->>'chat' ORDER BY id LIMIT 1;
	IF FOUND AND next.op <> c.op THEN
		RETURN NULL;
	ELSIF NOT FOUND THEN
		SELECT * INTO next FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat = a->>'chat'
			AND id > (a->>'after')::bigint ORDER BY id LIMIT 1;
		IF NOT FOUND THEN
			RETURN NULL;
		ELSIF next.not_before <= c.now THEN
			UPDATE outbox SET state = 'sending', owner = c.member, tries = tries + 1, op = c.op WHERE id = next.id
				RETURNING * INTO next;
		END IF;
	END IF;
	RETURN json_build_object('delivery', delivery_json(next), 'wait', greatest(next.not_before - c.now, 0),
		'age', c.now - next.queued);
END $$;

CREATE FUNCTION settle(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	o outbox;
	more boolean;
BEGIN
	SELECT * INTO o FROM outbox WHERE id = (a->>'id')::bigint AND state IN ('sending', 'pending');
	IF NOT FOUND THEN
		PERFORM fail_state('it is settled already, or there is no such delivery');
	ELSIF o.owner NOT IN ('', c.member) THEN
		PERFORM fail_fenced();
	END IF;
	more := EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat = o.chat AND id <> o.id);
	IF a->>'state' = 'pending' AND NOT o.dropped THEN
		UPDATE outbox SET state = 'pending', owner = '', op = c.op, receipt = a->>'receipt', reason = a->>'reason',
			doubtful = (a->>'doubtful')::boolean, settled = 0,
			not_before = CASE WHEN (a->>'after')::bigint > 0 THEN c.now + (a->>'after')::bigint ELSE 0 END WHERE id = o.id;
		RETURN json_build_object('more', true);
	ELSIF a->>'state' = 'pending' THEN
		a := a || jsonb_build_object('state', 'failed', 'reason', 'the sender no longer has access; then: ' || (a->>'reason'));
	END IF;
	RETURN json_build_object('more', more, 'unused', settle_delivery(c, o, a));
END $$;

-- settle_delivery ends a delivery with the state, receipt, reason, doubtful and resendable of a, and returns the copies
-- that no delivery needs any more. A delivery to an outsider is deleted.
CREATE FUNCTION settle_delivery(c operation, o outbox, a jsonb) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	folders text[];
BEGIN
	IF o.inbound < 0 THEN
		DELETE FROM outbox WHERE id = o.id;
	ELSE
		UPDATE outbox SET state = a->>'state', owner = '', op = c.op, receipt = coalesce(a->>'receipt', ''),
			reason = a->>'reason', doubtful = coalesce((a->>'doubtful')::boolean, false), not_before = 0, settled = c.now
			WHERE id = o.id;
	END IF;
	IF (a->>'resendable')::boolean THEN
		RETURN '{}';
	END IF;
	IF NOT EXISTS (SELECT 1 FROM spooled WHERE delivery = o.id) THEN
		RETURN '{}';
	END IF;
	WITH gone AS (DELETE FROM spooled WHERE delivery = o.id RETURNING folder) SELECT array_agg(folder) INTO folders FROM gone;
	RETURN unneeded_copies(coalesce(folders, '{}'));
END $$;

-- is_resendable reports whether a delivery has failed, and its person did not lose access.
CREATE FUNCTION is_resendable(o outbox, of_chat text) RETURNS boolean LANGUAGE sql AS $$
	SELECT o.chat = of_chat AND o.state = 'failed' AND NOT o.dropped
$$;

CREATE FUNCTION resend_delivery(c operation, of_chat text, delivery bigint) RETURNS void LANGUAGE sql AS $$
	UPDATE outbox o SET state = 'pending', tries = 0, not_before = 0, settled = 0, op = c.op
		WHERE id = delivery AND is_resendable(o, of_chat)
$$;
