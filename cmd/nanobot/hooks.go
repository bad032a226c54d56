package main

import (
	"errors"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/hooks"
)

// newHooks makes the hooks of a config: it reads their secrets and parses their templates. The
// error has the mistakes of all hooks.
func newHooks(cfg *config.Config) (map[string]hooks.Hook, error) {
	all := map[string]hooks.Hook{}
	var failures []error
	for name, c := range cfg.Hooks {
		h, err := newHook(c)
		all[name] = h
		failures = append(failures, cfg.Locate(err, "hooks", name))
	}
	return all, errors.Join(failures...)
}

func newHook(c *config.Hook) (hooks.Hook, error) {
	chat, _ := channels.ParseChat(c.Chat) // config has checked it
	h := hooks.Hook{
		Auth: hooks.Auth(c.EffectiveAuth()), Header: c.Header, Chat: chat, Agent: c.Agent, MaxBody: c.BodyLimit(),
	}
	secret, err := c.RevealSecret("secret")
	h.Secret = config.Secret(secret)
	text, readErr := c.ReadTemplate("template")
	if err = errors.Join(err, readErr); err != nil || text == "" {
		return h, err
	}
	if h.Template, err = hooks.ParseTemplate(text); err != nil {
		return h, config.Problem{Path: []string{"template"}, Text: "does not parse: " + err.Error(), HideValue: true}
	}
	return h, nil
}
