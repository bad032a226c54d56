-- What a change knows of its call. repeated says that the change was made already, and only its answer is wanted.
-- chats are those that were locked for it.
CREATE TYPE operation AS (member text, op bigint, now bigint, repeated boolean, chats text[]);

-- is_draining reports whether a member is to claim nothing more.
CREATE FUNCTION is_draining(me text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT 1 FROM member WHERE id = me AND draining)
$$;
