package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/messageapi"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/hooks"
	"nanobot/gateway/metrics"
	"nanobot/internal/httpd"
	"nanobot/internal/words"
)

// site is the daemon's HTTP server: liveness and readiness, the webhooks of networks, and, for
// people who have signed in, the chat page and the API. Each part works without the others.
type site struct {
	server         *httpd.Server
	public         *http.ServeMux
	authenticated  *http.ServeMux // needs a sign-in or the token
	pages          *http.ServeMux // the pages of channels, which are in authenticated, too
	access         *httpd.Access  // nil if nobody can sign in
	guard          httpd.Guard
	attempts       *httpd.Attempts
	words          *words.Catalogue
	log            *zap.Logger
	metricsServer  *httpd.Server // serves metrics without a token; nil without http.metricsListen
	metricsHandler http.Handler  // of metricsServer
	standby        func() bool   // another member serves requests; without a gateway, none does
}

// siteOptions are the parameters of openSite.
type siteOptions struct {
	cfg      *config.Config
	channels map[string]channels.Channel
	records  httpd.Records
	words    *words.Catalogue
	log      *zap.Logger
}

// openSite listens at the configured addresses, so that the daemon fails early if one is in use.
// Without http.listen it returns nil.
func openSite(ctx context.Context, o siteOptions) (*site, error) {
	cfg, open, log := o.cfg, o.channels, o.log
	s := &site{
		public: http.NewServeMux(), authenticated: http.NewServeMux(), pages: http.NewServeMux(), words: o.words,
		log: log, standby: func() bool { return false },
	}
	webhooks, pages := channelMounts(open)
	if cfg.HTTP.Listen == "" {
		if names := slices.Concat(slices.Collect(maps.Keys(webhooks)), slices.Collect(maps.Keys(pages))); len(names) > 0 {
			return nil, exit.Error{
				Status: exit.Config,
				Err:    fmt.Errorf("http.listen: must be set, because channels.%s needs the HTTP server", slices.Min(names)),
			}
		}
		return nil, nil
	}
	var err error
	if s.server, err = httpd.Listen(ctx, cfg.HTTP.Listen, log); err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	if cfg.HTTP.MetricsListen != "" {
		if s.metricsServer, err = httpd.Listen(ctx, cfg.HTTP.MetricsListen, log); err != nil {
			return nil, errors.Join(fmt.Errorf("http.metricsListen: %w", err), s.server.Close())
		}
	}
	s.guard = httpd.Guard{Listen: s.server.Addr().String(), Hosts: cfg.HTTP.Hosts, Words: o.words}
	s.attempts = httpd.NewAttempts(cfg.HTTP.ProxyNetworks(), nil, log)
	s.attempts.SetWords(o.words)
	s.public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	for _, m := range webhooks {
		s.public.Handle(m.pattern, s.attempts.Watch(m.handler))
	}
	if len(pages) > 0 || cfg.HTTP.Token != "" {
		if err := s.mountSignIn(ctx, o); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for _, m := range pages {
		s.pages.Handle(m.pattern, m.handler)
		s.authenticated.Handle(m.pattern, s.access.Require(httpd.Chat, m.handler))
	}
	for _, ch := range open {
		if h, ok := ch.(channels.Streamer); ok {
			s.server.OnStop(h.CloseStreams)
		}
	}
	return s, nil
}

// mountSignIn adds the sign-in and everything that requires it.
func (s *site) mountSignIn(ctx context.Context, o siteOptions) error {
	token, err := o.cfg.HTTP.RevealToken()
	if err != nil {
		return exit.Error{Status: exit.Config, Err: err}
	}
	if err := httpd.Import(ctx, o.records, o.cfg.Gateway.StateDir); err != nil {
		return err
	}
	if s.access, err = httpd.NewAccess(ctx,
		httpd.Options{Records: o.records, Token: token, Attempts: s.attempts, Words: o.words}); err != nil {
		return err
	}
	s.access.Mount(s.authenticated, o.log)
	s.public.Handle("/", s.guard.Wrap(s.authenticated))
	return nil
}

// handleForOperators adds a handler that only operators may use. If nobody can sign in, it adds
// nothing, because a proxy may make the server public. It must be called before run.
func (s *site) handleForOperators(pattern string, h http.Handler) {
	if s.access != nil {
		s.authenticated.Handle(pattern, s.access.Require(httpd.Operator, h))
	}
}

// mountPosts adds the messages of operators to the chats of every network. A message to a chat that
// is not named by its key, or of somebody else, is for the page.
func (s *site) mountPosts(h http.Handler) {
	s.handleForOperators("POST /api/chats/{id}/sends", h)
	if s.access == nil {
		return
	}
	s.authenticated.Handle("POST /api/chats/{id}/messages",
		s.access.Require(httpd.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, operator := identifyUser(r); operator && messageapi.IsKey(r) {
				h.ServeHTTP(w, r)
				return
			}
			s.pages.ServeHTTP(w, r)
		})))
}

