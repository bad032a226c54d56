package terminal

import (
	"cmp"
	"strings"

	"go.uber.org/zap"

	"nanobot/config"
)

// maxVariable is the longest variable that Linux hands to a program, with its name (MAX_ARG_STRLEN
// less the final NUL).
const maxVariable = 128<<10 - 1

// messageEnv are the variables that tell an agent about the message. What does not fit into limit
// bytes is left out of the text, and a variable says so: the envelope has the whole text.
func (t *turn) messageEnv(limit int) []string {
	text, whole := variable(config.TextVariable, t.req.Text, limit)
	env := append(t.chatEnv(), text)
	if !whole {
		t.log.Warn("text too long for a variable", zap.String("variable", config.TextVariable), zap.Int("bytes", len(t.req.Text)))
		env = append(env, config.TruncatedVariable+"=1")
	}
	var user User
	if t.req.User != nil {
		user = *t.req.User
	}
	id, _ := variable(config.UserIDVariable, user.ID, maxVariable)
	name, _ := variable(config.UserNameVariable, cmp.Or(user.Name, user.Username), maxVariable)
	return append(env, id, name)
}

// chatEnv are the variables that are the same for all messages of a chat.
func (t *turn) chatEnv() []string {
	chat, _ := variable(config.ChatIDVariable, t.req.ChatID, maxVariable)
	dir, _ := variable(config.UserDataDirVariable, t.userDir, maxVariable)
	env := []string{chat, dir}
	if t.req.Token != "" {
		env = append(env, config.TokenVariable+"="+t.req.Token)
	}
	if t.o.Socket != "" {
		env = append(env, config.SocketVariable+"="+t.o.Socket)
	}
	return env
}

// variable is one entry of an environment. No entry can hold a NUL; what is cut off is whole
// characters.
func variable(name, value string, limit int) (entry string, whole bool) {
	entry = name + "=" + strings.ReplaceAll(value, "\x00", "")
	if len(entry) <= max(limit, len(name)+1) {
		return entry, true
	}
	return strings.ToValidUTF8(entry[:max(limit, len(name)+1)], ""), false
}
