package packaging_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// about is what both files say of the packages; each has its own word for the dependencies.
type about struct {
	Section, Priority, Maintainer, Description, License string
	Depends, Dependencies, Recommends                   []string
	Contents                                            []map[string]any
	Scripts                                             map[string]string
	RPM                                                 map[string]string
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestAReleaseMakesTheSamePackages(t *testing.T) {
	var ours about
	readYAML(t, "nfpm.yaml", &ours)
	var release struct{ NFPMs []about }
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
