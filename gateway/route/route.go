// Package route finds the rule of the configuration that a message matches, and so the agent that
// answers it. It knows only the facts of the message: neither the store nor what a chat has chosen.
package route

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"nanobot/channels"
	"nanobot/config"
)

// Facts are what rules can ask about a message.
type Facts struct {
	Chat channels.Chat
	// Parent is the ID of the chat that Chat is a topic or a thread of, and Topic that of the
	// topic; "": it is none.
	Parent, Topic string
	// User is the ID of the person who has sent or caused the message; "": nobody.
	User    string
	Group   bool
	Command string   // the first word of the text without its slash; "": it is no command
	Media   []string // the MIME types of the files
	Origin  channels.Origin
}

// Result is the rule that a message matches.
type Result struct {
	config.Route
	Rule int // counted from 1; 0: none matches, and the default agent answers
}

// NamesOrigin reports whether the rule is about hooks or schedules, so that an agent works on their
// text.
func (r Result) NamesOrigin() bool { return r.Match.Hook != nil || r.Match.Schedule != nil }

// Find returns the first rule that a message matches.
func Find(rules []config.Route, f Facts) Result {
	for i, rule := range rules {
		if f.Has(rule.Match) {
			return Result{rule, i + 1}
		}
	}
	return Result{Route: config.Route{Agent: config.DefaultAgent}}
}

// Has reports whether the message has a value of each key of a match.
func (f Facts) Has(m config.Match) bool { return !slices.ContainsFunc(m.Keys(), f.lacks) }

// lacks reports whether the message has none of the values of a key.
func (f Facts) lacks(key config.MatchKey) bool {
	return !slices.ContainsFunc(key.Values, func(value string) bool { return f.has(key.Name, value) })
}

// has reports whether the message has a value of a key.
func (f Facts) has(key, value string) bool {
	switch key {
	case "channel":
		return value == f.Chat.Channel
	case "chat":
		return f.hasID(value, f.Chat.ID, f.Parent)
	case "topic":
		return f.hasID(value, f.Topic)
	case "user":
		return f.hasID(value, f.User)
	case "kind":
		return value == kinds[f.Group]
	case "command":
		return f.Command != "" &&
			(strings.EqualFold(value, f.Command) || strings.EqualFold(channels.MenuName(value), f.Command))
	case "media":
		return slices.ContainsFunc(f.Media, func(file string) bool { return covers(value, file) })
	case "hook":
		return f.Origin == channels.ByHook(value)
	case "schedule":
		return f.Origin == channels.BySchedule(value)
	}
	return false
}

var kinds = map[bool]string{true: "group", false: "private"}

// hasID reports whether a value, which may name its channel, is one of the IDs.
func (f Facts) hasID(value string, ids ...string) bool {
	channel, id := config.SplitRouted(value)
	return (channel == "" || channel == f.Chat.Channel) && slices.Contains(ids, id)
}

// covers reports whether a pattern of media types matches a type, or all types of another pattern.
func covers(pattern, kind string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(kind))
	return ok && err == nil
}

// Shadows reports whether every message that matches a later rule also matches an earlier one, so
// that the later one never counts. It may report false although that is so. parent returns the chat
// of a topic, or "".
func Shadows(earlier, later config.Match, parent func(chat string) string) bool {
	wider := map[string]config.Values{}
	for _, key := range later.Keys() {
		wider[key.Name] = key.Values
	}
	for _, key := range earlier.Keys() {
		values, found := wider[key.Name]
		if !found && key.Name == "channel" { // IDs may name their channel
			values = ChannelsOf(later)
		}
		all := func(value string) bool {
			return slices.ContainsFunc(key.Values, func(pattern string) bool {
				return includes(key.Name, pattern, value) || key.Name == "chat" && includes("chat", pattern, parent(value))
			})
		}
		if len(values) == 0 || slices.ContainsFunc(values, func(value string) bool { return !all(value) }) {
			return false
		}
	}
	return true
}

// includes reports whether a value of an earlier rule matches all that a value of a later one does.
func includes(key, earlier, later string) bool {
	switch key {
	case "command":
		return strings.EqualFold(earlier, later)
	case "media":
		return covers(earlier, later)
	}
	_, id := config.SplitRouted(later)
	return earlier == later || earlier == id
}

// ChannelsOf returns the channels of a match, also if its chats, topics or users name them; nil:
// any channel.
func ChannelsOf(m config.Match) (names config.Values) {
	if m.Channel != nil {
		return m.Channel
	}
	for _, values := range []config.Values{m.Chat, m.Topic, m.User} {
		names = nil
		for _, value := range values {
			if channel, _ := config.SplitRouted(value); channel != "" {
				names = append(names, channel)
			}
		}
		if len(names) > 0 && len(names) == len(values) {
			return names
		}
	}
	return nil
}

// ParseCommand splits a text into the word of its command, without the slash and a bot's name, and
// the rest. The word is "" if the text is no command.
func ParseCommand(text string) (word, rest string) {
	trimmed, ok := strings.CutPrefix(strings.TrimLeftFunc(text, unicode.IsSpace), "/")
	if !ok {
		return "", text
	}
	if at := strings.IndexFunc(trimmed, unicode.IsSpace); at >= 0 {
		trimmed, rest = trimmed[:at], strings.TrimLeftFunc(trimmed[at:], unicode.IsSpace)
	}
	word, _, _ = strings.Cut(trimmed, "@")
	return word, rest
}
