package terminal

import (
	"errors"
	"maps"
	"slices"

	"nanobot/config"
)

// MCPServer is a configured MCP server that the agent is told to use, with its secrets.
type MCPServer struct {
	Name      string
	Transport string // config.MCPStdio, config.MCPHTTP or config.MCPSSE
	Command   string // as it is configured
	Args      []string
	Env       []MCPValue
	URL       string
	Headers   []MCPValue
}

// MCPValue is an environment variable of an MCP server, or a header of the requests to it.
type MCPValue struct{ Name, Value string }

// mcpServers reads the secrets of the servers and returns the servers sorted by name.
func mcpServers(all map[string]config.MCPServer) ([]MCPServer, error) {
	var servers []MCPServer
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		env, err := revealValues(s.Env, "mcpServers", name, "env")
		headers, headersErr := revealValues(s.Headers, "mcpServers", name, "headers")
		failures = append(failures, err, headersErr)
		servers = append(servers, MCPServer{
			Name: name, Transport: s.Transport(), Command: s.Command, Args: s.Args, Env: env, URL: s.URL, Headers: headers,
		})
	}
	return servers, errors.Join(failures...)
}

// revealValues reads the secrets of the map at path and returns them sorted by name.
func revealValues(secrets map[string]config.Secret, path ...string) ([]MCPValue, error) {
	var values []MCPValue
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value, err := secrets[name].RevealAt(append(slices.Clip(path), name)...)
		failures = append(failures, err)
		values = append(values, MCPValue{Name: name, Value: value})
	}
	return values, errors.Join(failures...)
}
