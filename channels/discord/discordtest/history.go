package discordtest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// getMessages answers with the newest first, whatever it was asked for.
func (s *Server) getMessages(c *Call) (any, error) {
	ch, err := s.reach(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	limit := 50
	if text := c.Query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > 100 {
			return nil, malformed("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
		}
	}
	at := ""
	for _, name := range []string{"around", "before", "after"} {
		if value := c.Query.Get(name); value != "" {
			if _, err := strconv.ParseUint(value, 10, 64); err != nil || at != "" {
				return nil, malformed(name, "NUMBER_TYPE_COERCE", "one snowflake, and only one of around, before and after")
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
	for _, m := range slices.Backward(part(visible, at, limit)) {
		out = append(out, s.view(m))
	}
	return out, nil
}

// part is the part of a history that was asked for, oldest first.
func part(all []*Message, at string, limit int) []*Message {
	how, id, _ := strings.Cut(at, " ")
	i, found := slices.BinarySearchFunc(all, number(id), func(m *Message, n uint64) int { return cmp.Compare(number(m.ID), n) })
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
