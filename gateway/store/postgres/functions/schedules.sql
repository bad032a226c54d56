CREATE FUNCTION save_schedule(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF (a->>'most')::integer > 0 AND (SELECT count(*) FROM schedule
		WHERE chat = a->>'chat' AND maker <> '' AND name <> a->>'name') >= (a->>'most')::integer THEN
		RETURN 'false';
	END IF;
	INSERT INTO schedule (name, chat, maker, spec, made, accounted) VALUES (a->>'name', a->>'chat', a->>'maker',
		a->>'spec', (a->>'made')::bigint, (a->>'accounted')::bigint) ON CONFLICT (name) DO UPDATE SET chat = excluded.chat,
		maker = excluded.maker, spec = excluded.spec, made = excluded.made, accounted = excluded.accounted;
	RETURN 'true';
END $$;

CREATE FUNCTION remove_schedule(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM schedule WHERE name = a->>'name';
	RETURN to_json(FOUND);
END $$;

CREATE FUNCTION account(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF jsonb_typeof(a->'occurrences') = 'array' THEN
		PERFORM insert_occurrences(c, a->'occurrences', 0);
	END IF;
	UPDATE schedule SET accounted = (a->>'accounted')::bigint WHERE name = a->>'name';
	RETURN NULL;
END $$;

-- insert_occurrences stores occurrences of a schedule, of which the last has caused an inbound message, or none (0).
-- A thousand of them are kept.
CREATE FUNCTION insert_occurrences(c operation, occurrences jsonb, caused bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO occurrence (schedule, due, wall, outcome, reason, inbound)
		SELECT o->>'schedule', (o->>'due')::bigint, o->>'wall', o->>'outcome', o->>'reason',
			CASE n WHEN jsonb_array_length(occurrences) THEN caused ELSE 0 END
		FROM jsonb_array_elements(occurrences) WITH ORDINALITY AS listed (o, n) ON CONFLICT DO NOTHING;
	DELETE FROM occurrence WHERE schedule = occurrences->0->>'schedule' AND due < (SELECT due FROM occurrence
		WHERE schedule = occurrences->0->>'schedule' ORDER BY due DESC LIMIT 1 OFFSET 1000);
$$;

-- is_accounted reports whether the last of some occurrences is stored already.
CREATE FUNCTION is_accounted(occurrences jsonb) RETURNS boolean LANGUAGE sql AS $$
	SELECT EXISTS (SELECT 1 FROM occurrence WHERE schedule = occurrences->-1->>'schedule'
		AND due = (occurrences->-1->>'due')::bigint AND wall = occurrences->-1->>'wall')
$$;
