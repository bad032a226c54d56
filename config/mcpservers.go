package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Transports of MCP servers.
const (
	MCPStdio = "stdio"
	MCPHTTP  = "http"
	MCPSSE   = "sse"
)

// MCPServer is an MCP server that an agent is told to use: a command that the agent starts, or a
// URL. Other programs use the same JSON format.
type MCPServer struct {
	Type    string            `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=sse" jsonschema_description:"How it is reached. Default: stdio with a command, http with a url."`
	Command string            `json:"command,omitempty" jsonschema_description:"The program, started without a shell."`
	Args    []string          `json:"args,omitempty" jsonschema_description:"Its arguments."`
	Env     map[string]Secret `json:"env,omitempty" jsonschema_description:"Its environment; values may be references to secrets."`
	URL     string            `json:"url,omitempty" jsonschema_description:"Address of a server of type http or sse."`
	Headers map[string]Secret `json:"headers,omitempty" jsonschema_description:"HTTP headers; values may be references to secrets."`
}

// Transport returns MCPStdio, MCPHTTP or MCPSSE.
func (s MCPServer) Transport() string {
	if s.Type == "" && s.Command == "" && s.URL != "" {
		return MCPHTTP
	}
	return cmp.Or(s.Type, MCPStdio)
}

// checkMCPServers reports servers that an agent could not start or reach, and servers of agents
// whose protocol does not support MCP.
func checkMCPServers(c *Config, t agentSection) []Problem {
	var all []Problem
	if len(t.MCPServers) > 0 && !c.extensions.protocol(t.Protocol).SupportsMCP {
		able := c.extensions.protocolNames(func(p Protocol) bool { return p.SupportsMCP })
		all = append(all, Problem{
			Path: t.keyPath("mcpServers"), Cause: t.keyPath("protocol"),
			Text: fmt.Sprintf("needs %s.protocol to be %s", t.dottedKey, quotedAlternatives(able)),
		})
	}
	for name, server := range t.MCPServers {
		path := joinPath(t.keyPath("mcpServers"), name)
		if strings.TrimSpace(name) == "" {
			all = append(all, Problem{Path: path, Text: "an MCP server must have a name", AboutKey: true})
		}
		all = append(all, below(path, server.check())...)
	}
	return all
}

// check returns the problems of a server. Their paths are relative to the server.
func (s MCPServer) check() []Problem {
	if s.Transport() == MCPStdio {
		return s.checkCommand()
	}
	var all []Problem
	switch {
	case s.Command != "":
		all = append(all, Problem{
			Path: splitKey("command"),
			Text: fmt.Sprintf("is only for servers of type %q; this server has type %q", MCPStdio, s.Type),
		})
	case s.URL == "":
		all = append(all, Problem{
			Path: splitKey("url"),
			Text: fmt.Sprintf("must be set, because the server has type %q", s.Type), missing: true,
		})
	case !IsURL(s.URL):
		all = append(all, Problem{Path: splitKey("url"), Text: invalidURLText})
	}
	if len(s.Env) > 0 || len(s.Args) > 0 {
		all = append(all, Problem{
			Path: splitKey("command"), Text: "must be set, because args and env need a command",
			missing: true,
		})
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsFunc(name, isInvisible) || strings.Contains(name, ":") {
			all = append(all, Problem{
				Path: []string{"headers", name},
				Text: `a header name must not be empty or contain spaces or ":"`, AboutKey: true,
			})
		}
		if strings.ContainsAny(string(value), "\r\n") {
			all = append(all, Problem{Path: []string{"headers", name}, Text: "must not contain line breaks"})
		}
	}
	return all
}

func (s MCPServer) checkCommand() []Problem {
	var all []Problem
	switch {
	case s.Command == "" && s.Type == "" && s.URL == "":
		all = append(all, Problem{Path: splitKey("command"), Text: "must be set, unless the server has a url", missing: true})
	case s.Command == "":
		all = append(all, Problem{
			Path: splitKey("command"),
			Text: fmt.Sprintf("must be set, because the server has type %q", MCPStdio), missing: true,
		})
	case isBlank(s.Command):
		all = append(all, Problem{Path: splitKey("command"), Text: "must not be blank"})
	}
	if s.Command != "" && (s.URL != "" || len(s.Headers) > 0) {
		all = append(all, Problem{Path: splitKey("command"), Text: "must not be set together with url or headers"})
	}
	for name := range s.Env {
		if name == "" || strings.Contains(name, "=") {
			all = append(all, Problem{
				Path: []string{"env", name}, Text: `a variable name must not be empty or contain "="`,
				AboutKey: true,
			})
		}
	}
	return all
}

// mayContainSpaces reports whether the secret at path may contain spaces: a header such as "Bearer
// KEY", or an environment variable of an MCP server.
func mayContainSpaces(path []string) bool {
	return len(path) > 1 && slices.Contains([]string{"env", "headers"}, path[len(path)-2])
}
