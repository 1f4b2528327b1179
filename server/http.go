package server

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ready reports whether job commands are answered.
func (s *Server) ready() bool { return s.gauges().Leading && !s.isDown() }

// httpConnections bounds the connections for probes and metrics: a stranger on that
// port shall not take the files that clients and stores need.
const httpConnections = 64

// HTTP returns the server for probes and metrics, on a port of its own: it serves
// no commands and shows no payloads.
//
//	/livez    200 while the process answers
//	/readyz   200 while job commands are answered, else 503
//	/metrics  for Prometheus
//
// It keeps 64 connections; what is beyond is closed unanswered.
func (s *Server) HTTP() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	var open atomic.Int64
	return &http.Server{
		Handler: mux,
		ConnState: func(nc net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if open.Add(1) > httpConnections {
					nc.Close() // then its goroutine ends, and it is counted as closed
				}
			case http.StateClosed:
				open.Add(-1)
			}
		},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}
