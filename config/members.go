package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"
)

// Member configures this daemon as one of several that share a store.
type Member struct {
	Name   string   `json:"name" jsonschema_description:"The member's unique name. Default: the host's name."`
	TTL    int      `json:"ttl" unit:"seconds" jsonschema:"minimum=2,maximum=300" jsonschema_description:"Seconds of silence after which other members take over its work."`
	Labels []string `json:"labels" jsonschema_description:"What this member has, such as gpu, for terminal.labels."`
}

// botPattern is what the name of a bot and of a schema may be.
var botPattern = lazyregexp.New(`^[a-z0-9][a-z0-9_]{0,39}$`)

// checkStore checks the keys of a shared store.
func checkStore(c *Config) []Problem {
	all := slices.Concat(checkStoreURL(c), checkLabels([]string{"gateway", "member", "labels"}, c.Gateway.Member.Labels))
	for _, agent := range c.agentSections() {
		all = append(all, checkLabels(agent.keyPath("labels"), agent.Labels)...)
	}
	switch bot := c.Gateway.Bot; {
	case bot != "" && !botPattern().MatchString(bot):
		all = append(all, Problem{
			Path: splitKey("gateway.bot"), Text: "must be up to 40 of a-z, 0-9 and _, and begin with a letter or digit",
		})
	case bot == "" && c.Gateway.Store != "":
		all = append(all, Problem{
			Path: splitKey("gateway.bot"), Cause: splitKey("gateway.store"),
			Text: "must be set, because the database may have several bots",
		})
	}
	if name := c.Gateway.Member.Name; isBlank(name) || strings.ContainsAny(name, "/\n") || len(name) > 100 {
		all = append(all, Problem{
			Path: splitKey("gateway.member.name"), Text: "must be up to 100 characters without a slash",
		})
	}
	return all
}

// checkStoreURL checks the URL of the database and its password.
func checkStoreURL(c *Config) []Problem {
	at := splitKey("gateway.store")
	if c.Gateway.Store == "" {
		if c.Gateway.StorePassword != "" && c.Gateway.Bot == "" { // nanobot move needs both
			return []Problem{{
				Path: splitKey("gateway.storePassword"), Cause: at, Text: `needs gateway.store, or gateway.bot for "nanobot move"`,
			}}
		}
		return nil
	}
	if err := CheckStoreURL(c.Gateway.Store); err != nil {
		return []Problem{{Path: at, Text: err.Error(), HideValue: true}}
	}
	return nil
}

// CheckStoreURL checks the URL of a database. The error has nothing of it.
func CheckStoreURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		return errors.New("must be a URL such as postgres://user@host/database")
	case u.User != nil && hasPassword(u), u.Query().Has("password"):
		return errors.New("must not contain the password; set gateway.storePassword")
	}
	for _, key := range []string{"search_path", "statement_timeout", "idle_in_transaction_session_timeout", "options"} {
		if u.Query().Has(key) {
			return fmt.Errorf("must not set %s, which nanobot sets itself", key)
		}
	}
	return nil
}

func hasPassword(u *url.URL) bool { _, has := u.User.Password(); return has }

// checkLabels reports labels that are blank or repeated.
func checkLabels(path, labels []string) (all []Problem) {
	for i, label := range labels {
		at := joinPath(path, strconv.Itoa(i))
		if strings.TrimSpace(label) == "" || label != strings.TrimSpace(label) {
			all = append(all, Problem{Path: at, Text: "must be a word"})
		} else if slices.Contains(labels[:i], label) {
			all = append(all, Problem{Path: at, Text: "is in the list twice"})
		}
	}
	return all
}

// missingLabel returns a label of an agent that this member does not have; "": it has all of them.
func (c *Config) missingLabel(t *Terminal) string {
	for _, label := range t.Labels {
		if !slices.Contains(c.Gateway.Member.Labels, label) {
			return label
		}
	}
	return ""
}

// resolveMember sets the name of a member that has none. A member of a shared store has a state
// folder of its own: name is its name within the default folder.
func (c *Config) resolveMember() (folder string, err error) {
	if c.Gateway.Store == "" {
		return ".nanobot", nil
	}
	if c.Gateway.Member.Name == "" {
		if c.Gateway.Member.Name, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("find the name of this host for gateway.member.name: %w", err)
		}
	}
	return filepath.Join(".nanobot", c.Gateway.Member.Name), nil
}

// SharedDir returns the folder of files that all members use: the state folder without a shared
// store, else a folder of the bot in the workspace, which is the same for all members.
func (c *Config) SharedDir() string {
	if c.Gateway.Store == "" {
		return c.Gateway.StateDir
	}
	return filepath.Join(c.Workspace, ".nanobot", "bot-"+c.Gateway.Bot)
}

// Shared returns the settings that must be the same for all members.
func (c *Config) Shared() *Config {
	shared := *c
	shared.Gateway.StateDir, shared.Gateway.Member, shared.Log, shared.Audit = "", Member{}, Log{}, Audit{}
	shared.HTTP.Listen, shared.HTTP.MetricsListen, shared.Gateway.Record = "", "", ""
	return &shared
}
