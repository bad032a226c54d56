package config_test

import (
	"encoding/json"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestRevealDecidesByChat(t *testing.T) {
	for _, test := range []struct {
		text      string
		one, many bool
	}{
		{`{}`, true, true},
		{`{"terminal":{"revealErrors":true}}`, true, true},
		{`{"terminal":{"revealErrors":false}}`, false, false},
		{`{"terminal":{"revealErrors":[]}}`, false, false},
		{`{"terminal":{"revealErrors":["1"]}}`, true, false},
		{`{"terminal":{"revealErrors":["telegram:1"]}}`, true, false},
	} {
		r := loadConfig(t, test.text).Terminal.RevealErrors
		if one, many := r.To("1", "telegram:1"), r.To("2", "telegram:2"); one != test.one || many != test.many {
			t.Errorf("%s: %v %v", test.text, one, many)
		}
	}
}

func TestRevealEncodesAsItDecodes(t *testing.T) {
	for _, text := range []string{"true", "false", `["1","telegram:2"]`} {
		var r config.Reveal
		musttest.Do(t, json.Unmarshal([]byte(text), &r))
		if out, err := json.Marshal(r); err != nil || string(out) != text {
			t.Errorf("%s became %s, %v", text, out, err)
		}
	}
	for _, text := range []string{`"true"`, "1", "[1]", "{}"} {
		r := config.Reveal{All: true}
		if err := json.Unmarshal([]byte(text), &r); err == nil || r.All {
			t.Errorf("%s was read as %+v", text, r)
		}
	}
}
