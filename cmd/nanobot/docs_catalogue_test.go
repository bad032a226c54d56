package main

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
)

func TestTheConfigKnowsTheLanguagesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	schema := musttest.Get(config.Schema(extensions()))(t)
	for _, l := range words.Languages() {
		if !strings.Contains(string(schema), fmt.Sprintf("%q", string(l))) {
			t.Errorf("gateway.language does not accept %q", l)
		}
	}
}
