package config

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// combinations finds what has the right shape and still cannot work.
func combinations(c *Config) []fault {
	return slices.Concat(checkTerminal(c), checkChannels(c), checkWebhook(c.Channels.Telegram), checkHTTP(c), checkProviders(c), checkSecrets(c))
}

// key splits a dotted key of ours.
func key(dotted string) []string { return strings.Split(dotted, ".") }

func checkTerminal(c *Config) []fault {
	var all []fault
	t := c.Terminal
	switch {
	case t.Command != "" && strings.TrimSpace(t.Command) == "":
		all = append(all, fault{path: key("terminal.command"), want: "must not be blank"})
	case t.Command == "" && t.Enabled != nil && *t.Enabled:
		all = append(all, fault{
			path: key("terminal.command"), because: key("terminal.enabled"),
			want: "must be set, because terminal.enabled is true",
		})
	default:
		if err := CheckCommand(t.Shell, t.Command); err != nil {
			all = append(all, fault{path: key("terminal.command"), want: err.Error()})
		}
	}
	for name := range t.Env {
		if name == "" || strings.Contains(name, "=") {
			all = append(all, fault{path: join(key("terminal.env"), name), want: `the name of a variable must not be empty or contain "="`, onKey: true})
		}
		if slices.Contains(agentVariables, name) {
			all = append(all, fault{path: join(key("terminal.env"), name), want: "is set by nanobot itself", onKey: true})
		}
	}
	for name, path := range map[string]string{"workspace": c.Workspace, "terminal.cwd": t.Cwd, "gateway.stateDir": c.Gateway.StateDir} {
		if path != "" && strings.TrimSpace(path) == "" {
			all = append(all, fault{path: key(name), want: "must be a folder"})
		}
	}
	for i, folder := range t.MediaRoots {
		if strings.TrimSpace(folder) == "" {
			all = append(all, fault{path: join(key("terminal.mediaRoots"), strconv.Itoa(i)), want: "must be a folder"})
		}
	}
	protocol := key("terminal.protocol")
	if t.Protocol != "rich" && t.Interactive {
		all = append(all, fault{path: key("terminal.interactive"), because: protocol, want: `needs terminal.protocol to be "rich"`})
	}
	if t.Protocol != "rich" && c.Gateway.WhileRunning == "inject" {
		all = append(all, fault{path: key("gateway.whileRunning"), because: protocol, want: `needs terminal.protocol to be "rich"`})
	}
	all = append(all, checkStdin(c)...)
	all = append(all, checkSandbox(t)...)
	if t.Protocol == "acp" {
		all = append(all, checkACP(t)...)
	}
	return all
}

// checkStdin refuses to talk on with an agent that is not told the envelope.
func checkStdin(c *Config) []fault {
	t := c.Terminal
	if t.Stdin == "envelope" {
		return nil
	}
	var all []fault
	for name, needs := range map[string]bool{
		"terminal.protocol": t.Protocol == "acp", "terminal.interactive": t.Interactive, "gateway.whileRunning": c.Gateway.WhileRunning == "inject",
	} {
		if needs {
			all = append(all, fault{path: key(name), because: key("terminal.stdin"), want: `needs terminal.stdin to be "envelope"`})
		}
	}
	return all
}

func checkChannels(c *Config) []fault {
	var all []fault
	for _, ch := range []struct {
		name      string
		enabled   bool
		token     Secret
		allowFrom []string
		apiBase   string
	}{
		{"telegram", c.Channels.Telegram.Enabled, c.Channels.Telegram.Token, c.Channels.Telegram.AllowFrom, c.Channels.Telegram.APIBase},
		{"discord", c.Channels.Discord.Enabled, c.Channels.Discord.Token, c.Channels.Discord.AllowFrom, c.Channels.Discord.APIBase},
	} {
		section := []string{"channels", ch.name}
		if ch.enabled && ch.token == "" {
			all = append(all, fault{
				path: join(section, "token"), because: join(section, "enabled"),
				want: fmt.Sprintf("must be set, because channels.%s.enabled is true", ch.name),
			})
		}
		if !isURL(ch.apiBase) {
			all = append(all, fault{path: join(section, "apiBase"), want: notURL, hide: looksSecret(ch.apiBase)})
		}
		for i, id := range ch.allowFrom {
			if hint, ok := checkID(id); !ok {
				all = append(all, fault{
					path: join(section, "allowFrom", strconv.Itoa(i)),
					want: `must be a numeric user id or "*"`, hint: hint, hide: looksSecret(id),
				})
			}
		}
	}
	return all
}

// secretShape is what a pasted bot token, or a URL with a password in it, looks like.
var secretShape = regexp.MustCompile(`\d{5,}:[\w-]{10,}|[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}|//[^/]*@`)

func looksSecret(value string) bool { return secretShape.MatchString(value) }

// checkID takes ids only: a user name can be given up and taken by somebody else.
func checkID(id string) (hint string, ok bool) {
	if id == "*" {
		return "", true
	}
	digits := strings.TrimPrefix(id, "-")
	switch numeric := digits != "" && strings.Trim(digits, "0123456789") == ""; {
	case id == "":
		return "", false
	case numeric && digits == id:
		return "", true
	case numeric:
		return "that is a group's id; list the people", false
	}
	return "user names are not identities", false
}

const notURL = `must be a URL that begins with "https://" or "http://"`

// isURL takes an empty one for the default.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func checkProviders(c *Config) []fault {
	var all []fault
	for name, p := range c.Terminal.Providers {
		section := []string{"terminal", "providers", name}
		if name == "" {
			all = append(all, fault{path: section, want: "a provider must have a name", onKey: true})
		}
		if !isURL(p.BaseURL) {
			all = append(all, fault{path: join(section, "baseUrl"), want: notURL})
		}
		for i, apiKey := range p.APIKeys {
			if apiKey == "" {
				all = append(all, fault{path: join(section, "apiKeys", strconv.Itoa(i)), want: "must not be empty"})
			}
		}
	}
	return all
}

func checkSecrets(c *Config) []fault {
	var all []fault
	secrets(reflect.ValueOf(c).Elem(), nil, func(path []string, v reflect.Value) {
		s := v.Interface().(Secret)
		if kind, name := s.reference(); kind != "" {
			if strings.TrimSpace(name) == "" {
				all = append(all, fault{path: path, want: fmt.Sprintf("must name something after %q", kind+":")})
			}
		} else if name := shellVariable.FindStringSubmatch(string(s)); name != nil {
			all = append(all, fault{path: path, want: fmt.Sprintf(`is taken as it stands; write "env:%s" for the variable's value`, name[1])})
		} else if strings.ContainsFunc(string(s), unseen) {
			all = append(all, fault{path: path, want: "must not contain spaces, line ends or invisible characters"})
		}
	})
	return all
}

// shellVariable is how a shell or a Compose file names a variable's value, which nothing replaces
// here.
var shellVariable = regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)

// unseen are the characters that come along when a key is copied from a page or a file.
func unseen(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
