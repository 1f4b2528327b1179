package commands

import "bytes"

// Cluster is CLUSTER. Key is that of keyslot, Slot that of countkeysinslot.
type Cluster struct {
	Sub  string // info slots shards nodes myid keyslot countkeysinslot help
	Key  []byte
	Slot int
}

func (*Cluster) isRequest() {}

// Slots is how many slots a Redis Cluster has.
const Slots = 16384

var clusterKind = kind{"cluster", []string{"loading", "stale"}, []string{"@slow"}}

var cluster = Command{
	Name: "cluster", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "cluster", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands of a Redis Cluster: with the setting cluster-enabled this node is one that has all slots.",
	Subcommands: []*Command{
		clusterKind.row("cluster|info", 2, "Shows the state of the cluster.", parseCluster("info")),
		clusterKind.row("cluster|slots", 2, "Answers which node has which slots.", parseCluster("slots")),
		clusterKind.row("cluster|shards", 2, "Answers which nodes have which slots.", parseCluster("shards")),
		clusterKind.row("cluster|nodes", 2, "Shows the nodes.", parseCluster("nodes")),
		clusterKind.row("cluster|myid", 2, "Answers the node's id.", parseCluster("myid")),
		clusterKind.row("cluster|keyslot", 3, "Answers the slot of a queue.", parseClusterKeySlot,
			Arg{Name: "key", Show: "queue", Type: "string"}),
		clusterKind.row("cluster|countkeysinslot", 3, "Refused: no queue is kept by slot.", parseClusterCount,
			Arg{Name: "slot", Type: "integer"}),
		clusterKind.row("cluster|help", 2, "Shows these lines.", parseCluster("help")),
	},
}

func parseCluster(sub string) func([][]byte, *Limits) (Request, error) {
	return func([][]byte, *Limits) (Request, error) { return &Cluster{Sub: sub}, nil }
}

func parseClusterKeySlot(args [][]byte, _ *Limits) (Request, error) {
	return &Cluster{Sub: "keyslot", Key: args[2]}, nil
}

// parseClusterCount leaves a bad slot to whoever answers: without a cluster that
// is no matter.
func parseClusterCount(args [][]byte, _ *Limits) (Request, error) {
	n, ok := parseInt(args[2])
	if !ok || n < 0 || n >= Slots {
		n = -1
	}
	return &Cluster{Sub: "countkeysinslot", Slot: int(n)}, nil
}

// KeySlot returns the slot of a key as every Redis Cluster client computes it: of
// the part between the first { and the next }, if there is something, else of all.
func KeySlot(key []byte) int {
	if _, behind, ok := bytes.Cut(key, []byte{'{'}); ok {
		if tag, _, ok := bytes.Cut(behind, []byte{'}'}); ok && len(tag) > 0 {
			key = tag
		}
	}
	var crc uint16 // CRC-16/XMODEM
	for _, c := range key {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % Slots
}
