package config

import (
	"fmt"
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
)

// originNamePattern matches valid names of hooks and schedules, which are part of URLs, stored
// values and metrics.
var originNamePattern = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// checkOriginName reports an invalid name of a hook or a schedule, the last element of path.
func checkOriginName(path []string, what string) []Problem {
	if originNamePattern().MatchString(path[len(path)-1]) {
		return nil
	}
	return []Problem{{
		Path: path, Text: what + " must be 1 to 64 letters, digits, hyphens and underscores", AboutKey: true,
	}}
}

// checkAgentName reports a name that no agent has.
func (c *Config) checkAgentName(at []string, name string) []Problem {
	names := c.AgentNames()
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return []Problem{{
		Path: at, Text: "must be the name of an agent: " + joinWithOr(names), Hint: suggest(name, names),
	}}
}

// checkChat reports a key that no chat on an enabled channel can have.
func (c *Config) checkChat(at []string, key string) []Problem {
	channel, id, _ := strings.Cut(key, ":")
	names := c.channelNames()
	p := Problem{Path: at, HideValue: LooksLikeSecret(key)}
	switch settings := c.Channels[channel]; {
	case channel == "" || id == "" || strings.ContainsFunc(key, isInvisible):
		p.Text = `must be a channel and the ID of a chat, such as "telegram:123456"`
	case settings == nil:
		p.Text = fmt.Sprintf("there is no channel %q; use %s", truncate(channel), joinWithOr(names))
		p.Hint = suggest(channel, names)
	case !settings.On():
		p.Text = fmt.Sprintf("needs %s.enabled to be true", c.ChannelKey(channel))
	default:
		checker, ok := settings.(interface{ CheckChat(id string) error })
		if !ok {
			return nil
		}
		err := checker.CheckChat(id)
		if err == nil {
			return nil
		}
		p.Text = err.Error()
	}
	return []Problem{p}
}
