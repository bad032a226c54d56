package terminal

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/terminal/process"
)

// isGatewayVariable reports whether a variable is meant for the gateway and hidden from agents.
func isGatewayVariable(name string) bool {
	return strings.HasPrefix(name, "NANOBOT_") || strings.HasPrefix(name, "WATCHDOG_") ||
		name == "NOTIFY_SOCKET" || name == "CREDENTIALS_DIRECTORY"
}

// agentEnviron returns the agent's environment: the parent's without the gateway's variables and
// secrets, then the API keys of providers if configured, then the configured variables.
func agentEnviron(parent []string, secrets []config.Secret, providers map[string]Provider,
	extra map[string]string,
) []string {
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

// maxVariable is the longest environment entry that Linux passes to a program (MAX_ARG_STRLEN
// without the final NUL).
const maxVariable = 128<<10 - 1

// messageEnv returns the variables of the message. If the text variable exceeds limit bytes it is
// cut, and another variable says so: the envelope has the whole text.
// Processes that could be started before the message have none of them.
func (t *turn) messageEnv(limit int) []string {
	if t.o.Warm {
		return t.chatEnv()
	}
	text, whole := envEntry(config.TextVariable, t.req.Text, limit)
	env := append(t.chatEnv(), text)
	if !whole {
		t.log.Warn("text too long for a variable", zap.String("variable", config.TextVariable),
			zap.Int("bytes", len(t.req.Text)))
		env = append(env, config.TruncatedVariable+"=1")
	}
	var user User
	if t.req.User != nil {
		user = *t.req.User
	}
	id, _ := envEntry(config.UserIDVariable, user.ID, maxVariable)
	name, _ := envEntry(config.UserNameVariable, cmp.Or(user.Name, user.Username), maxVariable)
	return append(env, id, name)
}

// chatEnv returns the variables that are the same for all messages of a chat.
func (t *turn) chatEnv() []string {
	chat, _ := envEntry(config.ChatIDVariable, t.req.ChatID, maxVariable)
	dir, _ := envEntry(config.UserDataDirVariable, t.userDir, maxVariable)
	env := []string{chat, dir}
	if t.req.Token != "" {
		env = append(env, config.TokenVariable+"="+t.req.Token)
	}
	return append(env, t.socketEnv()...)
}

func (r *Runner) socketEnv() []string {
	if r.o.Socket == "" {
		return nil
	}
	return []string{config.SocketVariable + "=" + r.o.Socket}
}

// markEnv returns the variable by which a process is found after a crash of the daemon.
func (t *turn) markEnv() []string {
	if t.o.Warm {
		return process.GatewayEnv(t.req.GatewayName)
	}
	return process.RunEnv(t.req.RunName)
}

// envEntry returns one entry of an environment, without NULs and cut at whole characters. whole is
// false if it was cut.
func envEntry(name, value string, limit int) (entry string, whole bool) {
	entry = name + "=" + strings.ReplaceAll(value, "\x00", "")
	if len(entry) <= max(limit, len(name)+1) {
		return entry, true
	}
	return strings.ToValidUTF8(entry[:max(limit, len(name)+1)], ""), false
}
