package dqdtest

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metric returns one value of /metrics. Its name is written as there, with its
// labels: dqd_jobs{state="ready"}.
func (s *Server) Metric(name string) (float64, error) {
	// A connection that is kept would be among what is counted.
	client := &http.Client{Timeout: Deadline, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + s.HTTP + "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	for in := bufio.NewScanner(r.Body); in.Scan(); {
		if value, ok := strings.CutPrefix(in.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no %s", name)
}
