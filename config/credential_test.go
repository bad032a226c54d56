package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestACredentialIsReadFromTheBotsFolderOfCredentials(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"bot": "none", "bot_telegram": "from the folder\n", "openai": "by itself\n"} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for ref, want := range map[config.Secret]string{"cred:telegram": "from the folder", "cred:openai": "by itself"} {
		if got, err := ref.Reveal(); err != nil || got != want {
			t.Errorf("%s: %q, %v", string(ref), got, err)
		}
	}
	if got, err := config.Secret("cred:discord").Reveal(); err == nil {
		t.Errorf("what is not there is %q", got)
	}
}
