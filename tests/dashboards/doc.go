// Package dashboards checks that the dashboard in deploy/grafana and the rules in
// deploy/prometheus ask only for what docs/metrics.md says dqd has: names, labels and their
// values, each used as what it is; and that Grafana's own types take the dashboard.
package dashboards
