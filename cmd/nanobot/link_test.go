package main

import (
	"testing"

	"nanobot/cmd/nanobot/access"
	"nanobot/config"
)

func TestALinkHasTheAddressOfTheWebChat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen string
		hosts  []string
		want   string
	}{
		{"127.0.0.1:8080", nil, "http://127.0.0.1:8080"},
		{"[::1]:8080", nil, "http://[::1]:8080"},
		{"localhost:8080", nil, "http://localhost:8080"},
		{":8080", nil, "http://127.0.0.1:8080"},
		{"0.0.0.0:8080", nil, "http://127.0.0.1:8080"},
		{"[::]:8080", nil, "http://127.0.0.1:8080"},
		{"192.0.2.7:80", nil, "http://192.0.2.7:80"},
		{"127.0.0.1:8080", []string{"bot.example.com", "other.example"}, "https://bot.example.com"},
		{"0.0.0.0:8080", []string{"nas.example"}, "http://nas.example:8080"},
	} {
		if got, err := access.Address(config.HTTP{Listen: c.listen, Hosts: c.hosts}); got != c.want || err != nil {
			t.Errorf("%s %v: %s, %v", c.listen, c.hosts, got, err)
		}
	}
}
