-- inbound_json returns an inbound message with the names of store.Inbound, and Op.
CREATE FUNCTION inbound_json(i inbox) RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object('ID', i.id, 'In', i.incoming::json, 'Agent', i.agent, 'State', i.state, 'Attempt', i.attempt,
		'Received', time_of(i.received), 'Started', time_of(i.started), 'Ended', time_of(i.ended),
		'NotBefore', time_of(i.not_before), 'Owner', i.owner, 'Op', i.op, 'Outcome', json_build_object('Status', i.status,
			'ExitCode', i.exit_code, 'Signal', i.signal, 'Memory', i.memory, 'CPU', i.cpu * 1000))
$$;

-- describe_chat returns what the turn of a claimed message has to know of its chat.
CREATE FUNCTION describe_chat(of_chat text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
	RETURN json_build_object('token', ensure_token(of_chat),
		'conversation', coalesce((SELECT value FROM memory WHERE chat = of_chat AND key = 'lasting:conversation'), ''),
		'asks', EXISTS (SELECT 1 FROM question WHERE chat = of_chat AND closed = 0));
END $$;

-- ensure_token returns the token of a chat, and creates one if there is none.
CREATE FUNCTION ensure_token(of_chat text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	known text;
BEGIN
	SELECT token INTO known FROM token WHERE chat = of_chat;
	IF NOT FOUND THEN
		INSERT INTO token (token, chat) VALUES (replace(gen_random_uuid()::text, '-', ''), of_chat) RETURNING token INTO known;
	END IF;
	RETURN known;
END $$;

-- first_pending returns the message of a chat that gets its turn next. A person's messages, and those that run again,
-- go before those that nobody has typed.
CREATE FUNCTION first_pending(of_chat text) RETURNS SETOF inbox LANGUAGE sql STABLE AS $$
	SELECT * FROM inbox WHERE state = 'pending' AND chat = of_chat AND ended = 0
		ORDER BY (origin <> 'person' AND attempt = 0), id LIMIT 1
$$;

-- enter_line adds a chat to the end of the line, unless it is in the line already. The chat gets the not_before of its
-- first pending message.
CREATE FUNCTION enter_line(of_chat text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO line (chat, not_before) SELECT of_chat, coalesce((SELECT i.not_before FROM first_pending(of_chat) i), 0)
		ON CONFLICT (chat) DO UPDATE SET not_before = excluded.not_before;
END $$;

-- update_line adds a chat to the line if it has pending messages and none running, and removes it otherwise.
CREATE FUNCTION update_line(of_chat text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = of_chat AND ended = 0)
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE state = 'running' AND chat = of_chat AND ended = 0) THEN
		PERFORM enter_line(of_chat);
	ELSE
		DELETE FROM line WHERE chat = of_chat;
	END IF;
END $$;

-- line_of returns the chats in the line, or those among some, whose first message a member may run: it is not for the
-- excepted agents and channels, no other member keeps the chat, and the member is not drained.
CREATE FUNCTION line_of(me text, a jsonb, among text[])
RETURNS TABLE (seq bigint, of_chat text, not_before bigint, inbound bigint) LANGUAGE sql STABLE AS $$
	SELECT l.seq, l.chat, l.not_before, i.id FROM line l CROSS JOIN LATERAL first_pending(l.chat) i
		WHERE (among IS NULL OR l.chat = ANY (among))
		AND NOT coalesce(a->'agents' ? i.agent, false) AND NOT coalesce(a->'channels' ? split_part(l.chat, ':', 1), false)
		AND NOT EXISTS (SELECT 1 FROM kept k JOIN member m ON m.id = k.member AND m.lease > 0 AND NOT m.draining
			WHERE k.chat = l.chat AND k.member <> me)
		AND NOT (SELECT is_draining(me))
$$;

-- claimable returns the chats at the front of the line whose first message may run now: it does not wait for further
-- messages. Nothing waits for longer than a minute, except after a change of the clock.
CREATE FUNCTION claimable(c operation, a jsonb, among text[], most integer) RETURNS TABLE (of_chat text, inbound bigint)
LANGUAGE sql STABLE AS $$
	SELECT l.of_chat, l.inbound FROM line_of(c.member, a, among) l
		WHERE l.not_before <= c.now OR l.not_before > c.now + 60000000 ORDER BY l.seq LIMIT most
$$;

-- claim_chat marks the first message of a chat as running, if it may still run now, and returns it. The chat is locked.
CREATE FUNCTION claim_chat(c operation, a jsonb, key text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	this bigint;
BEGIN
	SELECT inbound INTO this FROM claimable(c, a, ARRAY[key], 1);
	IF FOUND THEN
		DELETE FROM line WHERE chat = key;
		UPDATE inbox SET state = 'running', owner = c.member, op = c.op, started = c.now, attempt = attempt + 1, not_before = 0
			WHERE id = this;
	END IF;
	RETURN this;
END $$;

-- claim marks the next messages as running. It leaves out chats that somebody is busy with as long as there are others,
-- and waits for a chat only without a lock of another one. again says that one was left out.
CREATE FUNCTION claim(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	most integer := a->>'limit';
	ids bigint[] := '{}';
	h record;
	busy text;
	locked boolean := false;
	seen integer := c.repeated::integer; -- the chats that it might claim
BEGIN
	IF NOT c.repeated THEN
		FOR h IN SELECT of_chat FROM claimable(c, a, NULL, most + 16) LOOP
			EXIT WHEN cardinality(ids) = most;
			seen := seen + 1;
			IF try_lock_chat(h.of_chat) THEN
				locked := true;
				ids := array_remove(ids || claim_chat(c, a, h.of_chat), NULL);
			ELSE
				busy := coalesce(busy, h.of_chat);
			END IF;
		END LOOP;
		IF busy IS NOT NULL AND NOT locked THEN
			PERFORM lock_chats(ARRAY[busy]);
			ids := array_remove(ids || claim_chat(c, a, busy), NULL);
		END IF;
	END IF;
	RETURN json_build_object('again', cardinality(ids) < least(most, seen), 'claimed', coalesce((
		SELECT json_agg(json_build_object('inbound', inbound_json(i), 'about', describe_chat(i.chat)) ORDER BY array_position(ids, i.id), i.id)
		FROM inbox i WHERE i.owner = c.member AND i.op = c.op), '[]'));
END $$;

-- running_inbound checks that a member runs an inbound message, and returns its chat.
CREATE FUNCTION running_inbound(c operation, inbound bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i record;
BEGIN
	SELECT chat, state, owner INTO i FROM inbox WHERE id = inbound;
	IF NOT FOUND THEN
		PERFORM fail_state('there is no such inbound message');
	ELSIF i.state <> 'running' THEN
		PERFORM fail_state('it is ' || i.state);
	ELSIF i.owner <> c.member THEN
		PERFORM fail_fenced();
	END IF;
	RETURN i.chat;
END $$;

-- finish ends a running message, and the pending messages that its agent has read during the turn.
CREATE FUNCTION finish(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	this bigint := a->>'id';
	of_chat text := running_inbound(c, this);
	waits boolean;
BEGIN
	UPDATE inbox SET state = a->>'state', owner = '', op = c.op, ended = c.now,
		status = CASE status WHEN 'revoked' THEN status ELSE a->>'status' END, exit_code = (a->>'exit')::integer,
		signal = a->>'signal', memory = (a->>'memory')::bigint, cpu = (a->>'cpu')::bigint,
		agent = coalesce(nullif(a->>'agent', ''), agent) WHERE id = this;
	IF a ? 'with' THEN
		UPDATE inbox SET state = a->>'state', op = c.op, ended = c.now, status = a->>'status', attempt = 1,
			started = (SELECT started FROM inbox WHERE id = this)
			WHERE id IN (SELECT value::bigint FROM jsonb_array_elements_text(a->'with')) AND chat = of_chat AND state = 'pending';
	END IF;
	PERFORM erase_answers();
	PERFORM close_questions(c, this);
	IF a ? 'trace' THEN
		INSERT INTO trace (inbound, text) VALUES (this, a->>'trace') ON CONFLICT (inbound) DO UPDATE SET text = excluded.text;
	END IF;
	IF a ? 'fold' THEN
		PERFORM save_details(c, this, a->'fold', 1);
	END IF;
	IF a ? 'usage' THEN
		PERFORM add_usage(c, this, a->'usage');
	END IF;
	PERFORM end_count(this, a);
	PERFORM keep_chat(c, of_chat, a ? 'keeps');
	waits := EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = of_chat AND ended = 0);
	IF waits THEN
		PERFORM enter_line(of_chat);
	END IF;
	RETURN waits;
END $$;

CREATE FUNCTION make_pending(c operation, inbound bigint, uncounted integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	of_chat text;
BEGIN
	UPDATE inbox SET state = 'pending', owner = '', op = c.op, started = 0, ended = 0, status = '', exit_code = 0, signal = '',
		memory = 0, cpu = 0, not_before = 0, attempt = attempt - uncounted WHERE id = inbound RETURNING chat INTO of_chat;
	PERFORM update_line(of_chat);
END $$;

-- restart_inbound makes an ended message pending again. If that is impossible, it returns why.
CREATE FUNCTION restart_inbound(c operation, this bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	was text;
	ended_as text;
BEGIN
	SELECT state, status INTO was, ended_as FROM inbox WHERE id = this;
	IF NOT FOUND THEN
		RETURN 'there is no such inbound message';
	ELSIF was = 'done' THEN -- the person wants to get all messages and questions again
		UPDATE outbox SET sequence = 0, op = c.op WHERE inbound = this AND sequence > 0;
		DELETE FROM question WHERE inbound = this;
	ELSIF was = 'interrupted' THEN -- answers that were given are reused
		DELETE FROM question WHERE inbound = this AND answer IS NULL;
	ELSIF was <> 'dead' OR ended_as <> 'quota' THEN -- one that a quota has refused was not run yet
		RETURN 'it is ' || was;
	END IF;
	PERFORM make_pending(c, this, 0);
	RETURN NULL;
END $$;

CREATE FUNCTION restart(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text := restart_inbound(c, (a->>'id')::bigint);
BEGIN
	IF why IS NOT NULL THEN
		PERFORM fail_state(why);
	END IF;
	RETURN NULL;
END $$;

CREATE FUNCTION requeue(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM running_inbound(c, (a->>'id')::bigint);
	PERFORM make_pending(c, (a->>'id')::bigint, (a->>'uncounted')::integer);
	RETURN NULL;
END $$;

-- cancel_pending ends the pending messages of a chat, or the one with an ID, and returns how many.
CREATE FUNCTION cancel_pending(c operation, of_chat text, this bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	n integer;
BEGIN
	UPDATE inbox SET state = 'dead', status = 'cancelled', op = c.op, ended = c.now
		WHERE state = 'pending' AND chat = of_chat AND ended = 0 AND (this = 0 OR id = this);
	GET DIAGNOSTICS n = ROW_COUNT;
	PERFORM erase_answers();
	IF this = 0 THEN
		PERFORM mark_stopped(c, of_chat, 0);
	END IF;
	PERFORM update_line(of_chat);
	RETURN n;
END $$;

-- mark_stopped records that the running message of a chat was stopped, whichever it is or only the one with an ID. op
-- stays: the row is still the answer of the claim.
CREATE FUNCTION mark_stopped(c operation, of_chat text, this bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE inbox SET status = 'stopped'
		WHERE state = 'running' AND chat = of_chat AND ended = 0 AND status <> 'revoked' AND (this = 0 OR id = this);
END $$;

CREATE FUNCTION cancel(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN cancel_pending(c, a->>'chat', (a->>'id')::bigint);
END $$;

CREATE FUNCTION stop(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM mark_stopped(c, a->>'chat', (a->>'id')::bigint);
	RETURN NULL;
END $$;

CREATE FUNCTION settle_pending(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	i record;
BEGIN
	SELECT chat, state INTO i FROM inbox WHERE id = (a->>'id')::bigint;
	IF NOT FOUND THEN
		PERFORM fail_state('there is no such inbound message');
	ELSIF i.state <> 'pending' THEN
		PERFORM fail_state('it is ' || i.state);
	END IF;
	UPDATE inbox SET state = 'done', status = 'read', op = c.op, ended = c.now WHERE id = (a->>'id')::bigint;
	PERFORM update_line(i.chat);
	RETURN NULL;
END $$;

CREATE FUNCTION set_cursors(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO cursor (channel, value) SELECT key, value FROM jsonb_each_text(a)
		ON CONFLICT (channel) DO UPDATE SET value = excluded.value;
	RETURN NULL;
END $$;
