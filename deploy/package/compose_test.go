package packaging_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

type composeService struct {
	Environment map[string]string
	Volumes     []string
	Restart     string
}

func TestTheMembersOfTheComposeFileShareADatabaseAndAWorkspace(t *testing.T) {
	var file struct {
		Services map[string]composeService
		Secrets  map[string]any
		Volumes  map[string]any
	}
	musttest.Do(t, yaml.Unmarshal(musttest.Get(os.ReadFile("compose.yaml"))(t), &file))
	wanttest.EqualSlices(t, "services", slices.Sorted(maps.Keys(file.Services)), []string{"database", "member-a", "member-b"})
	url := postgrestest.URL(t)
	password := filepath.Join(t.TempDir(), "password")
	musttest.Do(t, os.WriteFile(password, []byte("not asked for\n"), 0o600))
	bot := t.TempDir()
	var environ []string
	for _, name := range []string{"member-a", "member-b"} {
		service := file.Services[name]
		wanttest.EqualSlices(t, name+" has the volumes", service.Volumes, []string{"./bot:/bot", name + ":/var/lib/nanobot"})
		if _, declared := file.Volumes[name]; !declared || service.Restart != "always" {
			t.Errorf("%s: its volume or its restart is missing", name)
		}
		environ = containerEnviron(t, bot, t.TempDir())
		for key, value := range service.Environment {
			if key == "NANOBOT_GATEWAY__STORE" {
				value = url
			}
			environ = append(environ, key+"="+strings.Replace(value, "/run/secrets/database", password, 1))
		}
		environ = append(environ, "NANOBOT_GATEWAY__MEMBER__TTL=300") // no pause of the machine ends a lease
		startAsInContainer(t, environ)
	}
	list := exec.Command(filepath.Join(unpack(t), "bin/nanobot"), "members")
	list.Env = environ
	out := musttest.Get(list.CombinedOutput())(t)
	var states []string
	for line := range strings.Lines(string(out)) {
		states = append(states, strings.Join(strings.Fields(line)[:2], " "))
	}
	wanttest.EqualSlices(t, "the members are", states, []string{"NAME STATE", "member-a up", "member-b up"})
}
