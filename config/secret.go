package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Secret is a value that must never be printed, or a reference to one: file:/path, env:NAME or
// cred:NAME. It prints as [secret]. Reveal resolves a reference only when the value is needed, so
// that other commands work without access to the secret.
//
// Package fmt cannot call methods on unexported fields, so a Secret must be in an exported field.
type Secret string

// String hides the value from logs and messages.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// Format hides the value from every verb of fmt. For a wrong verb such as %d, fmt would print the
// value in its error.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the value and resolves a reference. The error never contains the value.
func (s Secret) Reveal() (string, error) {
	switch kind, name := s.reference(); kind {
	case "file":
		return readSecretFile(name)
	case "env":
		v := strings.TrimSpace(os.Getenv(name))
		if v == "" {
			return "", fmt.Errorf("environment variable %s is not set; set it for the daemon, or write "+
				`"file:/path" to read the secret from a file`, name)
		}
		return v, nil
	case "cred":
		return readCredential(name)
	}
	return string(s), nil
}

// RevealAt returns the value like Reveal. Its error is a Problem of the key at path.
func (s Secret) RevealAt(path ...string) (string, error) {
	v, err := s.Reveal()
	if err != nil {
		return "", Problem{Path: path, Text: err.Error()}
	}
	return v, nil
}

// EnvName returns the name of the variable in an env: reference, or "".
func (s Secret) EnvName() string {
	if kind, name := s.reference(); kind == "env" {
		return name
	}
	return ""
}

// IsReference reports whether the secret is a reference and not a literal value.
func (s Secret) IsReference() bool { kind, _ := s.reference(); return kind != "" }

// reference splits a reference into kind and name. kind is "" for a literal value.
func (s Secret) reference() (kind, name string) {
	kind, name, found := strings.Cut(string(s), ":")
	if found && (kind == "file" || kind == "env" || kind == "cred") {
		return kind, name
	}
	return "", ""
}

// SecretsToHide returns the secrets of the channels, the HTTP server, the hooks and the other
// agents. They must not reach the agent in Terminal and are removed from output.
func (c *Config) SecretsToHide() []Secret {
	var all []Secret
	for _, s := range slices.Concat(secretsIn(c.Channels), secretsIn(c.HTTP), secretsIn(c.Hooks)) {
		if s != "" {
			all = append(all, s)
		}
	}
	return append(all, c.otherAgentSecrets()...)
}

// Secrets returns all secrets, those of agents included.
func (c *Config) Secrets() []Secret { return secretsIn(c) }

// SecretFiles returns the paths of all file: references. These files must not be sent to chats.
func (c *Config) SecretFiles() []string {
	var all []string
	for _, s := range secretsIn(c) {
		if kind, name := s.reference(); kind == "file" {
			all = append(all, name)
		}
	}
	return all
}

// NeedsCredentials reports whether a secret of the agent is a systemd credential.
func (t *Terminal) NeedsCredentials() bool { return needsCredential(t) }

// needsCredential reports whether a section has a secret that is a systemd credential.
func needsCredential(section any) bool { return slices.ContainsFunc(secretsIn(section), isCredential) }

func isCredential(s Secret) bool { kind, _ := s.reference(); return kind == "cred" }

// WithoutCredentials returns the part of the configuration that can be used outside of the systemd
// service, where there are no credentials: secrets that are credentials, and channels and hooks
// that need one, are left out. Inside the service it returns c.
func (c *Config) WithoutCredentials() *Config {
	if os.Getenv("CREDENTIALS_DIRECTORY") != "" {
		return c
	}
	part := *c
	part.Channels = maps.Clone(c.Channels)
	maps.DeleteFunc(part.Channels, func(_ string, settings ChannelSettings) bool { return needsCredential(settings) })
	if isCredential(part.HTTP.Token) {
		part.HTTP.Token = ""
	}
	if isCredential(part.Gateway.StorePassword) {
		part.Gateway.StorePassword = ""
	}
	part.Hooks = maps.Clone(c.Hooks)
	maps.DeleteFunc(part.Hooks, func(_ string, h *Hook) bool { return needsCredential(h) })
	part.Terminal = c.Terminal.withoutCredentials()
	part.Agents = Agents{}
	for name, t := range c.Agents {
		rest := t.withoutCredentials()
		part.Agents[name] = &rest
	}
	return &part
}

// withoutCredentials returns a copy of the section without the provider keys that are credentials,
// and without the MCP servers that need one.
func (t *Terminal) withoutCredentials() Terminal {
	rest := *t
	rest.Providers = map[string]Provider{}
	for name, p := range t.Providers {
		p.APIKeys = slices.DeleteFunc(slices.Clone(p.APIKeys), isCredential)
		rest.Providers[name] = p
	}
	rest.MCPServers = maps.Clone(t.MCPServers)
	maps.DeleteFunc(rest.MCPServers, func(_ string, server MCPServer) bool { return needsCredential(server) })
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
	if imported := filepath.Join(dir, credentialFolder+"_"+name); fileExists(imported) {
		return readSecretFile(imported)
	}
	return readSecretFile(filepath.Join(dir, name))
}

// credentialFolder is the ID of the folder of credentials in nanobot's systemd units. systemd
// prefixes the name of each file in it with this ID.
const credentialFolder = "bot"

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readSecretFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w; put it there, readable for the daemon's user", err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return "", fmt.Errorf("read secret: %s is empty; put it there", path)
	}
	return v, nil
}
