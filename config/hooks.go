package config

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// Hook configures POST /hooks/NAME.
type Hook struct {
	Secret   Secret `json:"secret" jsonschema:"required" jsonschema_description:"Secret of the caller: at least 16 characters."`
	Auth     string `json:"auth,omitempty" jsonschema:"enum=bearer,enum=github,enum=stripe,enum=hmac" jsonschema_description:"How the caller proves to know it: by Authorization: Bearer SECRET, as GitHub or Stripe sign, or by the body's hex HMAC-SHA256. Default: bearer."`
	Header   string `json:"header,omitempty" jsonschema_description:"Header with that HMAC, such as X-Signature. Required with auth hmac."`
	Chat     string `json:"chat" jsonschema:"required" jsonschema_description:"The chat that gets the message, such as telegram:123456."`
	Template string `json:"template,omitempty" jsonschema_description:"The message, as a Go template or file:PATH. Default: the body in a block of code."`
	Agent    string `json:"agent,omitempty" jsonschema_description:"The agent that works on the text. Empty: the text goes to the chat."`
	MaxBody  int    `json:"maxBody,omitempty" unit:"bytes" jsonschema:"minimum=1,maximum=67108864" jsonschema_description:"Largest body in bytes. Default: 1048576."`
}

// Values of Hook.Auth.
const (
	HookBearer = "bearer"
	HookHMAC   = "hmac"
)

const defaultMaxBody = 1 << 20

// EffectiveAuth returns the kind of authentication.
func (h *Hook) EffectiveAuth() string { return cmp.Or(h.Auth, HookBearer) }

// BodyLimit returns the maximum size of a body in bytes.
func (h *Hook) BodyLimit() int64 { return int64(cmp.Or(h.MaxBody, defaultMaxBody)) }

// RevealSecret returns the secret of the hook at path. The length of a referenced secret is checked
// here, as that of http.token is.
func (h *Hook) RevealSecret(path ...string) (string, error) {
	secret, err := h.Secret.RevealAt(path...)
	if err == nil && len(secret) < minTokenLength {
		return "", Problem{Path: path, Text: shortTokenText}
	}
	return secret, err
}

// TemplateFile returns the path of the template's file, or "" if there is none.
func (h *Hook) TemplateFile() string {
	path, _ := strings.CutPrefix(h.Template, templateFilePrefix)
	if path == h.Template {
		return ""
	}
	return path
}

const templateFilePrefix = "file:"

// ReadTemplate returns the text of the template; "" if there is none. Its error is a Problem of the
// key at path.
func (h *Hook) ReadTemplate(path ...string) (string, error) {
	file := h.TemplateFile()
	if file == "" {
		return h.Template, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", Problem{Path: path, Text: err.Error() + "; put the template there, readable for the daemon's user"}
	}
	return string(text), nil
}

func checkHooks(c *Config) []Problem {
	var all []Problem
	if len(c.Hooks) > 0 && c.HTTP.Listen == "" {
		all = append(all, Problem{
			Path: splitKey("http.listen"), Cause: splitKey("hooks"), Text: "must be set, because there are hooks",
		})
	}
	for name, h := range c.Hooks {
		path := []string{"hooks", name}
		all = append(all, checkOriginName(path, "a hook's name")...)
		all = append(all, below(path, h.check(c))...)
	}
	return all
}

// check returns the problems of a hook. Their paths are relative to the hook.
func (h *Hook) check(c *Config) []Problem {
	var all []Problem
	switch isHMAC := h.Auth == HookHMAC; {
	case isHMAC && h.Header == "":
		all = append(all, Problem{Path: splitKey("header"), Cause: splitKey("auth"), Text: `must be set, because auth is "hmac"`})
	case !isHMAC && h.Header != "":
		all = append(all, Problem{Path: splitKey("header"), Text: `is only for auth "hmac"`})
	case isHMAC && (strings.ContainsFunc(h.Header, isInvisible) || strings.Contains(h.Header, ":")):
		all = append(all, Problem{Path: splitKey("header"), Text: `must be the name of a header, such as "X-Signature"`})
	}
	if !h.Secret.IsReference() && len(h.Secret) < minTokenLength {
		all = append(all, Problem{Path: splitKey("secret"), Text: shortTokenText})
	}
	all = slices.Concat(all, c.checkChat(splitKey("chat"), h.Chat), c.checkAgentName(splitKey("agent"), h.Agent))
	if isBlank(strings.TrimPrefix(h.Template+" ", templateFilePrefix)) && h.Template != "" {
		all = append(all, Problem{Path: splitKey("template"), Text: "must not be blank"})
	}
	return all
}
