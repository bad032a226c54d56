// Package httpd is what every HTTP surface of the program shares: the server's life, the guard
// against requests that come by a foreign name or from a foreign page, and access by one-time
// links, cookies and a token. It knows nothing of what is served.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

const (
	// A client that dawdles is not waited for.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	bodyPatience      = 30 * time.Second
	stopPatience      = 5 * time.Second
)

// Server is an HTTP server that listens already. See Listen.
type Server struct {
	// BodyPatience is how long a request's body may take, unless its handler says otherwise.
	BodyPatience time.Duration
	// StopPatience is how long requests under way get to end when the server stops. Then they are
	// cut off.
	StopPatience time.Duration

	listener net.Listener
	server   *http.Server
	log      *zap.Logger
}

// Listen opens an address, so that one that is taken is known before anything else begins. Run
// serves.
func Listen(ctx context.Context, address string, log *zap.Logger) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	clients, err := zap.NewStdLogAt(log, zap.DebugLevel) // what they do wrong
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &Server{BodyPatience: bodyPatience, StopPatience: stopPatience, listener: listener, log: log, server: &http.Server{
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: clients,
	}}, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, if Run was never called.
func (s *Server) Close() error { return s.listener.Close() }

// OnStop has f called when the server begins to stop, for handlers that would not end by
// themselves. It must be called before Run.
func (s *Server) OnStop(f func()) { s.server.RegisterOnShutdown(f) }

// Run serves h until ctx ends. Then requests under way may end, and nothing new is taken.
func (s *Server) Run(ctx context.Context, h http.Handler) error {
	s.server.Handler = survive(h, s.BodyPatience, s.log)
	s.log.Info("listening", zap.Stringer("address", s.Addr()))
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopPatience)
		defer cancel()
		if s.server.Shutdown(ctx) != nil {
			s.log.Warn("requests cut off, they did not end in time", zap.Duration("after", s.StopPatience))
			_ = s.server.Close()
		}
	})()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-stopped
	return nil
}
