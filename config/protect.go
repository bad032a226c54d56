package config

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// checkProtect reports patterns of terminal.protect that would match no file, and patterns of
// agents whose protocol does not write files through nanobot.
func checkProtect(c *Config, t agentSection) []Problem {
	var all []Problem
	if len(t.Protect) > 0 && !c.extensions.protocol(t.Protocol).SupportsProtect {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsProtect })
		all = append(all, Problem{
			Path: t.keyPath("protect"), Cause: t.keyPath("protocol"),
			Text: fmt.Sprintf("needs %s.protocol to be %s", t.dottedKey, quotedAlternatives(able)),
		})
	}
	for i, pattern := range t.Protect {
		if problem := protectMistake(pattern); problem != "" {
			all = append(all, Problem{Path: joinPath(t.keyPath("protect"), strconv.Itoa(i)), Text: problem})
		}
	}
	return all
}

// protectMistake returns why a pattern of terminal.protect is invalid, or "".
func protectMistake(pattern string) string {
	_, err := path.Match(pattern, "")
	switch {
	case strings.TrimSpace(pattern) == "":
		return "must be a name or a relative path, such as Makefile or ci/*.sh"
	case path.IsAbs(pattern), strings.HasPrefix(pattern, "~/"):
		return "must be relative; it applies at any depth of the agent's folders"
	case err != nil:
		return `is no pattern: a [ has no ], or nothing follows a \`
	case strings.Contains(pattern, "**"):
		return "must not contain **; a pattern applies at any depth, and a folder includes all its files"
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(pattern, "/"), "/") {
		if part == "" || strings.TrimRight(part, ". ") != part {
			return "must not have an empty name, . or .., nor a dot or a space at the end of a name"
		}
	}
	return ""
}
