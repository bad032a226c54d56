package sqlite

import "context"

// LoadRecord returns the value of a record.
func (s *Store) LoadRecord(ctx context.Context, key string) (string, error) {
	var value string
	_, err := s.queryRow(ctx, "SELECT value FROM record WHERE key = ?", []any{key}, &value)
	return value, wrapError("read record %s", err, key)
}

// ListRecords returns the records whose keys begin with a prefix.
func (s *Store) ListRecords(ctx context.Context, prefix string) (map[string]string, error) {
	values := map[string]string{}
	err := s.queryRows(ctx, "SELECT key, value FROM record WHERE key >= ?1 AND key < ?2 AND substr(key, 1, length(?1)) = ?1", []any{prefix, prefix + "\U0010FFFF"},
		func(scan func(...any) error) error {
			var key, value string
			err := scan(&key, &value)
			values[key] = value
			return err
		})
	return values, wrapError("read records %s", err, prefix)
}

// SaveRecords replaces the values of records.
func (s *Store) SaveRecords(ctx context.Context, values map[string]string) error {
	return s.change(ctx, "write records", func(t *tx) error { return t.saveRecords(values) })
}

func (t *tx) saveRecords(values map[string]string) error {
	for key, value := range values {
		if err := t.saveRecord(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) saveRecord(key, value string) error {
	if value == "" {
		return t.exec("DELETE FROM record WHERE key = ?", key)
	}
	return t.exec("INSERT INTO record (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value)
}

// SwapRecord replaces the value of a record if it equals old.
func (s *Store) SwapRecord(ctx context.Context, key, old, value string) (swapped bool, err error) {
	err = s.change(ctx, "swap record "+key, func(t *tx) error {
		var is string
		swapped = false
		if _, err := t.queryRow("SELECT value FROM record WHERE key = ?", []any{key}, &is); err != nil || is != old {
			return err
		}
		swapped = true
		return t.saveRecord(key, value)
	})
	return swapped && err == nil, err
}

// InitRecords saves records if the key unless does not exist.
func (s *Store) InitRecords(ctx context.Context, unless string, values map[string]string) (done bool, err error) {
	err = s.change(ctx, "initialize records", func(t *tx) error {
		var there string
		found, err := t.queryRow("SELECT value FROM record WHERE key = ?", []any{unless}, &there)
		if done = !found && err == nil; !done {
			return err
		}
		return t.saveRecords(values)
	})
	return done && err == nil, err
}
