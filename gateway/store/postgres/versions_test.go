package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/killtest"
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
// and the others of the next one. Half of the suite runs so, and all of it with NANOBOT_LONG=1.
func TestMembersOfTwoVersionsWorkBesideEachOther(t *testing.T) {
	url := postgrestest.URL(t)
	var opened sync.Map
	var states int
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
		if _, later := opened.LoadOrStore(bot, true); !later {
			if states++; states%2 == 0 && !killtest.IsLong() {
				t.Skip("left out, unless NANOBOT_LONG=1")
			}
		} else {
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

func TestMessagesOfTheTablesBeforeAreFound(t *testing.T) {
	musttest.Do(t, musttest.Get(postgres.Open(ctx, fillOptions(t, postgres.Options{}).WithSteps(3)))(t).Close())
	conn := musttest.Get(pgx.Connect(ctx, postgrestest.URL(t)))(t)
	defer conn.Close(ctx)
	musttest.Get(conn.PgConn().Exec(ctx, "SET search_path = "+schemaOf(t)+`;
		INSERT INTO inbox (id, chat, state, attempt, received, ended, op, incoming) VALUES
		(1, 'net:a', 'done', 1, 10, 10, 0, '{"id":"5","text":"an old question"}'), (2, 'net:a', 'done', 0, 10, 10, 0, '{"text":"/old"}'),
		(3, 'net:a', 'dead', 1, 10, 10, 0, 'no JSON'), (4, 'net:b', 'done', 1, 10, 10, 0, '{"id":"5","text":"old"}'),
		(5, 'net:a', 'done', 1, 10, 10, 0, '{"text":"old \u0000"}');
		INSERT INTO transcript (inbound, n, text, media, at) VALUES (1, 1, 'an old answer', '[]', 10)`).ReadAll())(t)
	s := openMember(t, postgres.Options{})
	found, err := s.Search(ctx, store.SearchFilter{Chat: channels.Chat{Channel: "net", ID: "a"}, Text: "OLD", Limit: 9})
	if err != nil || len(found) != 2 || found[0].Text != "an old answer" || found[1].Text != "an old question" {
		t.Errorf("found %+v, %v", found, err)
	}
	musttest.Do(t, s.Prune(ctx, store.Retention{Age: time.Minute}))
	var left int
	musttest.Do(t, conn.QueryRow(ctx, "SELECT count(*) FROM search").Scan(&left))
	wanttest.Equal(t, "rows of deleted messages:", left, 0)
}
