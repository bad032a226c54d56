package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/nofollow"
)

// Route is a rule about who answers a message, and where. The first rule that matches counts.
type Route struct {
	Match     Match     `json:"match,omitzero" jsonschema_description:"Every key must match. Default: all messages."`
	Agent     string    `json:"agent" jsonschema:"required,minLength=1" jsonschema_description:"The agent that answers."`
	Workspace string    `json:"workspace,omitempty" jsonschema_description:"Folder below the workspace in which it works."`
	Worktree  string    `json:"worktree,omitempty" jsonschema_description:"Git repository below the workspace, of which each chat gets a worktree."`
	Switch    Selection `json:"switch,omitzero" jsonschema_description:"Whether people can choose another agent with /agent, or which. Default: false."`
}

// Match has the values that a message must have; nil: any. One value of each key must match.
type Match struct {
	Channel  Values `json:"channel,omitempty" jsonschema_description:"Such as telegram, or telegram.work for an account."`
	Chat     Values `json:"chat,omitempty" jsonschema_description:"IDs such as -1001 or telegram:-1001, with all topics and threads."`
	Topic    Values `json:"topic,omitempty" jsonschema_description:"IDs of topics or threads."`
	User     Values `json:"user,omitempty" jsonschema_description:"IDs of people."`
	Kind     Values `json:"kind,omitempty" jsonschema_description:"private or group."`
	Command  Values `json:"command,omitempty" jsonschema_description:"First words, without slash; taken off the text."`
	Media    Values `json:"media,omitempty" jsonschema_description:"Types of files, such as image/* or */*. One file must match."`
	Hook     Values `json:"hook,omitempty" jsonschema_description:"Names of hooks."`
	Schedule Values `json:"schedule,omitempty" jsonschema_description:"Names of schedules."`
}

// MatchKey is a key of Match with its values.
type MatchKey struct {
	Name   string
	Values Values
}

// Keys returns the keys of a match that are set.
func (m Match) Keys() []MatchKey {
	return slices.DeleteFunc([]MatchKey{
		{"channel", m.Channel},
		{"chat", m.Chat},
		{"topic", m.Topic},
		{"user", m.User},
		{"kind", m.Kind},
		{"command", m.Command},
		{"media", m.Media},
		{"hook", m.Hook},
		{"schedule", m.Schedule},
	}, func(k MatchKey) bool { return k.Values == nil })
}

// String describes the messages of a match, such as "chat -1001, topic 7 or 8".
func (m Match) String() string {
	var all []string
	for _, key := range m.Keys() {
		all = append(all, key.Name+" "+strings.Join(key.Values, " or "))
	}
	return cmp.Or(strings.Join(all, ", "), "every message")
}

// Allows reports whether an agent may answer the messages of the rule.
func (r Route) Allows(agent string) bool { return agent == r.Agent || r.Switch.Includes(agent) }

// SplitRouted splits a value of chat, topic or user into a channel, which may be "", and an ID.
func SplitRouted(value string) (channel, id string) {
	if channel, id, found := strings.Cut(value, ":"); found {
		return channel, id
	}
	return "", value
}

func checkRoutes(c *Config) []Problem {
	var all []Problem
	for i, r := range c.Routes {
		path := []string{"routes", strconv.Itoa(i)}
		all = append(all, c.checkAgentName(joinPath(path, "agent"), r.Agent)...)
		for j, name := range r.Switch.Names {
			all = append(all, c.checkAgentName(joinPath(path, "switch", strconv.Itoa(j)), name)...)
		}
		for _, key := range r.Match.Keys() {
			all = append(all, c.checkMatchKey(joinPath(path, "match", key.Name), key)...)
		}
		for name, place := range map[string]string{"workspace": r.Workspace, "worktree": r.Worktree} {
			if place != "" && (!filepath.IsLocal(place) || filepath.Clean(place) == "." || strings.TrimSpace(place) == "") {
				all = append(all, Problem{Path: joinPath(path, name), Text: notBelowText})
			}
		}
		if r.Workspace != "" && r.Worktree != "" {
			all = append(all, Problem{
				Path: joinPath(path, "worktree"), Cause: joinPath(path, "workspace"), Text: "cannot be combined with workspace",
			})
		}
	}
	return all
}

const notBelowText = "must be a folder below the workspace"

