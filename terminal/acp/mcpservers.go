package acp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/config"
	"nanobot/terminal"
)

// ownServer is the name of the gateway's own MCP server.
const ownServer = "nanobot"

// namedValue is an environment variable or an HTTP header in the protocol's form.
type namedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// stdioServer is an MCP server that the agent starts.
type stdioServer struct {
	Name    string       `json:"name"`
	Command string       `json:"command"` // the protocol requires an absolute path
	Args    []string     `json:"args"`
	Env     []namedValue `json:"env"`
}

// remoteServer is an MCP server with a URL.
type remoteServer struct {
	Type    string       `json:"type"`
	Name    string       `json:"name"`
	URL     string       `json:"url"`
	Headers []namedValue `json:"headers"`
}

// mcpServers returns the MCP servers for a new session: the configured servers whose transport the
// agent supports, and the gateway's own unless the configuration has one of that name.
func (a *agent) mcpServers(env terminal.ExecEnv) []any {
	servers := []any{}
	for _, s := range env.MCPServers {
		switch can := a.initResponse.Capabilities.MCP; {
		case s.Transport == config.MCPStdio:
			servers = append(servers, stdioServer{
				Name: s.Name, Command: programPath(s.Command, env),
				Args: append([]string{}, s.Args...), Env: toNamedValues(s.Env),
			})
		case s.Transport == config.MCPHTTP && bool(can.HTTP), s.Transport == config.MCPSSE && bool(can.SSE):
			servers = append(servers, remoteServer{
				Type: s.Transport, Name: s.Name, URL: s.URL,
				Headers: toNamedValues(s.Headers),
			})
		default:
			a.Log("warning", fmt.Sprintf("the agent does not support MCP servers of type %s, so %s is left out", s.Transport,
				s.Name))
		}
	}
	if slices.ContainsFunc(env.MCPServers, func(s terminal.MCPServer) bool { return s.Name == ownServer }) {
		return servers
	}
	if own, ok := gatewayServer(env.Env); ok {
		if name := a.quirks.askTool; name != "" {
			own.Args = append(own.Args, "--ask-tool", name)
		}
		servers = append(servers, own)
	}
	return servers
}

// gatewayServer returns the MCP server that gives the agent access to its chat; false if the
// gateway serves no tools.
func gatewayServer(env []string) (stdioServer, bool) {
	program, err := os.Executable()
	if err != nil || lookupEnv(env, config.SocketVariable) == "" {
		return stdioServer{}, false
	}
	s := stdioServer{Name: ownServer, Command: program, Args: []string{"mcp"}, Env: []namedValue{}}
	// Some agents do not pass their own environment on to MCP servers.
	for _, name := range []string{config.SocketVariable, config.TokenVariable} {
		if value := lookupEnv(env, name); value != "" {
			s.Env = append(s.Env, namedValue{name, value})
		}
	}
	return s, true
}

// programPath returns the absolute path of a program in the agent's PATH. A name that is not found
// is returned unchanged.
func programPath(name string, env terminal.ExecEnv) string {
	if strings.ContainsRune(name, filepath.Separator) {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(env.Dir, name)
	}
	for _, dir := range filepath.SplitList(lookupEnv(env.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return name
}

// lookupEnv returns the value of a variable, or "". The last assignment counts.
func lookupEnv(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// toNamedValues converts values to the protocol's form.
func toNamedValues(values []terminal.MCPValue) []namedValue {
	all := make([]namedValue, 0, len(values))
	for _, v := range values {
		all = append(all, namedValue(v))
	}
	return all
}
