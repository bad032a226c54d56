package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// maxWait is the longest that GET /_sim/sent waits, and maxBody the largest body of a POST.
const (
	maxWait = time.Minute
	maxBody = 64 << 20
)

// control serves what tests ask and what people do.
func control(n network) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_sim/sent", func(w http.ResponseWriter, r *http.Request) {
		after, wait, err := parseSentQuery(r)
		respond(w, func() (any, error) {
			if err != nil {
				return nil, err
			}
			return n.sent(after, wait), nil
		})
	})
	mux.HandleFunc("GET /_sim/complaints", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, func() (any, error) { return append([]string{}, n.Violations()...), nil })
	})
	post := func(path string, kind actionKind) {
		mux.HandleFunc("POST /_sim/"+path, func(w http.ResponseWriter, r *http.Request) {
			respond(w, func() (any, error) {
				var a action
				if err := decode(http.MaxBytesReader(w, r.Body, maxBody), &a); err != nil {
					return nil, err
				}
				if k, err := a.kind(); err != nil || k != kind {
					return nil, fmt.Errorf("%s takes %s and who does it", r.URL.Path, kind)
				}
				return act(n, a)
			})
		})
	}
	post("messages", message)
	post("presses", press)
	post("commands", command)
	mux.HandleFunc("POST /_sim/faults", func(w http.ResponseWriter, r *http.Request) {
		respond(w, func() (any, error) { return failNext(n, http.MaxBytesReader(w, r.Body, maxBody)) })
	})
	mux.HandleFunc("/_sim/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, refusal(fmt.Errorf("there is no %s %s; docs/kit.md lists what there is", r.Method, r.URL.Path)))
	})
	return mux
}

// parseSentQuery returns the parameters of GET /_sim/sent.
func parseSentQuery(r *http.Request) (after int, wait time.Duration, err error) {
	if v := r.FormValue("after"); v != "" {
		if after, err = strconv.Atoi(v); err != nil || after < 0 {
			return 0, 0, fmt.Errorf("after=%s is not the number n of a call", v)
		}
	}
	if v := r.FormValue("wait"); v != "" {
		if wait, err = time.ParseDuration(v); err != nil || wait < 0 || wait > maxWait {
			return 0, 0, fmt.Errorf("wait=%s is not a time up to %s, such as 5s", v, maxWait)
		}
	}
	return after, wait, nil
}

// failNext queues faults for the next calls of a method, or of any method.
func failNext(n network, body io.Reader) (any, error) {
	var in struct {
		Method string   `json:"method"`
		Faults []string `json:"faults"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	known := faultsOf(n)
	var faults []fakenet.Fault
	for _, kind := range in.Faults {
		f, ok := known[kind]
		if !ok {
			return nil, unknownFault(kind)
		}
		faults = append(faults, f)
	}
	n.FailNext(in.Method, faults...)
	return map[string]any{"after": n.Ended()}, nil
}

// decode reads one JSON value without unknown fields.
func decode(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read the JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read the JSON: something follows the value")
	}
	return nil
}

func respond(w http.ResponseWriter, result func() (any, error)) {
	v, err := result()
	if err != nil {
		writeJSON(w, http.StatusBadRequest, refusal(err))
		return
	}
	writeJSON(w, http.StatusOK, v)
}

func refusal(err error) any { return map[string]string{"error": err.Error()} }

func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

// refuseOtherOrigins refuses the requests of other sites' pages. The guard behind it checks the
// Host, so that a page cannot name a host of its own.
func refuseOtherOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			writeJSON(w, http.StatusForbidden, refusal(fmt.Errorf("a page of %q may not use the simulator", origin)))
			return
		}
		next.ServeHTTP(w, r)
	})
}