// mountMetrics adds the metrics, which are for operators. A request from localhost proves nothing,
// since a reverse proxy forwards requests of everybody. So only http.metricsListen serves the
// metrics without a token.
func (s *site) mountMetrics(h http.Handler) {
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Metrics need http.token, or a separate address in http.metricsListen.", http.StatusForbidden)
	}))
	if s.access != nil {
		handler = s.access.Require(httpd.Operator, h)
	}
	s.public.Handle("GET /metrics", s.guard.Wrap(handler))
	if s.metricsServer == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		httpd.Guard{Listen: s.metricsServer.Addr().String()}.Wrap(http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request,
		) {
			if !httpd.IsLocal(r) {
				http.Error(w, "http.metricsListen must not be behind a proxy.", http.StatusForbidden)
				return
			}
			h.ServeHTTP(w, r)
		})))
	s.metricsHandler = mux
}

// mountGateway adds readiness, metrics and the operators' API of a gateway. The function that it
// returns publishes events to the channels and must run while the gateway runs.
func (s *site) mountGateway(g *gateway.Gateway, c *console.Console, m *metrics.Metrics,
	open map[string]channels.Channel,
) func(context.Context) {
	s.standby = g.Standby
	health := cachedHealth(g)
	s.public.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text, h := "ready", health()
		if !h.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = strings.Join(append([]string{"not ready"}, h.FailingChannels()...), " ")
			if h.Leader != "" {
				text = "not ready: " + h.Leader + " receives"
			}
		}
		_, _ = io.WriteString(w, text+"\n")
	})
	s.mountMetrics(m.Handler(g))
	s.public.Handle(hooks.Path, s.attempts.Watch(g.HookHandler(m.CountCall)))
	api := c.Handler(g)
	for _, pattern := range []string{
		"/api/turns", "/api/turns/", "/api/undelivered", "/api/schedules", "/api/usage", "/api/health",
	} {
		s.handleForOperators(pattern, api)
	}
	s.mountPosts(messageapi.New(g, pageNetwork, s.log))
	var publishers []channels.Publisher
	for _, ch := range open {
		if p, ok := ch.(channels.Publisher); ok {
			publishers = append(publishers, p)
		}
	}
	c.Watched = func() bool { return slices.ContainsFunc(publishers, channels.Publisher.Watched) }
	return func(ctx context.Context) {
		c.Run(ctx, func(event string, data any) {
			for _, p := range publishers {
				p.Publish(event, data)
			}
		})
	}
}

// cachedHealth returns a function that returns the health of a gateway. It asks at most once a
// second, because the check writes to the disk and anybody may request it.
func cachedHealth(g *gateway.Gateway) func() gateway.Health {
	var mu sync.Mutex
	var checked time.Time
	var h gateway.Health
	return func() gateway.Health {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(checked) > time.Second {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			h, checked = g.Health(ctx), time.Now()
		}
		return h
	}
}

// run serves requests until ctx ends. A nil site serves nothing.
func (s *site) run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	defer s.attempts.Close()
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		if err := s.server.Run(ctx, httpd.Standby(s.words, s.standby, s.public)); err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
		return nil
	})
	if s.metricsServer != nil {
		work.Go(func() error {
			if err := s.metricsServer.Run(ctx, s.metricsHandler); err != nil {
				return fmt.Errorf("http.metricsListen: %w", err)
			}
			return nil
		})
	}
	return work.Wait()
}

// close stops listening. It is for a site whose run is never called.
func (s *site) close() error {
	if s.metricsServer == nil {
		return s.server.Close()
	}
	return errors.Join(s.server.Close(), s.metricsServer.Close())
}

// mount is the HTTP handler of a channel.
type mount struct {
	pattern string
	handler http.Handler
}

// channelMounts returns the handlers of the channels by name: webhooks, whose requests the channel
// authenticates itself, and pages, which require a sign-in.
func channelMounts(open map[string]channels.Channel) (webhooks, pages map[string]mount) {
	webhooks, pages = map[string]mount{}, map[string]mount{}
	for name, ch := range open {
		m, ok := ch.(channels.Mounter)
		if !ok {
			continue
		}
		pattern, h := m.Mount()
		switch {
		case pattern == "":
		case authenticatesRequests(name):
			webhooks[name] = mount{pattern, h}
		default:
			pages[name] = mount{pattern, h}
		}
	}
	return webhooks, pages
}

// authenticatesRequests reports whether a channel authenticates its requests, which come from its
// network. A channel without an access list relies on the sign-in of the HTTP server.
func authenticatesRequests(channel string) bool {
	n, ok := findNetwork(channel)
	return ok && n.HasAccessList()
}
