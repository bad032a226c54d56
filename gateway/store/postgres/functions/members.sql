-- lock_members lets one transaction at a time change members and the leader. It is locked before all rows, and no change
-- of a chat waits for it.
CREATE FUNCTION lock_members() RETURNS void LANGUAGE sql AS $$
	SELECT pg_advisory_xact_lock('member'::regclass::oid::bigint)
$$;

-- open_member makes a member with slots. The earlier member of the same state folder is gone then. It returns
-- how long the lease of a member of the same name from elsewhere lasts, in microseconds, and makes none; otherwise 0.
CREATE FUNCTION open_member(new_id text, new_name text, new_folder text, ttl bigint, slots integer, for_command boolean,
	new_info text, at bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	same record;
BEGIN
	PERFORM lock_members();
	now := coalesce(at, database_time());
	IF EXISTS (SELECT 1 FROM member WHERE id = new_id) THEN
		RETURN 0; -- the call is repeated
	END IF;
	IF NOT for_command THEN
		SELECT * INTO same FROM member WHERE name = new_name AND lease > 0 AND NOT command;
		IF same.folder <> new_folder AND same.lease > now THEN
			RETURN same.lease - now;
		END IF;
		PERFORM mark_gone(m.id, now) FROM member m
			WHERE m.lease > 0 AND NOT m.command AND (m.name = new_name OR m.folder = new_folder);
	END IF;
	INSERT INTO member (id, name, folder, lease, command, functions, info)
		VALUES (new_id, new_name, new_folder, now + ttl, for_command, current_schema(), new_info);
	INSERT INTO call (member, slot) SELECT new_id, n FROM generate_series(1, slots) AS n;
	RETURN 0;
END $$;

-- mark_gone ends a member for good: it cannot change anything any more.
CREATE FUNCTION mark_gone(gone text, at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM lock_members();
	UPDATE member SET lease = -coalesce(at, database_time()) WHERE id = gone AND lease > 0;
	DELETE FROM member WHERE id = gone AND command;
	DELETE FROM call WHERE member = gone; -- waits for the changes that it is making
	UPDATE leader SET member = '' WHERE member = gone;
END $$;

CREATE FUNCTION is_gone(owner text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT owner <> '' AND NOT EXISTS (SELECT 1 FROM member WHERE id = owner AND lease > 0)
$$;

-- beat renews the lease of a member, marks those as gone whose lease has ended, and elects a leader.
CREATE FUNCTION beat(me text, ttl bigint, lead boolean, at bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	self record;
	led_by text;
BEGIN
	PERFORM lock_members();
	now := coalesce(at, database_time());
	UPDATE member SET lease = now + ttl WHERE id = me AND lease > 0 RETURNING * INTO self;
	IF NOT FOUND THEN
		PERFORM fail_fenced();
	END IF;
	PERFORM mark_gone(id, now) FROM member WHERE lease > 0 AND lease <= now;
	DELETE FROM member WHERE lease < 0 AND now + lease > 7 * 86400 * 1000000::bigint; -- gone for a week
	UPDATE forward SET member = keeper(chat) WHERE member = me AND keeper(chat) <> me; -- its keeper has changed
	SELECT member INTO led_by FROM leader;
	IF led_by = me AND NOT lead OR led_by = '' AND lead AND NOT self.draining THEN
		UPDATE leader SET member = CASE WHEN lead THEN me ELSE '' END RETURNING member INTO led_by;
	END IF;
	RETURN json_build_object('leader', led_by = me, 'draining', self.draining,
		'claimable', EXISTS (SELECT 1 FROM line), 'toGreet', EXISTS (SELECT 1 FROM pairing WHERE welcome > 0 AND message <> ''),
		'revocations', coalesce((SELECT value FROM memory WHERE chat = '' AND key = 'revocations'), ''),
		'adoptable', EXISTS (SELECT 1 FROM inbox WHERE owner <> '' AND is_gone(owner))
			OR EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' AND state <> 'sent' AND is_gone(owner))
			OR EXISTS (SELECT 1 FROM transient WHERE is_gone(owner)) OR EXISTS (SELECT 1 FROM details WHERE fold > 0 AND is_gone(owner))
			OR EXISTS (SELECT 1 FROM forward WHERE is_gone(member)) OR EXISTS (SELECT 1 FROM member WHERE lease < 0 AND NOT swept),
		'others', EXISTS (SELECT 1 FROM member WHERE id <> me AND lease > 0 AND NOT command),
		'probes', ARRAY(SELECT file FROM probe WHERE member = me AND content = ''),
		'forwarded', EXISTS (SELECT 1 FROM forward WHERE member = me),
		'keeps', ARRAY(SELECT chat FROM kept k WHERE member = me AND NOT EXISTS (SELECT 1 FROM inbox i
			WHERE i.state = 'running' AND i.chat = k.chat AND i.ended = 0) ORDER BY chat),
		'running', ARRAY(SELECT id FROM inbox WHERE owner = me ORDER BY id),
		'stopped', ARRAY(SELECT id FROM inbox WHERE owner = me AND status = 'stopped' ORDER BY id),
		'sending', ARRAY(SELECT id FROM outbox WHERE state = 'sending' AND state <> 'sent' AND owner = me ORDER BY id),
		'dismissed', ARRAY(SELECT id FROM inbox WHERE owner = me AND status = 'revoked' ORDER BY id),
		'dismissedDeliveries', ARRAY(SELECT id FROM outbox
			WHERE state = 'sending' AND state <> 'sent' AND owner = me AND dropped ORDER BY id))::text;
END $$;

-- ask_readers has all members read a file of the shared folder.
CREATE FUNCTION ask_readers(asked text) RETURNS boolean LANGUAGE sql AS $$
	DELETE FROM probe WHERE is_gone(member); -- of a command that was killed
	INSERT INTO probe (file, member) SELECT asked, id FROM member WHERE lease > 0 AND NOT command ON CONFLICT DO NOTHING;
	SELECT true
$$;

-- drain_member has a member claim nothing more until it restarts. It reports false if there is no such member.
CREATE FUNCTION drain_member(drained text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE member SET draining = true WHERE name = drained AND lease > 0 AND NOT command;
	RETURN FOUND;
END $$;
