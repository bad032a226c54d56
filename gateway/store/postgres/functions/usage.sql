-- add_usage adds the usage of an ended turn to the ledger, in an interval of a quarter of an hour.
CREATE FUNCTION add_usage(c operation, inbound bigint, added jsonb) RETURNS void LANGUAGE sql AS $$
	INSERT INTO usage AS u (at, person, chat, agent, model, whole, turns, took, input_tokens, output_tokens, cost)
		SELECT c.now - c.now % 900000000, CASE WHEN i.origin = 'person' AND i.person <> ''
				THEN split_part(i.chat, ':', 1) || ':' || i.person ELSE '' END, i.chat, i.agent, a->>'model', false,
			(a->>'turns')::bigint, (a->>'took')::bigint, (a->>'input')::bigint, (a->>'output')::bigint,
			(a->>'cost')::double precision
		FROM inbox i, jsonb_array_elements(added) a WHERE i.id = inbound
	ON CONFLICT (at, person, chat, agent, model, whole) DO UPDATE SET turns = u.turns + excluded.turns,
		took = u.took + excluded.took, input_tokens = u.input_tokens + excluded.input_tokens,
		output_tokens = u.output_tokens + excluded.output_tokens, cost = u.cost + excluded.cost
$$;

-- merge_usage merges an interval into the day that it is in, and returns how many rows it had.
CREATE FUNCTION merge_usage(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n integer;
BEGIN
	WITH part AS (DELETE FROM usage WHERE NOT whole AND at = (a->>'at')::bigint RETURNING *)
	INSERT INTO usage AS u (at, person, chat, agent, model, whole, turns, took, input_tokens, output_tokens, cost)
		SELECT (a->>'day')::bigint, person, chat, agent, model, true, turns, took, input_tokens, output_tokens, cost FROM part
	ON CONFLICT (at, person, chat, agent, model, whole) DO UPDATE SET turns = u.turns + excluded.turns,
		took = u.took + excluded.took, input_tokens = u.input_tokens + excluded.input_tokens,
		output_tokens = u.output_tokens + excluded.output_tokens, cost = u.cost + excluded.cost;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
