package sqlite

import "context"

// LoadRecord returns the value of a record.
func (s records) LoadRecord(ctx context.Context, key string) (string, error) {
	return readValue[string](ctx, s.state, "read record "+key, "SELECT value FROM record WHERE key = ?", key)
}

// ListRecords returns the records whose keys begin with a prefix.
func (s records) ListRecords(ctx context.Context, prefix string) (map[string]string, error) {
	values := map[string]string{}
	err := s.queryRows(ctx,
		"SELECT key, value FROM record WHERE key >= ?1 AND key < ?2 AND substr(key, 1, length(?1)) = ?1",
		[]any{prefix, prefix + "\U0010FFFF"},
		func(scan func(...any) error) error {
			var key, value string
			err := scan(&key, &value)
			values[key] = value
			return err
		})
	return values, wrapError("read records %s", err, prefix)
}

// SaveRecords replaces the values of records.
func (s records) SaveRecords(ctx context.Context, values map[string]string) error {
	return s.change(ctx, "write records", func(t *tx) { saveRecords(t, values) })
}

func saveRecords(t *tx, values map[string]string) {
	for key, value := range values {
		if value == "" {
			t.exec("DELETE FROM record WHERE key = ?", key)
		} else {
			t.exec("INSERT INTO record (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value)
		}
	}
}

// SwapRecord replaces the value of a record if it equals old.
func (s records) SwapRecord(ctx context.Context, key, old, value string) (bool, error) {
	return changed(ctx, s.state, "swap record "+key, func(t *tx) bool {
		var is string
		t.queryRow("SELECT value FROM record WHERE key = ?", []any{key}, &is)
		if is != old {
			return false
		}
		saveRecords(t, map[string]string{key: value})
		return true
	})
}

// InitRecords saves records if the key unless does not exist.
func (s records) InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error) {
	return changed(ctx, s.state, "initialize records", func(t *tx) bool {
		if t.exists("SELECT 1 FROM record WHERE key = ?", unless) {
			return false
		}
		saveRecords(t, values)
		return true
	})
}
