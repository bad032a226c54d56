-- save_records replaces records, unless the key unless exists, or one of them has not the value old.
CREATE FUNCTION save_records(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM record WHERE key = a->>'unless') OR a ? 'old' AND EXISTS (
		SELECT 1 FROM jsonb_object_keys(a->'values') AS all_keys (k) LEFT JOIN record ON key = k
		WHERE coalesce(value, '') <> a->>'old') THEN
		RETURN 'false';
	END IF;
	DELETE FROM record USING jsonb_each_text(a->'values') AS new (k, v) WHERE key = k AND v = '';
	INSERT INTO record (key, value) SELECT k, v FROM jsonb_each_text(a->'values') AS new (k, v) WHERE v <> ''
		ON CONFLICT (key) DO UPDATE SET value = excluded.value;
	RETURN 'true';
END $$;
