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
	return checkPeople(c, at, list, "; leave the list empty to let everybody who may talk to the bot approve")
}

// checkPeople is checkApprovers for any list of people. forAll says how to name everybody.
func checkPeople(c *Config, at, list []string, forAll string) []Problem {
	var all []Problem
	for i, entry := range list {
		if want, hint := c.personMistake(entry, forAll); want != "" {
			all = append(all, Problem{
				Path: joinPath(at, strconv.Itoa(i)), Text: want, Hint: hint,
				HideValue: LooksLikeSecret(entry),
			})
		}
	}
	return all
}

// personMistake returns why an entry of a list of people is invalid, or "", and a hint if its
// channel looks misspelt.
func (c *Config) personMistake(entry, forAll string) (want, hint string) {
	channel, user, found := strings.Cut(entry, ":")
	names := c.channelNames()
	switch {
	case !found || channel == "":
		want = `must be a channel and a user ID, such as "telegram:123456"`
	case !slices.Contains(names, channel):
		return fmt.Sprintf("there is no channel %q; use %s", truncate(channel), joinWithOr(names)), suggest(channel, names)
	case strings.TrimSpace(user) == "" || strings.ContainsFunc(user, isInvisible):
		want = fmt.Sprintf("must have a user ID without spaces after %q", channel+":")
	case user == "*":
		want = "must name one person" + forAll
	default:
		if ids, ok := c.Channels[channel].(userIDChecker); ok {
			if err := ids.CheckUserID(user); err != nil {
				want = err.Error()
			}
		}
	}
	return want, ""
}
