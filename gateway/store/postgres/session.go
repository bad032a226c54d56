package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parseURL returns how to connect. Errors have nothing of a URL that cannot be parsed, because a
// part of it may be a password.
func (s *state) parseURL(o Options) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(o.URL)
	isURL := strings.HasPrefix(o.URL, "postgres://") || strings.HasPrefix(o.URL, "postgresql://")
	if _, reason, ok := strings.Cut(fmt.Sprint(err), "failed to configure TLS "); err != nil && isURL && ok {
		return nil, fmt.Errorf("cannot use TLS as the URL says: %s", reason)
	}
	if err != nil || !isURL || strings.Contains(o.URL, "#") || strings.Contains(c.ConnConfig.Database, "@") {
		return nil, errors.New("this is not the URL of a PostgreSQL database: write " +
			"postgres://USER@HOST/DATABASE, and the password into gateway.storePassword")
	}
	if o.Password != "" {
		c.ConnConfig.Password = o.Password
	}
	c.MaxConns, c.MinConns, c.MinIdleConns, c.MaxConnIdleTime = maxConns, 0, 0, 30*time.Second
	// A ping would be a second round trip. A call whose connection is lost is repeated anyway.
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	s.setSession(c.ConnConfig)
	return c, nil
}

// openPools prepares the connections. A connection whose call got no answer in time is in its pool
// until the driver has cancelled the call, which takes up to 15 seconds if the network is silent.
// The beats have a pool of their own, with room for that: they go on as soon as the network.
func (s *state) openPools(ctx context.Context, c *pgxpool.Config) (err error) {
	beats := c.Copy()
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return err
	}
	beats.MaxConns = beatConns
	if s.beats, err = pgxpool.NewWithConfig(ctx, beats); err != nil {
		s.pool.Close()
	}
	return err
}

// beatConns is how many tries of beats may be left within the time that the driver needs.
const beatConns = 8

func (s *state) closePools() {
	s.pool.Close()
	s.beats.Close()
}

// setSession sets the parameters of every connection. A dead network or daemon must not hold locks
// for longer than the lease. A statement that waits for a lock ends before the timeout of
// its caller, so that its connection is kept.
func (s *state) setSession(c *pgx.ConnConfig) {
	millis := strconv.FormatInt(s.attempt.Milliseconds()*3/4, 10)
	idle := max(time.Second, s.attempt.Truncate(time.Second))
	for key, value := range map[string]string{
		"search_path":       pgx.Identifier{s.functionSchema()}.Sanitize() + ", " + pgx.Identifier{s.schema}.Sanitize(),
		"statement_timeout": millis, "idle_in_transaction_session_timeout": millis, "tcp_user_timeout": millis,
		"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off",
		"tcp_keepalives_idle": strconv.Itoa(int(idle.Seconds())), "tcp_keepalives_interval": "1", "tcp_keepalives_count": "1",
		"default_transaction_isolation": "read committed", "client_encoding": "UTF8",
		"application_name": "nanobot " + s.member,
	} {
		c.RuntimeParams[key] = value
	}
	c.DialFunc = (&net.Dialer{
		Timeout:         s.attempt,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: idle, Interval: time.Second, Count: 1},
	}).DialContext
	c.ConnectTimeout = s.attempt
	if c.ValidateConnect == nil { // of several hosts, only one can write
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

// checkServer refuses a server on which this package would not work.
func (s *state) checkServer(ctx context.Context) error {
	var version, encoding, path string
	var number int
	ctx, cancel := context.WithTimeout(ctx, s.ttl)
	defer cancel()
	err := s.pool.QueryRow(ctx, `SELECT version(), current_setting('server_version_num')::integer,
		current_setting('server_encoding'), current_setting('search_path')`).Scan(&version, &number, &encoding, &path)
	if err != nil {
		return err
	}
	if path != s.pool.Config().ConnConfig.RuntimeParams["search_path"] {
		return errPooler
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s: create it with ENCODING 'UTF8'", encoding)
	}
	return checkVersion(version, number)
}

// errPooler says that there is a connection pooler that does not keep the settings of sessions.
var errPooler = errors.New("a connection pooler such as PgBouncer answers at this address, " +
	"and it does not keep the settings of a connection: give the address of the PostgreSQL server itself")

// checkVersion refuses versions that are too old, and databases that only look like PostgreSQL.
func checkVersion(version string, number int) error {
	for mark, name := range map[string]string{
		"CockroachDB": "CockroachDB", "-YB-": "YugabyteDB", "Redshift": "Amazon Redshift", "Greenplum": "Greenplum",
		"Materialize": "Materialize", "CrateDB": "CrateDB",
	} {
		if strings.Contains(version, mark) {
			return fmt.Errorf("this is %s, whose advisory locks do not lock: use PostgreSQL %d or newer", name, minVersion)
		}
	}
	if number < minVersion*10000 {
		return fmt.Errorf("this is PostgreSQL %d: use version %d or newer", number/10000, minVersion)
	}
	return nil
}

// minVersion is the oldest version of PostgreSQL that is tested.
const minVersion = 14

// explainError turns an error of the driver into one that says what to do.
func explainError(err error, c *pgx.ConnConfig) error {
	database := c.Database
	if database == "" {
		database = c.User
	}
	var answer *pgconn.PgError
	var failed *pgconn.ConnectError
	switch code := errorCode(err); {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &answer) && strings.Contains(answer.Message, "startup parameter"):
		return errPooler
	case code == "28P01" || code == "28000":
		return fmt.Errorf("PostgreSQL refuses the user %q: check gateway.storePassword, the user and pg_hba.conf: %s",
			c.User, answer.Message)
	case code == "3D000":
		return fmt.Errorf("there is no database %q: create it with `createdb -O %s %s`", database, c.User, database)
	case code == "42501":
		return fmt.Errorf("the user %q has too few rights: have an administrator run GRANT CREATE ON DATABASE %s TO %s: %s",
			c.User, pgx.Identifier{database}.Sanitize(), pgx.Identifier{c.User}.Sanitize(), answer.Message)
	case code != "":
		return fmt.Errorf("PostgreSQL says: %s (%s)", answer.Message, code)
	case errors.As(err, &failed):
		return fmt.Errorf("cannot reach PostgreSQL: check the address, and that the server runs: %s",
			strings.ReplaceAll(failed.Unwrap().Error(), "\n", "; "))
	}
	return err
}
