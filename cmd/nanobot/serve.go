package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/recording"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/events"
	"nanobot/gateway/metrics"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/peersocket"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newServe(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the daemon, with all enabled channels",
		Long: `Serve answers messages on all enabled channels until it is stopped. After SIGTERM, running turns may finish.
SIGHUP reloads the config. Channels except their access lists, http, secrets, the workspace, the store, the member,
audit, log.format and gateway.maxConcurrent need a restart. If the new config has a mistake, the old one stays in use.`,
		Example: "  nanobot serve --config /etc/nanobot/mybot/config.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), configPath(path), std)
		},
	}
	addConfigFlag(cmd, &path)
	return cmd
}

func serve(ctx context.Context, path string, std stdio) error {
	if path == "" {
		path = "config.json"
	}
	cfg, err := loadConfig(path)
	if err != nil {
		return err
	}
	d := daemon{cfg: cfg, lists: allowedByConfig(cfg), supervisor: process.NewSupervisor(process.SupervisorOptions{
		IdleCgroups: cfg.Gateway.MaxConcurrent,
	})}
	defer d.supervisor.Close()
	tuneGarbageCollector()
	d.log, d.level = newDaemonLog(std.err, cfg.Log)
	d.ready = func(*site) { logLinkCommand(cfg, d.log) }
	d.reload = func(g *gateway.Gateway, h agentHost, db stateStore) error {
		return d.reloadFrom(func() (*config.Config, error) { return loadConfig(path) }, g, h, db)
	}
	return d.run(ctx)
}

// daemon is the running program of serve, web, dev and demo.
type daemon struct {
	cfg        *config.Config
	log        *zap.Logger
	level      zap.AtomicLevel
	reload     func(*gateway.Gateway, agentHost, stateStore) error // called at SIGHUP; nil: SIGHUP ends the daemon
	ready      func(*site)                                         // called once the daemon is ready
	supervisor *process.Supervisor
	lists      map[string][]string                     // who may talk on each channel, as it was last configured
	extend     func(daemonParts) func(context.Context) // adds to the site, and returns what runs beside the gateway
}

// daemonParts are the parts of a daemon that is about to run.
type daemonParts struct {
	gateway *gateway.Gateway
	host    agentHost
	store   stateStore
	open    map[string]channels.Channel
	site    *site
}

// run answers messages on all enabled channels until it is stopped.
func (d daemon) run(ctx context.Context) (err error) {
	d.logWarnings()
	socket := d.openSocket()
	defer closeSocket(socket)
	recorder := recording.New(d.log)
	h := agentHost{supervisor: d.supervisor, socket: socketPath(socket), record: recordTurns(recorder)}
	var (
		g     *gateway.Gateway
		page  *site
		watch func(context.Context)
	)
	files := dbfile.NewWatch()
	settings, open, err := prepare(d.cfg, prepareOptions{
		h, func(channel, user string) bool { return g.IsAdmitted(channel, user) }, signIns{&page}, files, d.log,
	})
	if err != nil {
		return err
	}
	if len(open) == 0 {
		return exit.Error{Status: exit.Config, Err: errNoChannel}
	}
	ctx, stop := untilSignal(ctx, d.endSignals()...)
	defer stop()
	db, err := d.openState(ctx, files)
	if err != nil {
		return err
	}
	lost := make(chan struct{})
	defer func() { err = errors.Join(err, closeStore(db)) }()
	defer announceSocket(d.cfg.Gateway.StateDir, socket, d.log)()
	defer func() { err = errors.Join(err, closeChannels(open)) }()
	page, err = openSite(ctx, siteOptions{d.cfg, open, db, words.New(settings.Words), d.log})
	if err != nil {
		return err
	}
	defer announcePage(d.cfg, page, d.log)()
	auditLog, err := openAudit(d.cfg, false, d.log)
	if err != nil {
		return err
	}
	defer auditLog.Close()
	options := d.gatewayOptions(open, db, lost)
	options.Settings, options.Audit, options.Record = settings, auditLog.Write, recorder
	g, watch = d.newGateway(options, h, db, page)
	sd := &notifier{log: d.log}
	d.logStart(len(open))
	work, ctx := errgroup.WithContext(ctx)
	defer d.reloadOnHangup(ctx, sd, g, func(g *gateway.Gateway) error { return d.reload(g, h, db) })()
	work.Go(func() error { return d.announceEnd(ctx, sd, g) })
	// The web page is served until the turns are drained, so that people see their output.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	work.Go(func() error { return page.run(serving) })
	work.Go(func() error { watch(serving); return nil })
	work.Go(func() error { sd.run(ctx, g); return nil })
	work.Go(func() error { return d.watchState(ctx, files) })
	work.Go(func() error {
		defer stopServing()
		return g.Run(ctx, func() {
			d.log.Info("ready")
			sd.ready(ctx, g)
			d.ready(page)
			work.Go(func() error { d.verifyState(ctx, files); return nil })
			work.Go(func() error { return d.serveTools(serving, socket, g, options) })
		})
	})
	err = d.wait(work, files, lost)
	sd.stopping(g)
	d.log.Info("stopped", zap.Error(err))
	return state.Explain(d.cfg, err)
}

func (d daemon) logStart(channels int) {
	d.log.Info(d.supervisor.Describe())
	d.log.Info("starting", zap.String("version", version), zap.String("config", d.cfg.File()),
		zap.Int("channels", channels))
}

// gatewayOptions returns the options of the gateway, without those that have files of their own.
// lost is closed when the lease was lost.
func (d daemon) gatewayOptions(open map[string]channels.Channel, db store.Store, lost chan struct{}) gateway.Options {
	return gateway.Options{
		Channels: open, Store: db, MaxConcurrent: d.cfg.Gateway.MaxConcurrent, Log: d.log, PruneFiles: d.pruneFiles(db),
		Labels: d.cfg.Gateway.Member.Labels, Lost: func() { d.loseLease(); close(lost) },
	}
}