// checkPlaces reports places of rules that leave the workspace by a symbolic link.
func (c *Config) checkPlaces() (all []Problem) {
	root, _, rootErr := nofollow.Resolve(c.Workspace)
	for i, r := range c.Routes {
		for name, place := range map[string]string{"workspace": r.Workspace, "worktree": r.Worktree} {
			end, _, err := nofollow.Resolve(filepath.Join(c.Workspace, place))
			if place != "" && (err != nil || rootErr != nil || !nofollow.Within(root, end) || end == root) {
				all = append(all, Problem{
					Path: []string{"routes", strconv.Itoa(i), name}, Text: notBelowText + ", and is a symbolic link to elsewhere",
				})
			}
		}
	}
	return all
}

// checkMatchKey reports values that no message can have.
func (c *Config) checkMatchKey(path []string, key MatchKey) []Problem {
	if len(key.Values) == 0 {
		return []Problem{{Path: path, Text: "must have at least one value"}}
	}
	var all []Problem
	for i, value := range key.Values {
		p := Problem{Path: path, HideValue: LooksLikeSecret(value)}
		if len(key.Values) > 1 {
			p.Path = joinPath(path, strconv.Itoa(i))
		}
		if p.Text, p.Hint = c.matchMistake(key.Name, value); p.Text != "" {
			all = append(all, p)
		}
	}
	return all
}

const mediaText = `must be a type of files, such as "image/png", "image/*" or "*/*"`

// mediaPattern matches the types of files in rules and in hear.
var mediaPattern = lazyregexp.New(`^(\*/\*|[a-zA-Z0-9.+-]+/(\*|[a-zA-Z0-9.+-]+))$`)

// matchMistake returns why a key of a match cannot have a value, or "".
func (c *Config) matchMistake(key, value string) (text, hint string) {
	oneOf := func(what string, names []string) (string, string) {
		if slices.Contains(names, value) {
			return "", ""
		}
		if len(names) == 0 {
			return what + ", and there is none", ""
		}
		return what + ": " + joinWithOr(names), suggest(value, names)
	}
	switch {
	case value == "" || strings.ContainsFunc(value, isInvisible):
		return "must have a value without spaces", ""
	case key == "channel":
		return oneOf("must be the name of a channel", slices.Sorted(maps.Keys(c.Channels)))
	case key == "kind":
		return oneOf("must be one of", []string{"private", "group"})
	case key == "hook":
		return oneOf("must be the name of a hook", slices.Sorted(maps.Keys(c.Hooks)))
	case key == "schedule":
		return oneOf("must be the name of a schedule", slices.Sorted(maps.Keys(c.Schedules)))
	case key == "command" && strings.ContainsAny(value, "/@"):
		return `must be a word without a slash, such as "faq"`, ""
	case key == "command" && slices.Contains(c.extensions.Commands, strings.ToLower(value)):
		return "is a command of nanobot itself; choose another word", ""
	case key == "media" && !mediaPattern().MatchString(value):
		return mediaText, ""
	case key == "chat" || key == "topic" || key == "user":
		return c.routedMistake(key, value)
	}
	return "", ""
}

// routedMistake returns why no chat, topic or user can have an ID, or "".
func (c *Config) routedMistake(key, value string) (text, hint string) {
	channel, id := SplitRouted(value)
	names := slices.Sorted(maps.Keys(c.Channels))
	if channel != "" {
		if c.Channels[channel] == nil {
			return fmt.Sprintf("there is no channel %q; use %s", truncate(channel), joinWithOr(names)), suggest(channel, names)
		}
		names = []string{channel}
	}
	for _, name := range names {
		if text = routedIDMistake(c.Channels[name], key, id); text == "" {
			return "", ""
		}
	}
	if len(names) > 1 {
		text = fmt.Sprintf("no channel has a %s with such an ID", key)
	}
	return text, ""
}

// routedIDMistake returns why a channel cannot have a chat, topic or user with an ID, or "".
func routedIDMistake(s ChannelSettings, key, id string) string {
	var err error
	chats, hasChats := s.(interface{ CheckChat(id string) error })
	users, hasUsers := s.(userIDChecker)
	switch {
	case id == "":
		return "must have an ID after the channel"
	case key == "chat" && hasChats:
		err = chats.CheckChat(id)
	case key == "user" && hasUsers:
		err = users.CheckUserID(id)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
