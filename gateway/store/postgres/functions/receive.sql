-- The dispositions of a received message.
CREATE FUNCTION disposition(name text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
	SELECT array_position('{duplicate,queued,claimed,settled,busy,full,joined}', name) - 1
$$;

-- receive stores an inbound message once. Whether it is joined to the one before of its sender is decided outside of the
-- database: if there is one that a has not considered (before and op), only that one is returned, as candidate.
CREATE FUNCTION receive(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	of_chat text := a->>'chat';
	key text := coalesce(a->>'key', '');
	settled boolean := coalesce((a->>'settle')::boolean, false);
	unquoted boolean := false;
	replied boolean := false;
	released boolean := false;
	was record;
	candidate record;
	done text;
	new bigint;
	wait_until bigint := 0;
BEGIN
	SELECT count(*) FILTER (WHERE state = 'pending' AND (origin <> 'person' AND attempt = 0) <= (a->>'origin' <> 'person'))
			AS waiting, count(*) FILTER (WHERE state = 'pending') > 0 AS pending,
		coalesce(max(id) FILTER (WHERE state = 'running'), 0) AS running,
		coalesce(max(owner) FILTER (WHERE state = 'running'), '') AS runner,
		key <> '' AND EXISTS (SELECT 1 FROM refused f WHERE f.chat = of_chat AND f.message = key) AS duplicate,
		(SELECT s.inbound FROM seen s WHERE s.chat = of_chat AND s.message = key AND key <> '') AS duplicate_of
		INTO was FROM inbox WHERE chat = of_chat AND ended = 0;
	was.duplicate := was.duplicate OR was.duplicate_of IS NOT NULL;
	IF a ? 'occurrences' THEN
		was.duplicate := was.duplicate OR is_accounted(a->'occurrences');
	END IF;
	IF was.duplicate THEN
		PERFORM complete_parts(c, of_chat, a->'part', coalesce(was.duplicate_of, 0));
		RETURN json_build_object('disposition', disposition('duplicate'), 'id', was.duplicate_of);
	END IF;
	IF a->>'origin' = 'person' THEN
		PERFORM check_kept(c, of_chat);
	END IF;
	IF a ? 'quoted' THEN
		unquoted := EXISTS (SELECT 1 FROM seen s JOIN inbox i ON i.id = s.inbound
			WHERE s.chat = of_chat AND s.message = a->>'quoted' AND i.erased);
	END IF;
	IF a ? 'reply' AND NOT (a->'reply'->>'Turn')::boolean THEN
		replied := answer_question(c, a->'reply');
		settled := settled OR replied;
	END IF;
	IF NOT settled AND (a ? 'gather' OR a ? 'follows') AND was.waiting > 0 THEN
		SELECT * INTO candidate FROM (SELECT * FROM inbox WHERE chat = of_chat ORDER BY id DESC LIMIT 50) AS i
			WHERE person = a->>'person' AND origin = 'person' ORDER BY id DESC LIMIT 1;
		IF candidate.state = 'pending' AND candidate.attempt = 0 AND (a ? 'gather' AND candidate.not_before > c.now
			OR c.now - candidate.received <= (a->>'follows')::bigint) THEN
			IF (candidate.id, candidate.op) IS DISTINCT FROM ((a->>'before')::bigint, (a->>'op')::bigint) THEN
				RETURN json_build_object('candidate', candidate.id, 'now', c.now, 'unquoted', unquoted);
			ELSIF a ? 'joined' THEN
				UPDATE inbox SET incoming = a->>'joined', not_before = (a->>'notBefore')::bigint, op = c.op
					WHERE id = candidate.id;
				PERFORM store_with(c, a, candidate.id);
				PERFORM update_line(of_chat);
				RETURN json_build_object('disposition', disposition('joined'), 'id', candidate.id,
					'running', was.running, 'runner', was.runner, 'waiting', was.waiting);
			END IF;
		END IF;
	END IF;
	IF settled THEN
		done := 'settled';
	ELSIF a ? 'notWhileRunning' AND was.running <> 0 THEN
		done := 'busy';
	ELSIF was.waiting >= (a->>'queueLimit')::integer THEN
		done := 'full';
	ELSIF a ? 'claim' AND NOT a ? 'gather' AND NOT was.pending AND was.running = 0
		AND NOT is_draining(c.member) THEN
		done := 'claimed';
	ELSE
		done := 'queued';
	END IF;
	IF a ? 'originLimit' AND count_unfinished(a->>'origin', of_chat) >= (a->>'originLimit')::integer THEN
		done := 'full';
	END IF;
	IF done NOT IN ('busy', 'full') THEN
		IF was.waiting > 0 THEN
			released := release_gathering(c, of_chat, a->>'person');
		END IF;
		IF done = 'queued' AND a ? 'gather' THEN
			wait_until := c.now + least((a->>'gather')::bigint, 60000000);
		END IF;
		INSERT INTO inbox (chat, agent, origin, person, state, owner, op, attempt, received, started, ended, not_before, erased, status,
				incoming)
			SELECT of_chat, a->>'agent', a->>'origin', a->>'person', s.state, CASE done WHEN 'claimed' THEN c.member ELSE '' END,
			c.op, (done = 'claimed')::integer, c.now, CASE done WHEN 'claimed' THEN c.now ELSE 0 END,
			CASE done WHEN 'settled' THEN c.now ELSE 0 END, wait_until, a ? 'secret',
			CASE done WHEN 'settled' THEN coalesce(a->>'reason', '') ELSE '' END,
			CASE WHEN unquoted THEN a->>'unquoted' ELSE a->>'incoming' END
			FROM (SELECT CASE done WHEN 'settled' THEN 'done' WHEN 'claimed' THEN 'running' ELSE 'pending' END) AS s (state)
			RETURNING id INTO new;
		IF done = 'queued' AND was.running = 0 THEN
			PERFORM enter_line(of_chat);
		END IF;
		PERFORM store_with(c, a, new);
		IF (a->'reply'->>'Turn')::boolean THEN
			replied := answer_question(c, a->'reply');
		END IF;
	END IF;
	RETURN json_build_object('disposition', disposition(done), 'id', new, 'now', c.now, 'notBefore', wait_until,
		'running', CASE WHEN NOT settled THEN was.running END, 'runner', CASE WHEN NOT settled THEN was.runner END,
		'waiting', CASE WHEN NOT settled THEN was.waiting + (done = 'queued')::integer END, 'replied', replied,
		'released', released, 'unquoted', unquoted, 'about', CASE done WHEN 'claimed' THEN describe_chat(of_chat) END);
END $$;

-- store_with stores what belongs to a received message: that it is known, its parts, answers and requests.
CREATE FUNCTION store_with(c operation, a jsonb, this bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	of_chat text := a->>'chat';
BEGIN
	IF a ? 'key' THEN
		INSERT INTO seen (chat, message, inbound, at) VALUES (of_chat, a->>'key', this, c.now);
	END IF;
	IF a ? 'part' THEN
		PERFORM complete_parts(c, of_chat, a->'part', this);
	END IF;
	IF a ? 'secrets' THEN
		PERFORM add_secrets(c, of_chat, a->'secrets', this);
	END IF;
	IF a ? 'answer' THEN
		PERFORM insert_outbound(c, value, this, false) FROM jsonb_array_elements(a->'answer');
	END IF;
	IF a ? 'entry' THEN
		PERFORM add_entry(c, this, a->'entry', NULL);
	END IF;
	IF a ? 'occurrences' THEN
		PERFORM insert_occurrences(c, a->'occurrences', this);
		UPDATE schedule SET accounted = (a->'occurrences'->-1->>'due')::bigint
			WHERE name = a->'occurrences'->-1->>'schedule';
	END IF;
	IF a ? 'requests' THEN
		PERFORM apply_requests(c, of_chat, a->'requests');
	END IF;
END $$;

-- apply_requests carries out the requests of a message, and skips impossible ones.
CREATE FUNCTION apply_requests(c operation, of_chat text, r jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM restart_inbound(c, id) FROM inbox WHERE id = (r->>'restart')::bigint AND chat = of_chat;
	IF r ? 'resend' THEN
		PERFORM resend_delivery(c, of_chat, (r->>'resend')::bigint);
	END IF;
	IF r ? 'stop' THEN
		PERFORM mark_stopped(c, of_chat, (r->>'stop')::bigint);
	END IF;
	IF r ? 'drop' THEN
		PERFORM cancel_pending(c, of_chat, (r->>'drop')::bigint);
		PERFORM mark_stopped(c, of_chat, (r->>'drop')::bigint);
	END IF;
	IF r ? 'cancel' THEN
		PERFORM cancel_pending(c, of_chat, 0);
	END IF;
	IF r ? 'startConversation' THEN
		PERFORM start_conversation(c, of_chat);
	END IF;
	IF r ? 'key' THEN
		PERFORM save_memory(of_chat, r->>'key', coalesce(r->>'value', ''));
	END IF;
END $$;

-- count_unfinished counts the messages of an origin that wait for a turn or to be sent to a chat.
CREATE FUNCTION count_unfinished(of_origin text, of_chat text) RETURNS bigint LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM inbox WHERE origin = of_origin AND ended = 0 AND origin <> 'person') +
		(SELECT count(DISTINCT o.inbound) FROM outbox o JOIN inbox i ON i.id = o.inbound
			WHERE o.state = 'pending' AND o.state <> 'sent' AND o.chat = of_chat AND i.origin = of_origin AND i.ended > 0)
$$;

-- release_gathering ends the wait of a person's pending messages for further ones, if there are any.
CREATE FUNCTION release_gathering(c operation, of_chat text, of_person text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE inbox SET not_before = 0, op = c.op WHERE state = 'pending' AND not_before > 0 AND chat = of_chat AND ended = 0
		AND person = of_person AND origin = 'person';
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM update_line(of_chat);
	RETURN true;
END $$;

-- erase_text replaces the content of a message by one without its text, if nobody has changed it.
CREATE FUNCTION erase_text(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE inbox SET incoming = a->>'incoming', erased = true,
		op = CASE state WHEN 'running' THEN op ELSE c.op END -- a running row is still the answer of the claim
		WHERE id = (a->>'id')::bigint AND op = (a->>'op')::bigint;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM add_secrets(c, a->>'chat', a->'secrets', (a->>'id')::bigint);
	RETURN true;
END $$;

-- add_secrets records the network's messages of an inbound message as transient.
CREATE FUNCTION add_secrets(c operation, of_chat text, messages jsonb, this bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO transient (chat, id, inbound, incoming, owner, op)
		SELECT of_chat, value, this, true, c.member, c.op FROM jsonb_array_elements_text(messages)
		ON CONFLICT (chat, id) DO UPDATE SET inbound = this, board = 0, incoming = true, owner = c.member, op = c.op;
END $$;
