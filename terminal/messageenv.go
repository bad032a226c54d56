package terminal

import (
	"cmp"
	"strings"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/terminal/process"
)

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
		t.log.Warn("text too long for a variable", zap.String("variable", config.TextVariable), zap.Int("bytes", len(t.req.Text)))
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