// logWarnings logs what is probably not intended in the config.
func (d daemon) logWarnings() {
	for _, w := range d.cfg.Warnings() {
		d.log.Warn(w)
	}
}

// openState opens the state, and warns of accounts that are in it and not in the config.
func (d daemon) openState(ctx context.Context, files *dbfile.Watch) (stateStore, error) {
	db, err := openWatched(ctx, d.cfg, sqlite.Options{Watch: files}, d.log)
	if err != nil {
		return nil, err
	}
	warnings, err := warnGoneAccounts(ctx, d.cfg, db)
	if err != nil {
		return nil, errors.Join(err, closeStore(db))
	}
	for _, w := range warnings {
		d.log.Warn(w)
	}
	return db, nil
}

// endSignals returns the signals besides SIGINT and SIGTERM that end the daemon. A terminal that is
// closed sends SIGHUP, which nohup ignores.
func (d daemon) endSignals() []os.Signal {
	if d.reload != nil || signal.Ignored(syscall.SIGHUP) {
		return nil
	}
	return []os.Signal{syscall.SIGHUP}
}

// reloadOnHangup reloads the config at each SIGHUP until stop is called.
func (d daemon) reloadOnHangup(ctx context.Context, sd *notifier, g *gateway.Gateway,
	reload func(*gateway.Gateway) error,
) (stop func()) {
	if d.reload == nil {
		return func() {}
	}
	return onHangup(ctx, func() { sd.reload(ctx, g, reload) })
}

// announceEnd says at the end of ctx that the daemon stops.
func (d daemon) announceEnd(ctx context.Context, sd *notifier, g *gateway.Gateway) error {
	<-ctx.Done()
	d.log.Info("stopping")
	sd.stopping(g)
	return nil
}

// pruneFiles returns the function that removes old received files.
func (d daemon) pruneFiles(records channels.FileRecords) func(ctx context.Context, before time.Time) (int, error) {
	return func(ctx context.Context, before time.Time) (int, error) {
		folder := func(chat string) (*os.Root, error) { return terminal.ExistingUserRoot(d.cfg.Workspace, "", chat) }
		return downloads.Prune(ctx, folder, records, before)
	}
}

// openSocket opens the socket of the MCP tools, or returns nil if there is none.
func (d daemon) openSocket() *peersocket.Listener {
	if !d.supervisor.KnowsOwners() {
		d.log.Info("agents get no MCP tools, because this system does not tell which chat a process works for")
		return nil
	}
	return openSocket(d.cfg, socketParents(os.Getenv, os.Geteuid() == 0), d.log)
}

// newGateway returns the gateway, and a function that sends its events to the page until ctx ends.
func (d daemon) newGateway(o gateway.Options, h agentHost, db stateStore, page *site) (
	*gateway.Gateway, func(context.Context),
) {
	if page == nil {
		return gateway.New(o), func(context.Context) {}
	}
	c, m := console.New(o.Store, d.log), metrics.New()
	o.Words = page.words // a reload changes the words of both
	o.Events = func(e events.Event) { c.Observe(e); m.Observe(e) }
	g := gateway.New(o)
	watch := page.mountGateway(g, c, m, o.Channels)
	if d.extend == nil {
		return g, watch
	}
	beside := d.extend(daemonParts{g, h, db, o.Channels, page})
	return g, func(ctx context.Context) {
		var work sync.WaitGroup
		work.Go(func() { beside(ctx) })
		watch(ctx)
		work.Wait()
	}
}

// closeChannels closes the channels that hold resources.
func closeChannels(open map[string]channels.Channel) error {
	var all []error
	for name, ch := range open {
		if c, ok := ch.(channels.Closer); ok {
			if err := c.Close(); err != nil {
				all = append(all, fmt.Errorf("close channels.%s: %w", name, err))
			}
		}
	}
	return errors.Join(all...)
}

func closeStore(s store.Store) error {
	if err := s.Close(); err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

// onHangup calls f at each SIGHUP until stop is called.
func onHangup(ctx context.Context, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-hangups:
				f()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
		signal.Stop(hangups)
	}
}

// reloadFrom reads the config again. If the config has a mistake, nothing changes. The channels
// stay those of the start, and one that is gone keeps its access list.
func (d daemon) reloadFrom(load func() (*config.Config, error), g *gateway.Gateway, h agentHost, db stateStore) error {
	cfg, err := load()
	if err != nil {
		return err
	}
	settings, err := newSettings(cfg, h, d.log)
	if err != nil {
		return err
	}
	for name, list := range d.lists {
		if cfg.Channels[name] == nil {
			settings.AllowFrom[name] = list
		}
		d.lists[name] = settings.AllowFrom[name]
	}
	if now := slices.Sorted(maps.Keys(allowedByConfig(cfg))); !slices.Equal(now, slices.Sorted(maps.Keys(d.lists))) {
		d.log.Warn("the accounts in the config have changed; restart the daemon to use them", zap.Strings("accounts", now))
	}
	was, is := d.cfg.Gateway, cfg.Gateway
	if was.Store != is.Store || was.Bot != is.Bot || !reflect.DeepEqual(was.Member, is.Member) {
		d.log.Warn("gateway.store, gateway.bot or gateway.member has changed; restart the daemon to use it")
		cfg.Gateway.Member = was.Member
	}
	d.level.SetLevel(parseLevel(cfg.Log.Level))
	g.Reload(settings)
	return describeMember(context.Background(), db, cfg) // the store bounds the call
}
