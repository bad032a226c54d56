package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Secret is a value that must never be shown: the value itself, or a reference to where it is kept
// (file:/path, env:NAME, cred:NAME). It prints as [secret] and is resolved where it is used, so
// that a command that does not need it works where it cannot be read.
//
// Package fmt cannot call methods of unexported fields: keep a Secret in an exported one.
type Secret string

// String hides the value from logs and messages.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// Format hides the value from every verb of fmt, also from wrong ones such as %d, which would
// otherwise print it while complaining.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the value, following a reference. The error never contains the value.
func (s Secret) Reveal() (string, error) {
	switch kind, name := s.reference(); kind {
	case "file":
		return readSecret(name)
	case "env":
		v := strings.TrimSpace(os.Getenv(name))
		if v == "" {
			return "", fmt.Errorf("environment variable %s is not set", name)
		}
		return v, nil
	case "cred":
		return readCredential(name)
	}
	return string(s), nil
}

// EnvName returns the environment variable that an env: reference names, or "".
func (s Secret) EnvName() string {
	if kind, name := s.reference(); kind == "env" {
		return name
	}
	return ""
}

// IsReference reports whether the secret says where the value is, and is not the value itself.
func (s Secret) IsReference() bool { kind, _ := s.reference(); return kind != "" }

// reference splits a reference; the kind is "" when the secret is the value itself.
func (s Secret) reference() (kind, name string) {
	kind, name, found := strings.Cut(string(s), ":")
	if found && (kind == "file" || kind == "env" || kind == "cred") {
		return kind, name
	}
	return "", ""
}

// SecretsToHide returns the secrets of the channels, of the HTTP server and of the other agents that
// are set, so that they can be kept from the agent of terminal and scrubbed from output.
func (c *Config) SecretsToHide() []Secret {
	var all []Secret
	for _, section := range []any{c.Channels, c.HTTP} {
		secrets(reflect.ValueOf(section), nil, func(_ []string, v reflect.Value) {
			if s := v.Interface().(Secret); s != "" {
				all = append(all, s)
			}
		})
	}
	return append(all, c.otherSecrets()...)
}

// SecretFiles returns the files that secrets are kept in, so that they can be kept from chats.
func (c *Config) SecretFiles() []string {
	var all []string
	secrets(reflect.ValueOf(c).Elem(), nil, func(_ []string, v reflect.Value) {
		if kind, name := v.Interface().(Secret).reference(); kind == "file" {
			all = append(all, name)
		}
	})
	return all
}

// NeedsCredentials reports whether the agent is given a secret that systemd hands to a service.
func (t *Terminal) NeedsCredentials() (needs bool) {
	secrets(reflect.ValueOf(t).Elem(), nil, func(_ []string, v reflect.Value) {
		kind, _ := v.Interface().(Secret).reference()
		needs = needs || kind == "cred"
	})
	return needs
}

// WithoutCredentials returns the configuration as far as it can be checked outside the service that
// systemd hands credentials to: without the secrets that are credentials, and without the channels
// that need one. Where there are credentials it is the whole configuration.
func (c *Config) WithoutCredentials() *Config {
	if os.Getenv("CREDENTIALS_DIRECTORY") != "" {
		return c
	}
	credential := func(s Secret) bool { kind, _ := s.reference(); return kind == "cred" }
	part := *c
	part.Channels = maps.Clone(c.Channels)
	for name, settings := range c.Channels {
		secrets(reflect.ValueOf(settings), nil, func(_ []string, v reflect.Value) {
			if credential(v.Interface().(Secret)) {
				delete(part.Channels, name)
			}
		})
	}
	if credential(part.HTTP.Token) {
		part.HTTP.Token = ""
	}
	part.Terminal = c.Terminal.without(credential)
	part.Agents = Agents{}
	for name, t := range c.Agents {
		rest := t.without(credential)
		part.Agents[name] = &rest
	}
	return &part
}

// without returns the section without some of the keys of its providers, and without the MCP
// servers that need such a secret.
func (t *Terminal) without(some func(Secret) bool) Terminal {
	rest := *t
	rest.Providers = map[string]Provider{}
	for name, p := range t.Providers {
		p.APIKeys = slices.DeleteFunc(slices.Clone(p.APIKeys), some)
		rest.Providers[name] = p
	}
	rest.MCPServers = map[string]MCPServer{}
	for name, server := range t.MCPServers {
		needs := false
		secrets(reflect.ValueOf(server), nil, func(_ []string, v reflect.Value) { needs = needs || some(v.Interface().(Secret)) })
		if !needs {
			rest.MCPServers[name] = server
		}
	}
	return rest
}

func readCredential(name string) (string, error) {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", fmt.Errorf("systemd credential %s: CREDENTIALS_DIRECTORY is not set (not started by systemd?)", name)
	}
	if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
		return "", fmt.Errorf("systemd credential %q: must be a plain name", name)
	}
	if imported := filepath.Join(dir, credentialFolder+"_"+name); exists(imported) {
		return readSecret(imported)
	}
	return readSecret(filepath.Join(dir, name))
}

// credentialFolder is what our units call the bot's folder of credentials. systemd puts this before
// the name of each file in it.
const credentialFolder = "bot"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return "", fmt.Errorf("read secret: %s is empty", path)
	}
	return v, nil
}
