package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/placeholder"
)

// checkCombinations reports values that are valid by themselves, but cannot work together.
func checkCombinations(c *Config) []Problem {
	all := slices.Concat(checkFolders(c), checkRunbooks(c), checkAgents(c), checkChannels(c), checkHTTP(c), checkHooks(c),
		checkSecrets(c))
	for _, agent := range c.agentSections() {
		all = slices.Concat(all, checkTerminal(agent), checkProtocol(c, agent), checkProviders(agent),
			checkMCPServers(c, agent))
		all = append(all, checkProtect(c, agent)...)
		all = append(all, checkApprovers(c, agent.keyPath("approvers"), agent.Approvers)...)
	}
	return slices.Concat(all, checkInject(c), checkWords(c), checkSchedules(c), checkRoutes(c), checkRoles(c),
		checkQuotas(c), checkStore(c))
}

// checkWords reports texts of gateway.words that do not exist or cannot be used.
func checkWords(c *Config) []Problem {
	var all []Problem
	known := c.extensions.Words
	for name := range c.Gateway.Words {
		at := joinPath(splitKey("gateway.words"), name)
		key, _, _ := strings.Cut(name, ".")
		if !slices.Contains(known.Keys, key) {
			all = append(all, Problem{
				Path: at, Text: `there is no text of this name; "nanobot words" lists them`,
				Hint: suggest(key, known.Keys), AboutKey: true,
			})
		} else if problem := known.Check(name, c.Gateway.Words); problem != "" {
			all = append(all, Problem{Path: at, Text: problem})
		}
	}
	return all
}

// splitKey splits a dotted key that contains no quoted names.
func splitKey(dotted string) []string { return strings.Split(dotted, ".") }

// checkFolders checks the folders that all agents share.
func checkFolders(c *Config) []Problem {
	var all []Problem
	for name, path := range map[string]string{
		"workspace": c.Workspace, "gateway.stateDir": c.Gateway.StateDir, "gateway.record": c.Gateway.Record,
	} {
		if isBlank(path) {
			all = append(all, Problem{Path: splitKey(name), Text: "must be the path of a folder"})
		}
	}
	return all
}

// isBlank reports whether a string is not empty, but has only white space.
func isBlank(s string) bool { return s != "" && strings.TrimSpace(s) == "" }

func checkTerminal(t agentSection) []Problem {
	var all []Problem
	switch {
	case isBlank(t.Command):
		all = append(all, Problem{Path: t.keyPath("command"), Text: "must not be blank"})
	case t.Command == "" && t.Enabled != nil && *t.Enabled:
		all = append(all, Problem{
			Path: t.keyPath("command"), Cause: t.keyPath("enabled"),
			Text: fmt.Sprintf("must be set, because %s.enabled is true", t.dottedKey),
		})
	default:
		if _, err := placeholder.Parse(t.Shell, t.Command); err != nil {
			all = append(all, Problem{Path: t.keyPath("command"), Text: err.Error()})
		}
	}
	for name := range t.Env {
		if name == "" || strings.Contains(name, "=") {
			all = append(all, Problem{
				Path: joinPath(t.keyPath("env"), name),
				Text: `a variable name must not be empty or contain "="`, AboutKey: true,
			})
		}
		if slices.Contains(agentVariables, name) {
			all = append(all, Problem{
				Path: joinPath(t.keyPath("env"), name),
				Text: "is set by nanobot itself; choose another name", AboutKey: true,
			})
		}
	}
	if isBlank(t.Cwd) {
		all = append(all, Problem{Path: t.keyPath("cwd"), Text: "must be the path of a folder"})
	}
	for i, folder := range t.MediaRoots {
		if strings.TrimSpace(folder) == "" {
			all = append(all, Problem{
				Path: joinPath(t.keyPath("mediaRoots"), strconv.Itoa(i)),
				Text: "must be the path of a folder",
			})
		}
	}
	return slices.Concat(all, checkWarm(t), checkSandbox(t), checkHear(t))
}

// checkProtocol reports settings that the agent's protocol does not support, and the problems that
// the protocol finds in its own section.
func checkProtocol(c *Config, t agentSection) []Problem {
	var all []Problem
	p := c.extensions.protocol(t.Protocol)
	if !p.SupportsQuestions && t.Interactive {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsQuestions })
		all = append(all, Problem{
			Path: t.keyPath("interactive"), Cause: t.keyPath("protocol"),
			Text: fmt.Sprintf("needs %s.protocol to be %s", t.dottedKey, quotedAlternatives(able)),
		})
	}
	if !p.SupportsFormat && t.Format != "" {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsFormat })
		all = append(all, Problem{
			Path: t.keyPath("format"), Cause: t.keyPath("protocol"),
			Text: fmt.Sprintf("needs %s.protocol to be %s", t.dottedKey, quotedAlternatives(able)),
		})
	}
	if p.Persistent && strings.Contains(t.Command, placeholder.Message) {
		all = append(all, Problem{
			Path: t.keyPath("command"), Cause: t.keyPath("protocol"),
			Text: fmt.Sprintf("must not contain %s, because with %s.protocol %q one process works on many messages",
				placeholder.Message, t.dottedKey, p.Name),
		})
	}
	// Questions and messages to a running agent are lines on stdin, like the envelope.
	for name, needs := range map[string]bool{"protocol": p.Persistent, "interactive": t.Interactive} {
		if needs && t.Stdin != "envelope" {
			all = append(all, Problem{
				Path: t.keyPath(name), Cause: t.keyPath("stdin"),
				Text: fmt.Sprintf(`needs %s.stdin to be "envelope"`, t.dottedKey),
			})
		}
	}
	if at, s := c.protocolScope(t.Terminal, t.path); s != nil {
		all = append(all, below(at.path, s.Check(at))...)
	}
	return all
}

