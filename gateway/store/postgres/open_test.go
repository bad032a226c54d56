package postgres_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// createRole creates the user weak of the database, who needs a password.
func createRole(t *testing.T) {
	t.Helper()
	c := connect(t)
	var path string
	musttest.Do(t, c.QueryRow(ctx, "SHOW hba_file").Scan(&path))
	rules := musttest.Get(os.ReadFile(path))(t)
	musttest.Do(t, os.WriteFile(path, append([]byte("local all weak scram-sha-256\n"), rules...), 0o600))
	for _, sql := range []string{"DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN PASSWORD 'geheim-7'", "SELECT pg_reload_conf()"} {
		execSQL(t, sql)
	}
}

func TestWhoCannotOpenTheStateIsToldWhatToDo(t *testing.T) {
	url := postgrestest.URL(t)
	createRole(t)
	asWeak := strings.Replace(url, "user=nanobot", "user=weak", 1)
	pooled := postgrestest.NewProxy(t)
	pooled.ActAsPooler()
	const down = "postgres://weak@127.0.0.1:1/db"
	for name, c := range map[string]struct {
		url, password string
		want          []string
	}{
		"no URL":                       {"geheim-7", "", []string{"gateway.store", "postgres://USER@HOST/DATABASE"}},
		"a slash in the password":      {"postgres://weak:geheim-7/x@host/db", "", []string{"gateway.storePassword"}},
		"a number sign, and digits":    {"postgres://weak:77#geheim-7@host/db", "", []string{"gateway.storePassword"}},
		"a slash, and digits":          {"postgres://weak:77/geheim-7@host/db", "", []string{"gateway.storePassword"}},
		"a missing certificate":        {"postgres://weak:geheim-7@h/db?sslmode=verify-full&sslrootcert=/none/ca", "", []string{"TLS", "/none/ca"}},
		"the wrong password":           {asWeak, "geheim-8", []string{`user "weak"`, "gateway.storePassword"}},
		"the wrong password in a URL":  {asWeak + "&password=geheim-8", "", []string{`user "weak"`, "gateway.storePassword"}},
		"no such user":                 {strings.Replace(url, "user=nanobot", "user=nobody", 1), "", []string{`user "nobody"`}},
		"no such database":             {strings.Replace(url, "/postgres?", "/none?", 1), "", []string{"createdb -O nanobot none"}},
		"a server that is down":        {down, "geheim-7", []string{"cannot reach PostgreSQL", "127.0.0.1:1", "that the server runs"}},
		"no right to create a schema":  {asWeak, "geheim-7", []string{`GRANT CREATE ON DATABASE "postgres" TO "weak"`}},
		"a pooler that drops settings": {pooled.URL(), "", []string{"PgBouncer", "the PostgreSQL server itself"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := postgres.Open(ctx, fillOptions(t, postgres.Options{URL: c.url, Password: c.password}))
			if err == nil {
				t.Fatal("the state was opened")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "77") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestDatabasesWhoseLocksDoNotLockAreRefusedByName(t *testing.T) {
	for version, want := range map[string]string{
		"PostgreSQL 15.6 (Debian 15.6-0+deb12u1) on x86_64-pc-linux-gnu": "",
		"CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)":                  "CockroachDB",
		"PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu":          "YugabyteDB",
	} {
		err := postgres.CheckVersion(version, 150002)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", version, err)
		}
	}
	err := postgres.CheckVersion("PostgreSQL 13.4", 130004)
	wanttest.Equal(t, "an old version:", fmt.Sprint(err), "this is PostgreSQL 13: use version 14 or newer")
}

func TestMembersThatOpenAnEmptyDatabaseAtTheSameTimeAllSucceed(t *testing.T) {
	var group errgroup.Group
	bot := rand.Text() + "-Ü \""
	for n := range 4 {
		group.Go(func() error {
			s, err := postgres.Open(ctx, fillOptions(t, postgres.Options{Name: fmt.Sprint(n), Bot: bot}))
			if err != nil {
				return err
			}
			return errors.Join(s.Remember(ctx, channels.Chat{Channel: "net", ID: "a"}, "k", "v"), s.Close())
		})
	}
	musttest.Do(t, group.Wait())
}

func TestASchemaThatIsNewerThanTheProgramIsRefused(t *testing.T) {
	first := openMember(t, postgres.Options{})
	execSQL(t, "UPDATE version SET n = 99")
	_, err := postgres.Open(ctx, fillOptions(t, postgres.Options{Name: "two"}))
	if err == nil || !strings.Contains(err.Error(), "has version 99") || !strings.Contains(err.Error(), "install a newer nanobot") {
		t.Errorf("got %v", err)
	}
	musttest.Do(t, first.Remember(ctx, channels.Chat{Channel: "net", ID: "a"}, "k", "v")) // it goes on
}

func TestFunctionsAreCreatedWhereOtherVersionsHaveOthers(t *testing.T) {
	first := openMember(t, postgres.Options{})
	old, gone := strings.Replace(schemaOf(t), "nanobot_", "nanobotaaaaaa_", 1), strings.Replace(schemaOf(t), "nanobot_", "nanobotbbbbbb_", 1)
	ours := postgres.FunctionsOf(schemaOf(t))
	execSQL(t, fmt.Sprintf(`ALTER SCHEMA %q RENAME TO %q; CREATE SCHEMA %q; UPDATE member SET functions = '%[2]s'`, ours, old, gone))
	second := openMember(t, postgres.Options{Name: "two"})
	musttest.Do(t, second.Remember(ctx, chat, "k", "v"))
	for schema, want := range map[string]bool{ours: true, old: true, gone: false} { // the first member still needs the old ones
		var there bool
		musttest.Do(t, connect(t).QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there))
		wanttest.Equal(t, schema, there, want)
	}
	_ = first
}

func TestACommandDoesNotCreateAState(t *testing.T) {
	for range 2 {
		if _, err := postgres.Open(ctx, fillOptions(t, postgres.Options{Command: true})); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAMemberGoesOnAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	postgrestest.Require(t)
	server := musttest.Get(postgrestest.Start())(t)
	t.Cleanup(server.Stop)
	s := openMember(t, fillOptions(t, postgres.Options{URL: server.URL()}).WithAttempt(5*time.Second)) // also the longest pause between tries
	chat := channels.Chat{Channel: "net", ID: "a"}
	for n := range 3 {
		var group errgroup.Group
		for w := range 8 { // several connections
			group.Go(func() error { return s.Remember(ctx, chat, fmt.Sprint(w), fmt.Sprint(n)) })
		}
		musttest.Do(t, group.Wait())
		server.Kill()
		group.Go(func() error { return s.Remember(ctx, chat, "during", fmt.Sprint(n)) })
		musttest.Do(t, server.Run())
		musttest.Do(t, group.Wait())
	}
	wanttest.Equal(t, "what was remembered", musttest.Get(s.Recall(ctx, chat, "during"))(t), "2")
}

func TestEverySessionEndsBeforeTheLease(t *testing.T) {
	s := openMember(t, postgres.Options{})
	execSQL(t, `CREATE FUNCTION settings(c operation, a jsonb) RETURNS text LANGUAGE sql AS $$
		SELECT to_json(string_agg(name || '=' || setting, ' ' ORDER BY name))
		FROM pg_settings WHERE source = 'client' AND name ~ '^tcp_|^statement_timeout|^idle_in_transaction_session' $$`)
	var settings string
	musttest.Do(t, s.Call(ctx, "settings", "net:a", false, &settings))
	// A connection through a Unix socket shows 0 for the settings of TCP.
	const millis = "45000" // three quarters of a fifth of the lease
	wanttest.Equal(t, "the settings of a session", settings, "idle_in_transaction_session_timeout="+millis+" statement_timeout="+millis+" "+
		"tcp_keepalives_count=0 tcp_keepalives_idle=0 tcp_keepalives_interval=0 tcp_user_timeout=0")
	o := postgres.Options{URL: postgrestest.URL(t), Bot: "b", TTL: ttl}
	beside := musttest.Get(postgres.ConnConfig(o))(t).RuntimeParams
	wanttest.Equal(t, "its limit beside the state", beside["idle_in_transaction_session_timeout"], millis)
}

func TestOfSeveralHostsTheOneThatCanWriteIsUsed(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	standby := musttest.Get(postgrestest.Start("default_transaction_read_only=on"))(t)
	t.Cleanup(standby.Stop)
	s := openMember(t, postgres.Options{URL: strings.Replace(url, "&host=", "&host="+standby.Dir+",", 1)})
	musttest.Do(t, s.Remember(ctx, chat, "k", "v"))
	_, err := postgres.Open(ctx, fillOptions(t, postgres.Options{URL: standby.URL()}))
	if err == nil || !strings.Contains(err.Error(), "cannot reach PostgreSQL") || !strings.Contains(err.Error(), "read only") {
		t.Errorf("a standby alone: got %v", err)
	}
}

func TestAMemberLeavesAServerThatNoLongerWrites(t *testing.T) {
	s := openMember(t, postgres.Options{})
	musttest.Do(t, s.Remember(ctx, chat, "k", "1"))
	execSQL(t, `CREATE FUNCTION refuse(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			IF pg_backend_pid() = (SELECT value::integer FROM memory WHERE key = 'standby') THEN
				RAISE EXCEPTION USING ERRCODE = 'read_only_sql_transaction';
			END IF;
			RETURN 'true';
		END $$`)
	execSQL(t, "INSERT INTO memory (chat, key, value) SELECT '', 'standby', pid FROM pg_stat_activity "+
		"WHERE query LIKE '%change(%' AND application_name = 'nanobot "+s.Member()+"'")
	var changed bool
	musttest.Do(t, s.Call(ctx, "refuse", "net:a", false, &changed)) // on another connection
	wanttest.Equal(t, "it was changed", changed, true)
}

func TestAMemberThatWaitsForALeaseSaysSoOnceAlthoughTheServerIsSlow(t *testing.T) {
	first := openMember(t, postgres.Options{})
	proxy := postgrestest.NewProxy(t)
	var requests, told atomic.Int32
	const tries, label = 4, "slow" // how many tries to become a member end before others are made
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if bytes.Contains(request, []byte(`"`+label+`"`)) {
			if n := requests.Add(1); 1 < n && n <= 1+tries {
				return postgrestest.Silent
			}
		}
		return postgrestest.Pass
	})
	second := fillOptions(t, postgres.Options{
		URL: proxy.URL(), TTL: time.Second, Waiting: func(time.Duration) { told.Add(1) },
		Info: store.MemberInfo{Labels: []string{label}},
	})
	var group errgroup.Group
	group.Go(func() error {
		s, err := postgres.Open(ctx, second)
		if err == nil {
			proxy.Deliver() // otherwise Close would wait for the tries
			err = s.Close()
		}
		return err
	})
	waitUntil(t, "it goes on after the slow answers", func() bool { return requests.Load() > 1+tries })
	musttest.Do(t, first.Close())
	musttest.Do(t, group.Wait())
	wanttest.Equal(t, "how often it says that it waits", told.Load(), 1)
}

func TestAServerThatIsSlowAtTheStartIsWaitedFor(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	var first, last atomic.Int32
	const slow, tries = 2, 4 // how many tries to become a member end before others are made
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if first.Add(1) <= slow || bytes.Contains(request, []byte("SELECT open_member")) && last.Add(1) <= tries {
			return postgrestest.Silent
		}
		return postgrestest.Pass
	})
	openMember(t, postgres.Options{URL: proxy.URL(), TTL: time.Second})
	proxy.Deliver() // otherwise Close would wait for the tries
	if first.Load() <= slow || last.Load() <= tries {
		t.Error("the server answered at once")
	}
}
