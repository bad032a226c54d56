package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// nextStep is a migration that adds to all tables.
const nextStep = `
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
		EXECUTE format('ALTER TABLE %I ADD COLUMN next text NOT NULL DEFAULT %L', name, 'new');
	END LOOP;
END $$;
CREATE TABLE next (a text);
`

// TestMembersOfTwoVersionsWorkBesideEachOther has the first member of each state be of this version
// and the others of the next one.
func TestMembersOfTwoVersionsWorkBesideEachOther(t *testing.T) {
	url := postgrestest.URL(t)
	var opened sync.Map
	storetest.RunMembers(t, func(t *testing.T, o storetest.Options) store.Store {
		dir := sha256.Sum256([]byte("versions " + o.Dir))
		bot, name := hex.EncodeToString(dir[:8]), "one"
		if o.Live != "" {
			name = o.Live
		} else if o.Beside {
			name = "two"
		}
		options := postgres.Options{
			URL: url, Bot: bot, Name: name, TTL: ttl, Dir: filepath.Join(o.Dir, name), Spool: filepath.Join(o.Dir, "spool"), Now: o.Now,
		}
		if _, later := opened.LoadOrStore(bot, true); later {
			options = options.WithNext(nextStep)
		}
		s := musttest.Get(postgres.Open(ctx, options))(t)
		if o.Beside {
			return adopter{s}
		}
		return s
	})
}

func TestAMemberOfTheVersionBeforeGoesOnAndCannotStartAgain(t *testing.T) {
	chat := channels.Chat{Channel: "net", ID: "a"}
	old := openMember(t, postgres.Options{})
	musttest.Do(t, old.Remember(ctx, chat, "before", "1"))
	newer := openMember(t, fillOptions(t, postgres.Options{Name: "two"}).WithNext(nextStep))
	musttest.Do(t, old.Remember(ctx, chat, "behind", "2"))
	musttest.Do(t, newer.Remember(ctx, chat, "newer", "3"))
	for _, s := range []*postgres.Store{old, newer} {
		for key, want := range map[string]string{"before": "1", "behind": "2", "newer": "3"} {
			wanttest.Equal(t, key, musttest.Get(s.Recall(ctx, chat, key))(t), want)
		}
	}
	wanttest.Equal(t, "the older one finds", getBeat(t, old, true).Others, true)
	_, err := postgres.Open(ctx, fillOptions(t, postgres.Options{Name: "three"}))
	if !regexp.MustCompile(`has version \d+, but this nanobot knows only \d+: install a newer nanobot`).MatchString(fmt.Sprint(err)) {
		t.Errorf("got %v", err)
	}
}
