-- tell_quota adds a quota to those of which the chat of a message is to be told, unless it was told today.
CREATE FUNCTION tell_quota(told jsonb, a jsonb, q jsonb, of_chat text, is_spent boolean, n double precision) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO quota_told (at, rule, subject, chat, spent, inbound)
		VALUES ((a->>'at')::bigint, q->>'rule', q->>'subject', of_chat, is_spent, (a->>'id')::bigint) ON CONFLICT DO NOTHING;
	IF EXISTS (SELECT 1 FROM quota_told WHERE at = (a->>'at')::bigint AND rule = q->>'rule' AND subject = q->>'subject'
		AND chat = of_chat AND spent = is_spent AND inbound = (a->>'id')::bigint)
	THEN
		RETURN told || jsonb_build_object('Quota', q->'index', 'Used', n);
	END IF;
	RETURN told;
END $$;

-- admit_turn counts a running message for its quotas, unless one of them is used up. The quotas are locked in one order, so
-- that messages that share some wait for each other.
CREATE FUNCTION admit_turn(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	this bigint := a->>'id';
	of_chat text := running_inbound(c, this);
	counted_before boolean := EXISTS (SELECT 1 FROM counted WHERE inbound = this);
	told jsonb := '[]';
	q jsonb;
	n double precision;
BEGIN
	FOR q IN SELECT value FROM jsonb_array_elements(a->'quotas') ORDER BY (value->>'rule') COLLATE "C", (value->>'subject') COLLATE "C" LOOP
		INSERT INTO quota (at, rule, subject, used) VALUES ((a->>'at')::bigint, q->>'rule', q->>'subject', 0) ON CONFLICT DO NOTHING;
		PERFORM 1 FROM quota WHERE at = (a->>'at')::bigint AND rule = q->>'rule' AND subject = q->>'subject' FOR UPDATE;
	END LOOP;
	FOR q IN SELECT value FROM jsonb_array_elements(a->'quotas') LOOP
		SELECT used INTO n FROM quota WHERE at = (a->>'at')::bigint AND rule = q->>'rule' AND subject = q->>'subject';
		IF NOT counted_before AND n >= (q->>'spent')::double precision THEN
			RETURN json_build_object('Admitted', false, 'Tell', tell_quota(told, a, q, of_chat, true, n));
		END IF;
	END LOOP;
	FOR q IN SELECT value FROM jsonb_array_elements(a->'quotas') LOOP
		IF NOT counted_before THEN
			INSERT INTO counted (inbound, at, rule, subject, unit)
				VALUES (this, (a->>'at')::bigint, q->>'rule', q->>'subject', q->>'unit') ON CONFLICT DO NOTHING;
			IF FOUND THEN
				UPDATE quota SET used = used + (q->>'start')::double precision
					WHERE at = (a->>'at')::bigint AND rule = q->>'rule' AND subject = q->>'subject';
			END IF;
		END IF;
		SELECT used INTO n FROM quota WHERE at = (a->>'at')::bigint AND rule = q->>'rule' AND subject = q->>'subject';
		IF n >= (q->>'near')::double precision THEN
			told := tell_quota(told, a, q, of_chat, false, n);
		END IF;
	END LOOP;
	RETURN json_build_object('Admitted', true, 'Tell', told);
END $$;

-- end_count counts what a message that has ended has used.
CREATE FUNCTION end_count(this bigint, a jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 FROM counted c JOIN quota q USING (at, rule, subject) WHERE c.inbound = this
		ORDER BY q.rule COLLATE "C", q.subject COLLATE "C" FOR UPDATE OF q;
	UPDATE quota SET used = used + CASE c.unit WHEN 'turns' THEN (a->>'turns')::double precision
		WHEN 'seconds' THEN (a->>'seconds')::double precision ELSE (a->>'cost')::double precision END
		FROM counted c WHERE c.inbound = this AND quota.at = c.at
		AND quota.rule = c.rule AND quota.subject = c.subject;
	DELETE FROM counted WHERE inbound = this;
	UPDATE quota_told SET inbound = 0 WHERE inbound = this AND inbound <> 0;
END $$;
