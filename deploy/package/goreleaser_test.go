package packaging_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"nanobot/internal/musttest"
)

// packageInfo has the fields of both files about the packages. The files have different names for
// the dependencies.
type packageInfo struct {
	Section, Priority, Maintainer, Description, License string
	Depends, Dependencies, Recommends                   []string
	Contents                                            []map[string]any
	Scripts                                             map[string]string
	RPM                                                 map[string]string
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	content := musttest.Get(os.ReadFile(path))(t)
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestAReleaseMakesTheSamePackages(t *testing.T) {
	var ours packageInfo
	readYAML(t, "nfpm.yaml", &ours)
	var release struct{ NFPMs []packageInfo }
	readYAML(t, "goreleaser.yaml", &release)
	if len(release.NFPMs) != 1 {
		t.Fatalf("goreleaser.yaml makes %d sets of packages; want one", len(release.NFPMs))
	}
	theirs := release.NFPMs[0]

	ours.Dependencies, ours.Depends = ours.Depends, nil
	ours.Contents = ours.Contents[1:] // the binary, which goreleaser adds by itself
	for _, entry := range ours.Contents {
		delete(entry, "expand")
		if src, ok := entry["src"].(string); ok {
			entry["src"] = strings.Replace(src, "${STAGE}/root", "bin/package", 1)
		}
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("nfpm.yaml and goreleaser.yaml differ:\n%+v\n%+v", ours, theirs)
	}
}

func TestAReleasesArchiveHasTheSameFiles(t *testing.T) {
	var release struct {
		Archives []struct{ Files []struct{ Src, Dst string } }
	}
	readYAML(t, "goreleaser.yaml", &release)
	if len(release.Archives) != 1 {
		t.Fatalf("goreleaser.yaml makes %d kinds of archives; want one", len(release.Archives))
	}
	for _, place := range []string{"lib/systemd/system", "share/man", "share/doc/nanobot", "share/zsh/site-functions"} {
		if _, err := os.Stat(filepath.Join(unpack(t), place)); err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(release.Archives[0].Files, func(f struct{ Src, Dst string }) bool { return f.Dst != "" && strings.HasPrefix(place, f.Dst) }) {
			t.Errorf("%s is in our archive and not in a release's", place)
		}
	}
}
