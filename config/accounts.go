package config

import (
	"fmt"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"
)

// Account is implemented by the settings of a channel of which there may be several: its section is
// an object, or a list of them.
type Account interface {
	ChannelSettings
	// AccountName returns the key name; "": the account has none.
	AccountName() string
	// OwnValues returns the values that no other account of the network may have.
	OwnValues() []OwnValue
}

// OwnValue is a value of an account that no other account of its network may have.
type OwnValue struct {
	Key   string
	Value string // "": there is none
	Noun  string // what is compared: "token"
	Scope string // values of different scopes, such as servers, may be the same
}

// accountNamePattern matches valid names of accounts. A name is part of chat keys, folders and
// metrics.
var accountNamePattern = lazyregexp.New(`^[A-Za-z0-9-]{1,32}$`)

// channelSection is the place of a channel's section. The settings are in Config.Channels, because
// fmt would print their secrets here.
type channelSection struct {
	name string   // of the channel: the network's, or network.ACCOUNT
	path []string // channels.NETWORK, or channels.NETWORK.INDEX in a list
}

// addChannel adds the section of a channel. If its name is taken, which checkAccounts reports, its
// path is its name.
func (c *Config) addChannel(path []string, settings ChannelSettings) {
	name := path[1]
	if a, ok := settings.(Account); ok && a.AccountName() != "" {
		name += "." + a.AccountName()
	}
	if c.Channels[name] != nil {
		name = strings.Join(path, ".")
	}
	c.Channels[name] = settings
	c.sections = append(c.sections, channelSection{name, path})
}

// decodeChannels decodes the section of each channel on top of its defaults.
func (e Extensions) decodeChannels(merged map[string]any, c *Config) error {
	channels, _ := merged["channels"].(map[string]any)
	delete(merged, "channels")
	c.Channels, c.sections = Channels{}, nil
	for _, ch := range e.Channels {
		path := []string{"channels", ch.Name}
		list, isList := channels[ch.Name].([]any)
		if !isList {
			list = []any{channels[ch.Name]}
		}
		for i, value := range list {
			section, isObject := value.(map[string]any)
			if isList && !isObject {
				continue // the schema check has reported it
			}
			settings, at := ch.New(), path
			if err := decodeInto(section, settings); err != nil {
				return err
			}
			if isList {
				at = joinPath(path, strconv.Itoa(i))
			}
			c.addChannel(at, settings)
		}
	}
	return nil
}

// checkAccounts reports invalid names of accounts, and values that two accounts of a network share.
func checkAccounts(c *Config) []Problem {
	var all []Problem
	root := c.extensions.rootNode()
	taken := map[string]string{} // network, key and value → the first section that has the value
	for _, s := range c.sections {
		account, ok := c.Channels[s.name].(Account)
		if !ok {
			continue
		}
		name := account.AccountName()
		if name != "" && !accountNamePattern().MatchString(name) {
			all = append(all, Problem{
				Path: joinPath(s.path, "name"), Text: "must be 1 to 32 letters, digits and hyphens",
				HideValue: LooksLikeSecret(name),
			})
		}
		// Some file systems do not distinguish the case of a folder's name.
		for _, v := range append(account.OwnValues(), OwnValue{Key: "name", Value: strings.ToLower(name), Noun: "name"}) {
			value := strings.Join([]string{s.path[1], v.Key, v.Scope, v.Value}, "\x00")
			first, found := taken[value]
			switch {
			case v.Value == "" && v.Key != "name":
			case !found:
				taken[value] = root.formatPath(s.path)
			case v.Value == "":
				all = append(all, Problem{
					Path: joinPath(s.path, v.Key), Text: fmt.Sprintf("must be set, because %s has no name", first),
				})
			default:
				all = append(all, Problem{
					Path: joinPath(s.path, v.Key), Text: fmt.Sprintf("must have another %s than %s", v.Noun, first),
				})
			}
		}
	}
	return all
}

// channelNames returns the names of all channels, in the order of the networks and of their lists.
func (c *Config) channelNames() []string {
	names := make([]string, len(c.sections))
	for i, s := range c.sections {
		names[i] = s.name
	}
	return names
}

// ChannelPath returns the path of the section of a channel.
func (c *Config) ChannelPath(name string) []string {
	for _, s := range c.sections {
		if s.name == name {
			return s.path
		}
	}
	return []string{"channels", name}
}

// ChannelKey returns the dotted key of the section of a channel.
func (c *Config) ChannelKey(name string) string {
	return c.extensions.rootNode().formatPath(c.ChannelPath(name))
}

// eachChannel calls f with the settings of each channel, in the order of the sections.
func (c *Config) eachChannel(f func(at Scope, s ChannelSettings)) {
	root := c.extensions.rootNode()
	for _, s := range c.sections {
		if settings := c.Channels[s.name]; settings != nil {
			f(Scope{path: s.path, section: root.formatPath(s.path)}, settings)
		}
	}
}
