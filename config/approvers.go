package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// userIDChecker is implemented by the settings of channels that can validate user IDs.
type userIDChecker interface {
	CheckUserID(id string) error
}

// checkApprovers reports entries that do not identify a user as channel:userid.
func checkApprovers(c *Config, at, list []string) []Problem {
	var all []Problem
	for i, entry := range list {
		if want := c.approverMistake(entry); want != "" {
			all = append(all, Problem{Path: joinPath(at, strconv.Itoa(i)), Text: want, Hint: c.suggestChannel(entry), HideValue: LooksLikeSecret(entry)})
		}
	}
	return all
}

// approverMistake returns why an entry of a list of approvers is invalid, or "".
func (c *Config) approverMistake(entry string) string {
	channel, user, found := strings.Cut(entry, ":")
	names := c.channelNames()
	switch {
	case !found || channel == "":
		return `must be a channel and a user ID, such as "telegram:123456"`
	case !slices.Contains(names, channel):
		return fmt.Sprintf("there is no channel %q; use %s", truncate(channel), joinWithOr(names))
	case strings.TrimSpace(user) == "" || strings.ContainsFunc(user, isInvisible):
		return fmt.Sprintf("must have a user ID without spaces after %q", channel+":")
	case user == "*":
		return "must name one person; leave the list empty to let everybody who may talk to the bot approve"
	}
	if ids, ok := c.Channels[channel].(userIDChecker); ok {
		if err := ids.CheckUserID(user); err != nil {
			return err.Error()
		}
	}
	return ""
}

// suggestChannel returns a hint if the channel of an entry looks misspelt, or "".
func (c *Config) suggestChannel(entry string) string {
	channel, _, found := strings.Cut(entry, ":")
	if names := c.channelNames(); found && !slices.Contains(names, channel) {
		if near := ClosestMatch(channel, names); near != "" {
			return didYouMean(near)
		}
	}
	return ""
}

// channelNames returns the names of all channels in the order of the extensions.
func (c *Config) channelNames() []string {
	names := make([]string, 0, len(c.extensions.Channels))
	for _, ch := range c.extensions.Channels {
		names = append(names, ch.Name)
	}
	return names
}
