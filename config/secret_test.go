package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nanobot/channels/discord"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const canary = "CANARY7kq"

func TestASecretNeverPrints(t *testing.T) {
	secret := config.Secret(canary)
	nested := struct {
		Token config.Secret
		Keys  []config.Secret
		Named map[string]config.Secret
		Ptr   *config.Secret
	}{secret, []config.Secret{secret}, map[string]config.Secret{"a": secret}, &secret}
	whole := extensions().Default()
	telegramSettings(&whole).Token = secret
	whole.Terminal.Providers = map[string]config.Provider{"a": {APIKeys: []config.Secret{secret}}}
	whole.Terminal.MCPServers = map[string]config.MCPServer{"a": {Env: map[string]config.Secret{"A": secret}, Headers: map[string]config.Secret{"B": secret}}}
	for _, value := range []any{secret, &secret, nested, &nested, whole, &whole} {
		// Without %p, which ignores Format methods and which go vet rejects.
		for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x", "%X", "%d", "%t", "%T", "%!", "%30v"} {
			out := fmt.Sprintf(verb, value)
			if strings.Contains(out, canary) || strings.Contains(strings.ToLower(out), fmt.Sprintf("%x", canary)) {
				t.Errorf("%s of %T shows it: %s", verb, value, out)
			}
		}
		if out, err := json.Marshal(value); err != nil || strings.Contains(string(out), canary) {
			t.Errorf("JSON of %T shows it: %s, %v", value, out, err)
		}
	}
	wanttest.Equal(t, "prints as", fmt.Sprint(secret), "[secret]")
	wanttest.Equal(t, "an unset one prints as", fmt.Sprint(config.Secret("")), "")
}

func TestAReferenceIsFollowed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"good": " value\n", "empty": "\n"} {
		musttest.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(folder), "outside"), []byte(canary), 0o600))
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	t.Setenv("SECRET_GOOD", "value\n")
	t.Setenv("SECRET_EMPTY", "")
	for secret, want := range map[string]string{ // an error begins with !
		"plain":                     "plain",
		"123:abc":                   "123:abc",
		"":                          "",
		"File:x":                    "File:x",
		"env:SECRET_GOOD":           "value",
		"env:SECRET_EMPTY":          "!environment variable SECRET_EMPTY is not set",
		"env:SECRET_MISSING":        "!environment variable SECRET_MISSING is not set",
		"env:":                      "!environment variable",
		"file:" + folder + "/good":  "value",
		"file:" + folder + "/no":    "!read secret: open " + folder + "/no: no such file",
		"file:" + folder:            "!read secret: read " + folder + ": is a directory",
		"file:" + folder + "/empty": "!read secret: " + folder + "/empty is empty",
		"file:":                     "!read secret",
		"cred:good":                 "value",
		"cred:empty":                "!read secret",
		"cred:missing":              "!read secret",
		"cred:":                     "!systemd credential",
		"cred:.":                    "!systemd credential",
		"cred:..":                   "!systemd credential",
		"cred:../outside":           `!systemd credential "../outside": must be a plain name`,
		"cred:/etc/passwd":          "!systemd credential",
		"cred:a/b":                  "!systemd credential",
	} {
		got, err := config.Secret(secret).Reveal()
		if err != nil {
			got = "!" + err.Error()
		}
		if got != want && (err == nil || want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %q, want %q", secret, got, want)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if got, err := config.Secret("cred:good").Reveal(); err == nil || !strings.Contains(err.Error(), "CREDENTIALS_DIRECTORY is not set") {
		t.Errorf("without systemd: %q, %v", got, err)
	}
}

func TestOnlyAnEnvReferenceNamesAVariable(t *testing.T) {
	for secret, want := range map[config.Secret]string{"env:A": "A", "file:A": "", "A": "", "": "", "env:": ""} {
		if got := secret.EnvName(); got != want {
			t.Errorf("%q: %q", string(secret), got)
		}
	}
}

func TestSecretsToHideAreThoseThatAreSet(t *testing.T) {
	c := extensions().Default()
	if got := c.SecretsToHide(); len(got) != 0 {
		t.Errorf("%d by default", len(got))
	}
	c.Terminal.Providers["a"] = config.Provider{APIKeys: []config.Secret{"provider"}}
	telegramSettings(&c).Token, c.Channels[discord.Name].(*discord.Settings).Token, c.HTTP.Token = "one", "env:TWO", "three"
	if got := c.SecretsToHide(); !reflect.DeepEqual(got, []config.Secret{"env:TWO", "one", "three"}) {
		t.Errorf("%#q", got)
	}
}
