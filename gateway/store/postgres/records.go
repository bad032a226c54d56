package postgres

import (
	"context"
	"maps"
	"slices"

	"nanobot/channels"
)

// LoadRecord returns the value of a record.
func (s records) LoadRecord(ctx context.Context, key string) (string, error) {
	return readValue[string](ctx, s.state, "read record "+key, "SELECT to_json(value) FROM record WHERE key = $1", key)
}

// ListRecords returns the records whose keys begin with a prefix.
func (s records) ListRecords(ctx context.Context, prefix string) (map[string]string, error) {
	return readValue[map[string]string](ctx, s.state, "read records "+prefix,
		"SELECT coalesce(json_object_agg(key, value), '{}') FROM record WHERE starts_with(key, $1)", prefix)
}

// SaveRecords replaces the values of records.
func (s records) SaveRecords(ctx context.Context, values map[string]string) error {
	_, err := s.saveRecords(ctx, "write records", values, nil)
	return err
}

// SwapRecord replaces the value of a record if it equals old.
func (s records) SwapRecord(ctx context.Context, key, old, value string) (bool, error) {
	return s.saveRecords(ctx, "swap record "+key, map[string]string{key: value}, map[string]any{"old": old})
}

// InitRecords saves records if the key unless does not exist.
func (s records) InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error) {
	return s.saveRecords(ctx, "initialize records", values, map[string]any{"unless": unless}, unless)
}

// saveRecords replaces records under a condition, which concerns them and other keys.
func (s records) saveRecords(ctx context.Context, what string, values map[string]string, condition map[string]any,
	others ...string,
) (saved bool, err error) {
	args := map[string]any{"values": values}
	maps.Copy(args, condition)
	err = s.change(ctx, changeRequest{
		what: what, function: "save_records", args: args,
		scope: ofNames("record ", slices.AppendSeq(others, maps.Keys(values))...),
	}, &saved)
	return saved, err
}

// ofNames is the scope of a change of things other than chats.
func ofNames(prefix string, names ...string) scope {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = prefix + name
	}
	return scope{"names", encodeJSON(all)}
}

// ofChat is the scope of a change of one chat.
func ofChat(chat channels.Chat) scope { return scope{"chat", chat.String()} }