// checkInject requires that the default agent accepts messages during a turn if
// gateway.whileRunning is "inject". Messages to other agents are queued if they do not accept them.
func checkInject(c *Config) []Problem {
	if c.Gateway.WhileRunning != "inject" {
		return nil
	}
	var all []Problem
	if !c.extensions.protocol(c.Terminal.Protocol).SupportsInject {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsInject })
		all = append(all, Problem{
			Path: splitKey("gateway.whileRunning"), Cause: splitKey("terminal.protocol"),
			Text: "needs terminal.protocol to be " + quotedAlternatives(able),
		})
	}
	if c.Terminal.Stdin != "envelope" {
		all = append(all, Problem{
			Path: splitKey("gateway.whileRunning"), Cause: splitKey("terminal.stdin"),
			Text: `needs terminal.stdin to be "envelope"`,
		})
	}
	return all
}

func checkChannels(c *Config) []Problem {
	var all []Problem
	c.eachChannel(func(at Scope, s ChannelSettings) { all = append(all, below(at.path, s.Check(at))...) })
	return append(all, checkAccounts(c)...)
}

// secretPattern matches bot tokens of Telegram and Discord, and URLs with a password.
var secretPattern = lazyregexp.New(`\d{5,}:[\w-]{10,}|[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}|//[^/]*@`)

// LooksLikeSecret reports whether a value looks like a bot token or like a URL with a password.
func LooksLikeSecret(value string) bool { return secretPattern().MatchString(value) }

const invalidURLText = `must be a URL that begins with "https://" or "http://"`

// IsURL reports whether s is an absolute HTTP or HTTPS URL, or empty, which stands for the default.
func IsURL(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// CheckURL returns a problem if the value of a key is not a URL in the sense of IsURL.
func CheckURL(key, value string) []Problem {
	if IsURL(value) {
		return nil
	}
	return []Problem{{Path: []string{key}, Text: invalidURLText, HideValue: LooksLikeSecret(value)}}
}

func checkProviders(t agentSection) []Problem {
	var all []Problem
	for name, p := range t.Providers {
		section := joinPath(t.keyPath("providers"), name)
		if name == "" {
			all = append(all, Problem{Path: section, Text: "a provider must have a name", AboutKey: true})
		}
		if !IsURL(p.BaseURL) {
			all = append(all, Problem{Path: joinPath(section, "baseUrl"), Text: invalidURLText})
		}
		for i, apiKey := range p.APIKeys {
			if apiKey == "" {
				all = append(all, Problem{Path: joinPath(section, "apiKeys", strconv.Itoa(i)), Text: "must not be empty"})
			}
		}
	}
	return all
}

func checkSecrets(c *Config) []Problem {
	var all []Problem
	walkSecrets(reflect.ValueOf(c).Elem(), nil, func(path []string, v reflect.Value) {
		s := v.Interface().(Secret)
		if path[0] == "channels" {
			path = joinPath(c.ChannelPath(path[1]), path[2:]...)
		}
		if kind, name := s.reference(); kind != "" {
			if strings.TrimSpace(name) == "" {
				noun := map[string]string{"file": "a path", "env": "a variable name", "cred": "a credential name"}[kind]
				all = append(all, Problem{Path: path, Text: fmt.Sprintf("must have %s after %q", noun, kind+":")})
			}
		} else if name := shellVariable().FindStringSubmatch(string(s)); name != nil {
			all = append(all, Problem{
				Path: path,
				Text: fmt.Sprintf(`would be used literally; write "env:%s" to use the value of the variable`, name[1]),
			})
		} else if strings.ContainsFunc(string(s), isInvisible) && !mayContainSpaces(path) {
			all = append(all, Problem{Path: path, Text: "must not contain spaces, line breaks or invisible characters"})
		}
	})
	return all
}

// shellVariable matches $NAME and ${NAME}, which a shell or a Compose file would expand. nanobot
// does not expand them.
var shellVariable = lazyregexp.New(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)

// isInvisible reports white space and unprintable characters, which are often copied along with a
// key.
func isInvisible(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
