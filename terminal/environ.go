package terminal

import (
	"maps"
	"slices"
	"strings"

	"nanobot/config"
)

// isGatewayVariable reports whether a variable is meant for the gateway and hidden from agents.
func isGatewayVariable(name string) bool {
	return strings.HasPrefix(name, "NANOBOT_") || strings.HasPrefix(name, "WATCHDOG_") ||
		name == "NOTIFY_SOCKET" || name == "CREDENTIALS_DIRECTORY"
}

// agentEnviron returns the agent's environment: the parent's without the gateway's variables and
// secrets, then the API keys of providers if configured, then the configured variables.
func agentEnviron(parent []string, secrets []config.Secret, providers map[string]Provider, extra map[string]string) []string {
	names, values := map[string]bool{}, []string{}
	for _, s := range secrets {
		if name := s.EnvName(); name != "" {
			names[name] = true
		}
		// A secret that cannot be read cannot be compared; its own variable is hidden by name.
		if v, err := s.Reveal(); err == nil && v != "" {
			values = append(values, v)
		}
	}
	vars := map[string]string{}
	for _, kv := range parent {
		name, value, _ := strings.Cut(kv, "=")
		containsSecret := func(secret string) bool { return strings.Contains(value, secret) }
		if name != "" && !isGatewayVariable(name) && !names[name] && !slices.ContainsFunc(values, containsSecret) {
			vars[name] = value
		}
	}
	for name, p := range providers {
		if len(p.APIKeys) > 0 {
			vars[variablePrefix(name)+"_API_KEY"] = p.APIKeys[0]
			vars[variablePrefix(name)+"_API_KEYS"] = strings.Join(p.APIKeys, ",")
		}
	}
	maps.Copy(vars, extra)
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// variablePrefix turns a provider's name into the beginning of variable names: my-service becomes
// MY_SERVICE.
func variablePrefix(provider string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(provider))
}

// lookupEnv returns the value of the last variable of this name, or "".
func lookupEnv(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
