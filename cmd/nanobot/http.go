package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/metrics"
	"nanobot/internal/httpd"
)

// site is the one HTTP server and what it serves: whether we are alive and how we are, what
// networks bring to webhooks, and, for those only who were let in, the page and the API.
// Each is there without the others.
type site struct {
	server *httpd.Server
	public *http.ServeMux
	inside *http.ServeMux
	access *httpd.Access // nil: nobody can be let in
	guard  httpd.Guard
	wrong  *httpd.Attempts
	scrape *httpd.Server // serves the metrics without a token; nil: they need it
	open   http.Handler  // what scrape serves
}

// openSite listens, so that an address that is taken is known before anything else begins. Without
// an address it returns nil.
func openSite(ctx context.Context, cfg *config.Config, open map[string]channels.Channel, records httpd.Records, log *zap.Logger) (*site, error) {
	s := &site{public: http.NewServeMux(), inside: http.NewServeMux()}
	outer, inner := mounts(open)
	if cfg.HTTP.Listen == "" {
		if names := slices.Concat(slices.Collect(maps.Keys(outer)), slices.Collect(maps.Keys(inner))); len(names) > 0 {
			return nil, exit.Error{Status: exit.Config, Err: fmt.Errorf("http.listen: must be set, because channels.%s is spoken to over HTTP", slices.Min(names))}
		}
		return nil, nil
	}
	var err error
	if s.server, err = httpd.Listen(ctx, cfg.HTTP.Listen, log); err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if cfg.HTTP.MetricsListen != "" {
		if s.scrape, err = httpd.Listen(ctx, cfg.HTTP.MetricsListen, log); err != nil {
			return nil, errors.Join(fmt.Errorf("http.metricsListen: %w", err), s.server.Close())
		}
	}
	s.guard = httpd.Guard{Listen: s.server.Addr().String(), Hosts: cfg.HTTP.Hosts}
	s.wrong = httpd.NewAttempts(cfg.HTTP.ProxyNetworks(), nil, log)
	s.public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	for _, m := range outer {
		s.public.Handle(m.pattern, s.wrong.Watch(m.handler))
	}
	if len(inner) > 0 || cfg.HTTP.Token != "" {
		if err := s.letIn(ctx, cfg, records, log); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for _, m := range inner {
		s.inside.Handle(m.pattern, s.access.Require(httpd.Chat, m.handler))
	}
	for _, ch := range open {
		if h, ok := ch.(channels.Streamer); ok {
			s.server.OnStop(h.CloseStreams)
		}
	}
	return s, nil
}

// letIn puts up the door that leads inside.
func (s *site) letIn(ctx context.Context, cfg *config.Config, records httpd.Records, log *zap.Logger) error {
	token, err := cfg.HTTP.RevealToken()
	if err != nil {
		return exit.Error{Status: exit.Config, Err: err}
	}
	if err := httpd.Import(ctx, records, cfg.Gateway.StateDir); err != nil {
		return err
	}
	if s.access, err = httpd.NewAccess(ctx, httpd.Options{Records: records, Token: token, Attempts: s.wrong}); err != nil {
		return err
	}
	s.access.Mount(s.inside, log)
	s.public.Handle("/", s.guard.Wrap(s.inside))
	return nil
}

// operators adds something that only operators may use. Where nobody can be let in it is not there:
// what is in front of us may be the whole world's. It must be called before run.
func (s *site) operators(pattern string, h http.Handler) {
	if s.access != nil {
		s.inside.Handle(pattern, s.access.Require(httpd.Operator, h))
	}
}

// measure adds the metrics, which are for operators. A request from this machine is no proof: a
// plain proxy_pass hands on what the whole world asks, as a request of its own. So only an address
// of their own serves them without a token.
func (s *site) measure(h http.Handler) {
	shut := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "metrics need http.token, or an address of their own: http.metricsListen", http.StatusForbidden)
	}))
	if s.access != nil {
		shut = s.access.Require(httpd.Operator, h)
	}
	s.public.Handle("GET /metrics", s.guard.Wrap(shut))
	if s.scrape == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", httpd.Guard{Listen: s.scrape.Addr().String()}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !httpd.IsLocal(r) {
			http.Error(w, "no proxy may stand in front of http.metricsListen", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})))
	s.open = mux
}

// watch lets the operator see what a gateway does. It returns what must run beside it.
func (s *site) watch(g *gateway.Gateway, c *console.Console, m *metrics.Metrics, open map[string]channels.Channel) func(context.Context) {
	well := wellness(g)
	s.public.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !well() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "not ready\n")
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	s.measure(m.Handler(g))
	api := c.Handler(g)
	for _, pattern := range []string{"/api/turns", "/api/turns/", "/api/undelivered", "/api/health"} {
		s.operators(pattern, api)
	}
	var to []channels.Publisher
	for _, ch := range open {
		if p, ok := ch.(channels.Publisher); ok {
			to = append(to, p)
		}
	}
	c.Watched = func() bool { return slices.ContainsFunc(to, channels.Publisher.Watched) }
	return func(ctx context.Context) {
		c.Run(ctx, func(event string, data any) {
			for _, p := range to {
				p.Publish(event, data)
			}
		})
	}
}

// wellness asks a gateway how it is, once a second at most: to find out it writes to the disk, and
// anybody may ask.
func wellness(g *gateway.Gateway) func() bool {
	var mu sync.Mutex
	var asked time.Time
	var ok bool
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(asked) > time.Second {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			ok, asked = g.Health(ctx).OK, time.Now()
		}
		return ok
	}
}

// run serves until ctx ends.
func (s *site) run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	defer s.wrong.Close()
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		if err := s.server.Run(ctx, s.public); err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
		return nil
	})
	if s.scrape != nil {
		work.Go(func() error {
			if err := s.scrape.Run(ctx, s.open); err != nil {
				return fmt.Errorf("http.metricsListen: %w", err)
			}
			return nil
		})
	}
	return work.Wait()
}

// close stops listening, if run was never called.
func (s *site) close() error {
	if s.scrape == nil {
		return s.server.Close()
	}
	return errors.Join(s.server.Close(), s.scrape.Close())
}

// mount is what a channel has served.
type mount struct {
	pattern string
	handler http.Handler
}

// mounts asks the channels what they have served: to their networks, which prove themselves to the
// channel, and to people, who must be let in.
func mounts(open map[string]channels.Channel) (outer, inner map[string]mount) {
	outer, inner = map[string]mount{}, map[string]mount{}
	for name, ch := range open {
		m, ok := ch.(channels.Mounter)
		if !ok {
			continue
		}
		pattern, h := m.Mount()
		switch {
		case pattern == "":
		case provesItself(name):
			outer[name] = mount{pattern, h}
		default:
			inner[name] = mount{pattern, h}
		}
	}
	return outer, inner
}

// provesItself reports whether requests to a channel come from its network, which proves itself to
// the channel. A channel without an access list relies on the HTTP server to let people in.
func provesItself(channel string) bool {
	n, ok := findNetwork(channel)
	return ok && n.HasAccessList()
}
