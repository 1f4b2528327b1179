package main

import (
	"dqd/persist"
	"dqd/server"
)

// raftFacts are the section Raft of INFO.
func (n *node) raftFacts() []server.Fact {
	s := n.raft.Stats()
	state := "follower"
	if s.Leader {
		state = "leader"
	}
	return []server.Fact{
		{Name: "raft_state", Value: state},
		{Name: "raft_term", Value: s.Term},
		{Name: "raft_first_index", Value: s.FirstIndex},
		{Name: "raft_last_index", Value: s.LastIndex},
		{Name: "raft_commit_index", Value: s.CommitIndex},
		{Name: "raft_applied_index", Value: s.AppliedIndex},
		{Name: "raft_snapshot_index", Value: s.SnapshotIndex},
		{Name: "raft_entries_since_snapshot", Value: s.EntriesSinceShot},
		{Name: "raft_bytes_since_snapshot", Value: s.BytesSinceShot},
		{Name: "raft_in_flight", Value: s.InFlight},
		{Name: "raft_nodes", Value: 1},
	}
}

// storageFacts are the section Storage of INFO.
func (n *node) storageFacts() []server.Fact {
	s := n.raft.Stats()
	var facts []server.Fact
	for _, store := range []struct {
		name string
		m    persist.StoreMetrics
	}{{"log", s.LogStore}, {"state", s.DataStore}} {
		facts = append(facts, []server.Fact{
			{Name: store.name + "_disk_bytes", Value: store.m.DiskBytes},
			{Name: store.name + "_memtable_bytes", Value: store.m.MemTableBytes},
			{Name: store.name + "_tables", Value: store.m.Tables},
			{Name: store.name + "_read_amplification", Value: store.m.ReadAmp},
			{Name: store.name + "_compaction_debt_bytes", Value: store.m.CompactionDebt},
			{Name: store.name + "_flushes", Value: store.m.Flushes},
			{Name: store.name + "_compactions", Value: store.m.Compactions},
			{Name: store.name + "_cache_hits", Value: store.m.CacheHits},
			{Name: store.name + "_cache_misses", Value: store.m.CacheMisses},
		}...)
	}
	return facts
}
