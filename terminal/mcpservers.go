package terminal

import (
	"fmt"
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
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		env, err := revealValues(s.Env)
		if err != nil {
			return nil, fmt.Errorf("terminal.mcpServers.%s.env.%w", name, err)
		}
		headers, err := revealValues(s.Headers)
		if err != nil {
			return nil, fmt.Errorf("terminal.mcpServers.%s.headers.%w", name, err)
		}
		servers = append(servers, MCPServer{
			Name: name, Transport: s.Transport(), Command: s.Command, Args: s.Args, Env: env, URL: s.URL, Headers: headers,
		})
	}
	return servers, nil
}

// revealValues reads the secrets of a map and returns them sorted by name.
func revealValues(secrets map[string]config.Secret) ([]MCPValue, error) {
	var values []MCPValue
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value, err := secrets[name].Reveal()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values = append(values, MCPValue{Name: name, Value: value})
	}
	return values, nil
}
