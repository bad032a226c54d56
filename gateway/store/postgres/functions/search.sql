-- search_chat returns the messages of a chat that have all words of a text, newest first. Of the last word, the beginning is
-- enough.
CREATE FUNCTION search_chat(of_chat text, given text, conversation boolean, most integer) RETURNS SETOF json LANGUAGE sql AS $$
	WITH word AS (
		SELECT w, n, max(n) OVER () AS last
			FROM (SELECT * FROM search_words(given) WITH ORDINALITY AS every (w, n) LIMIT 16) AS first_words
	), hit AS MATERIALIZED (
		SELECT inbound, n FROM search WHERE words @@ (
			SELECT (chat_word(of_chat) || ' & ' || string_agg(quote_literal(w) || CASE n WHEN last THEN ':*' ELSE '' END, ' & '))::tsquery
			FROM word)
	)
	SELECT json_build_object('ID', i.id, 'Agent', i.agent, 'In', CASE hit.n WHEN 0 THEN i.incoming::json END,
		'Text', left(coalesce(t.text, ''), 65536), 'Media', t.media::json, 'Time', time_of(coalesce(t.at, i.received)),
		'Message', coalesce(o.receipt, ''))
	FROM hit JOIN inbox i ON i.id = hit.inbound LEFT JOIN transcript t ON t.inbound = hit.inbound AND t.n = hit.n
		LEFT JOIN outbox o ON o.id = t.delivery
	WHERE i.chat = of_chat
		AND (NOT conversation OR i.id > coalesce((SELECT a.inbound FROM afresh a WHERE a.chat = of_chat), 0))
	ORDER BY hit.inbound DESC, hit.n DESC LIMIT most
$$;
