package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// userIDs is implemented by the settings of a channel whose user IDs have a certain form.
type userIDs interface {
	CheckUserID(id string) error
}

// checkApprovers refuses an entry that can be nobody: each is the name of a channel, a colon and
// the ID of one user.
func checkApprovers(c *Config, at, list []string) []fault {
	var all []fault
	for i, entry := range list {
		if want := c.wrongApprover(entry); want != "" {
			all = append(all, fault{path: join(at, strconv.Itoa(i)), text: want, hint: c.suggestChannel(entry), hideValue: LooksLikeSecret(entry)})
		}
	}
	return all
}

// wrongApprover says what an entry of a list of approvers must be, or "" if nothing is wrong.
func (c *Config) wrongApprover(entry string) string {
	channel, user, found := strings.Cut(entry, ":")
	names := c.channelNames()
	switch {
	case !found || channel == "":
		return `must be a channel and a user id, such as "telegram:123456"`
	case !slices.Contains(names, channel):
		return fmt.Sprintf("there is no channel %q; it must be %s", shorten(channel), orList(names))
	case strings.TrimSpace(user) == "" || strings.ContainsFunc(user, isInvisible):
		return fmt.Sprintf("must have a user id after %q, without spaces", channel+":")
	case user == "*":
		return "must name one person; with an empty list everybody who may talk to the bot can approve"
	}
	if ids, ok := c.Channels[channel].(userIDs); ok {
		if err := ids.CheckUserID(user); err != nil {
			return err.Error()
		}
	}
	return ""
}

// suggestChannel says which channel was probably meant by the first part of an entry.
func (c *Config) suggestChannel(entry string) string {
	channel, _, found := strings.Cut(entry, ":")
	if names := c.channelNames(); found && !slices.Contains(names, channel) {
		if near := ClosestMatch(channel, names); near != "" {
			return didYouMean(near)
		}
	}
	return ""
}

// channelNames names the channels of the program in the order of the parts.
func (c *Config) channelNames() []string {
	names := make([]string, 0, len(c.extensions.Channels))
	for _, ch := range c.extensions.Channels {
		names = append(names, ch.Name)
	}
	return names
}
