package server

import (
	"fmt"
	"net"
	"strings"

	"dqd/commands"
)

const errNoCluster = commands.Error("ERR This instance has cluster support disabled")

// mode is the word for what clients are to take the server for.
func (s *Server) mode() string {
	if s.opts.Cluster {
		return "cluster"
	}
	return "standalone"
}

// cluster is CLUSTER: of a cluster whose only node is this one, at the address
// that the client connected to.
func (c *conn) cluster(r *commands.Cluster) commands.Reply {
	s := c.srv
	if !s.opts.Cluster {
		return errNoCluster
	}
	host, port := "", s.port()
	if addr, ok := c.nc.LocalAddr().(*net.TCPAddr); ok {
		host, port = addr.IP.String(), addr.Port
	}
	id := commands.Bulk(s.runID)
	switch r.Sub {
	case "info":
		state, served := "ok", commands.Slots
		if !s.ready() {
			state, served = "fail", 0
		}
		var b strings.Builder
		for _, line := range []struct {
			name  string
			value any
		}{
			{"state", state}, {"slots_assigned", commands.Slots}, {"slots_ok", served}, {"slots_pfail", 0}, {"slots_fail", commands.Slots - served},
			{"known_nodes", 1}, {"size", 1}, {"current_epoch", 1}, {"my_epoch", 1},
			{"stats_messages_sent", 0}, {"stats_messages_received", 0},
		} {
			fmt.Fprintf(&b, "cluster_%s:%v\r\n", line.name, line.value)
		}
		b.WriteString("total_cluster_links_buffer_limit_exceeded:0\r\n")
		return commands.Bulk(b.String())
	case "slots":
		return commands.Array{commands.Array{
			commands.Int(0), commands.Int(commands.Slots - 1),
			commands.Array{commands.Bulk(host), commands.Int(port), id, commands.Array{}},
		}}
	case "shards":
		return commands.Array{fields{
			{"slots", commands.Array{commands.Int(0), commands.Int(commands.Slots - 1)}},
			{"nodes", commands.Array{fields{
				{"id", id}, {"port", commands.Int(port)}, {"ip", commands.Bulk(host)}, {"endpoint", commands.Bulk(host)},
				{"role", commands.Bulk("master")}, {"replication-offset", commands.Int(0)}, {"health", commands.Bulk("online")},
			}}},
		}}
	case "nodes":
		return commands.Bulk(fmt.Sprintf("%s %s@%d myself,master - 0 0 1 connected 0-%d\n", id, net.JoinHostPort(host, fmt.Sprint(port)), port+10000, commands.Slots-1))
	case "myid":
		return id
	case "keyslot":
		return commands.Int(commands.KeySlot(r.Key))
	case "countkeysinslot":
		if r.Slot < 0 {
			return commands.Error("ERR Invalid slot")
		}
		return commands.Error("ERR no queue is kept by slot: SCAN and DQQUEUES list the queues")
	case "help":
		return commands.HelpReply(&commands.Help{Container: "cluster"})
	}
	panic("server: no CLUSTER " + r.Sub)
}
