package discordtest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// getMessages returns the newest messages first, as Discord does for every query.
func (s *Server) getMessages(c *Call) (any, error) {
	ch, err := s.visibleChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	limit := 50
	if text := c.Query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > 100 {
			return nil, fieldError("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
		}
	}
	at := ""
	for _, name := range []string{"around", "before", "after"} {
		if value := c.Query.Get(name); value != "" {
			if _, err := strconv.ParseUint(value, 10, 64); err != nil || at != "" {
				return nil, fieldError(name, "NUMBER_TYPE_COERCE", "one snowflake, and only one of around, before and after")
			}
			at = name + " " + value
		}
	}
	var visible []*Message
	for _, m := range ch.messages {
		if !m.Deleted && m.Flags&FlagEphemeral == 0 {
			visible = append(visible, m)
		}
	}
	out := []Message{}
	for _, m := range slices.Backward(selectMessages(visible, at, limit)) {
		out = append(out, s.restView(m))
	}
	return out, nil
}

// selectMessages returns the requested part of a history, oldest first.
func selectMessages(all []*Message, at string, limit int) []*Message {
	how, id, _ := strings.Cut(at, " ")
	i, found := slices.BinarySearchFunc(all, parseID(id), func(m *Message, n uint64) int { return cmp.Compare(parseID(m.ID), n) })
	switch how {
	case "after":
		if found {
			i++
		}
		return all[i:min(i+limit, len(all))]
	case "before":
		return all[max(i-limit, 0):i]
	case "around":
		from := max(i-limit/2, 0)
		return all[from:min(from+limit, len(all))]
	}
	return all[max(len(all)-limit, 0):]
}
