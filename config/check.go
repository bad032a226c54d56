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

// checkCombinations finds what has the right shape and still cannot work.
func checkCombinations(c *Config) []fault {
	all := slices.Concat(checkFolders(c), checkRunbooks(c), checkAgents(c), checkChannels(c), checkHTTP(c), checkSecrets(c))
	for _, agent := range c.agentSections() {
		all = slices.Concat(all, checkTerminal(agent), checkProtocol(c, agent), checkProviders(agent), checkMCPServers(c, agent))
		all = append(all, checkApprovers(c, agent.key("approvers"), agent.Approvers)...)
	}
	return append(all, checkInject(c)...)
}

// key splits a dotted key of ours.
func key(dotted string) []string { return strings.Split(dotted, ".") }

// checkFolders looks at the folders that all agents share.
func checkFolders(c *Config) []fault {
	var all []fault
	for name, path := range map[string]string{"workspace": c.Workspace, "gateway.stateDir": c.Gateway.StateDir} {
		if blank(path) {
			all = append(all, fault{path: key(name), text: "must be a folder"})
		}
	}
	return all
}

// blank reports whether something is set, and yet has nothing in it.
func blank(s string) bool { return s != "" && strings.TrimSpace(s) == "" }

func checkTerminal(t agentSection) []fault {
	var all []fault
	switch {
	case blank(t.Command):
		all = append(all, fault{path: t.key("command"), text: "must not be blank"})
	case t.Command == "" && t.Enabled != nil && *t.Enabled:
		all = append(all, fault{
			path: t.key("command"), cause: t.key("enabled"),
			text: fmt.Sprintf("must be set, because %s.enabled is true", t.name),
		})
	default:
		if err := CheckCommand(t.Shell, t.Command); err != nil {
			all = append(all, fault{path: t.key("command"), text: err.Error()})
		}
	}
	for name := range t.Env {
		if name == "" || strings.Contains(name, "=") {
			all = append(all, fault{path: join(t.key("env"), name), text: `the name of a variable must not be empty or contain "="`, aboutKey: true})
		}
		if slices.Contains(agentVariables, name) {
			all = append(all, fault{path: join(t.key("env"), name), text: "is set by nanobot itself", aboutKey: true})
		}
	}
	if blank(t.Cwd) {
		all = append(all, fault{path: t.key("cwd"), text: "must be a folder"})
	}
	for i, folder := range t.MediaRoots {
		if strings.TrimSpace(folder) == "" {
			all = append(all, fault{path: join(t.key("mediaRoots"), strconv.Itoa(i)), text: "must be a folder"})
		}
	}
	return append(all, checkSandbox(t)...)
}

// checkProtocol finds what the protocol of an agent cannot do, and what its own settings find.
func checkProtocol(c *Config, t agentSection) []fault {
	var all []fault
	p := c.extensions.protocol(t.Protocol)
	if !p.SupportsQuestions && t.Interactive {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsQuestions })
		all = append(all, fault{path: t.key("interactive"), cause: t.key("protocol"), text: fmt.Sprintf("needs %s.protocol to be %s", t.name, alternatives(able))})
	}
	if p.Persistent && strings.Contains(t.Command, Placeholder) {
		all = append(all, fault{
			path: t.key("command"), cause: t.key("protocol"),
			text: fmt.Sprintf("must not contain %s, because an agent of %s.protocol %q is started once for many messages", Placeholder, t.name, p.Name),
		})
	}
	// An agent that is not told the envelope cannot be talked on with.
	for name, needs := range map[string]bool{"protocol": p.Persistent, "interactive": t.Interactive} {
		if needs && t.Stdin != "envelope" {
			all = append(all, fault{path: t.key(name), cause: t.key("stdin"), text: fmt.Sprintf(`needs %s.stdin to be "envelope"`, t.name)})
		}
	}
	if at, s := c.protocolScope(t.Terminal, t.path); s != nil {
		all = append(all, faults(at, s.Check(at))...)
	}
	return all
}

// checkInject refuses to hand messages to an agent that takes none while it runs. Only the default
// agent must: the messages of the others are queued then.
func checkInject(c *Config) []fault {
	if c.Gateway.WhileRunning != "inject" {
		return nil
	}
	var all []fault
	if !c.extensions.protocol(c.Terminal.Protocol).SupportsInject {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsInject })
		all = append(all, fault{path: key("gateway.whileRunning"), cause: key("terminal.protocol"), text: "needs terminal.protocol to be " + alternatives(able)})
	}
	if c.Terminal.Stdin != "envelope" {
		all = append(all, fault{path: key("gateway.whileRunning"), cause: key("terminal.stdin"), text: `needs terminal.stdin to be "envelope"`})
	}
	return all
}

func checkChannels(c *Config) []fault {
	var all []fault
	c.eachChannel(func(at Scope, s ChannelSettings) { all = append(all, faults(at, s.Check(at))...) })
	return all
}

// secretShape is what a pasted bot token, or a URL with a password in it, looks like.
var secretShape = regexp.MustCompile(`\d{5,}:[\w-]{10,}|[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}|//[^/]*@`)

// LooksLikeSecret reports whether a value looks like a token, or like a URL with a password in it.
func LooksLikeSecret(value string) bool { return secretShape.MatchString(value) }

const notURL = `must be a URL that begins with "https://" or "http://"`

// IsURL reports whether s is an absolute address of HTTP, or empty, which is the default.
func IsURL(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// CheckURL finds out whether the value of a key of a section is an address of HTTP.
func CheckURL(key, value string) []Problem {
	if IsURL(value) {
		return nil
	}
	return []Problem{{Path: []string{key}, Text: notURL, HideValue: LooksLikeSecret(value)}}
}

func checkProviders(t agentSection) []fault {
	var all []fault
	for name, p := range t.Providers {
		section := join(t.key("providers"), name)
		if name == "" {
			all = append(all, fault{path: section, text: "a provider must have a name", aboutKey: true})
		}
		if !IsURL(p.BaseURL) {
			all = append(all, fault{path: join(section, "baseUrl"), text: notURL})
		}
		for i, apiKey := range p.APIKeys {
			if apiKey == "" {
				all = append(all, fault{path: join(section, "apiKeys", strconv.Itoa(i)), text: "must not be empty"})
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
				all = append(all, fault{path: path, text: fmt.Sprintf("must name something after %q", kind+":")})
			}
		} else if name := shellVariable.FindStringSubmatch(string(s)); name != nil {
			all = append(all, fault{path: path, text: fmt.Sprintf(`is taken as it stands; write "env:%s" for the variable's value`, name[1])})
		} else if strings.ContainsFunc(string(s), isInvisible) && !freeText(path) {
			all = append(all, fault{path: path, text: "must not contain spaces, line ends or invisible characters"})
		}
	})
	return all
}

// shellVariable is how a shell or a Compose file names a variable's value, which nothing replaces
// here.
var shellVariable = regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)

// isInvisible are the characters that come along when a key is copied from a page or a file.
func isInvisible(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
