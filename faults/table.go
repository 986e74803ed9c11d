package faults

// Kind documents one fault for scenario authors.
type Kind struct {
	Word    string
	IDs     string // of simulation 3
	Summary string
	Example string
}

// Table lists every fault, in the order that help and README show them.
var Table = []Kind{
	{"kill", "P1", "the process dies, its page cache stays", "{at: 10s, kill: leader(orders/0), restart_after: 15s}"},
	{"power_loss", "P2 P14 P15 D6 D7 D8 D11-D14", "the machine stops: unsynced pages are lost, peers hear nothing", "{at: 10s, power_loss: brokers, restart_after: 5s}"},
	{"stop", "P3", "SIGTERM: controlled shutdown and clean close", "{at: 10s, stop: broker-1, restart_after: 10s}"},
	{"restart", "P1-P3", "starts what is down", "{at: 30s, restart: broker-1}"},
	{"pause", "P5 P6 C6", "the process stands still, then goes on as if nothing happened", "{at: 10s, for: 30s, pause: controller}"},
	{"resume", "P6", "ends a pause", "{at: 40s, resume: broker-1}"},
	{"cut", "N11 N12 N13 N14 N16 N17", "silence between two sets of nodes, both ways or one way", "{at: 10s, for: 5s, cut: {from: leader(orders/0), to: followers(orders/0), direction: both}}"},
	{"isolate", "N11", "silence between nodes and everybody else", "{at: 10s, for: 5s, isolate: broker-2}"},
	{"link", "N1 N3 N4 N9", "slow, jittery, lossy or narrow links", "{at: 10s, for: 5s, link: {between: broker-1, and: others, latency: 50ms, loss: 5%}}"},
	{"reset", "N20", "connections are reset", "{at: 10s, reset: {between: clients, and: brokers}}"},
	{"half_open", "N21", "the connections that are open now fall silent for ever; new ones work", "{at: 10s, half_open: {between: broker-1, and: others}}"},
	{"flap", "N15", "links are cut and healed in turn", "{at: 10s, for: 5s, flap: {between: broker-1, and: others, down: 300ms, up: 200ms}}"},
	{"clog", "N18 N19", "everything is held on links, one way, and then arrives in a burst", "{at: 10s, for: 2s, clog: {from: leader(orders/0), to: others}}"},
	{"hold", "N28", "messages of one kind are kept while other connections go on", "{at: 10s, for: 5s, hold: {from: leader(orders/0), to: controller, api: AlterPartition, kind: request, count: 1}}"},
	{"lose", "N29 N30", "messages of one kind are lost, and what follows on their connections", "{at: 10s, for: 5s, lose: {from: controller, to: leader(orders/0), api: AlterPartition, kind: response, count: 1}}"},
	{"slow_disk", "D1 D2", "every disk call takes longer", "{at: 10s, for: 5s, slow_disk: {node: broker-1, factor: 10x}}"},
	{"stall_disk", "D3", "every disk call blocks until the fault ends", "{at: 10s, for: 5s, stall_disk: broker-1}"},
	{"disk_error", "D16 D17 D18 D20", "reads, writes or syncs fail with EIO", "{at: 10s, disk_error: {node: broker-1, op: write, file: \"orders-*/*.log\", nth: 3}}"},
	{"disk_full", "D26 D27", "writes fail with ENOSPC", "{at: 10s, for: 20s, disk_full: broker-1}"},
	{"lying_disk", "D15", "syncs are reported as done and make nothing durable", "{at: 10s, for: 20s, lying_disk: {node: broker-1}}"},
	{"damage", "D19 D21 D32 D33", "the process dies and files of its data directory are spoilt", "{at: 10s, damage: {node: broker-1, file: \"orders-*/*.index\", how: garbage}, restart_after: 5s}"},
	{"wipe", "D30", "the machine comes back with an empty disk", "{at: 10s, wipe: broker-1, restart_after: 5s}"},
	{"failpoint", "P10 D16 D18 D26", "a named point of the simulator fires at chosen hits", "{at: 10s, failpoint: {node: broker-1, site: disk-sync, term: '2*off->1*return(\"EIO\")'}}"},
	{"clock_offset", "C1", "the wall clock is wrong by a constant while it lasts", "{at: 10s, for: 20s, clock_offset: {node: broker-1, by: 5m}}"},
	{"clock_jump", "C3 C4", "the wall clock jumps and stays", "{at: 10s, clock_jump: {node: broker-1, by: -1h}}"},
	{"create_partitions", "O2", "an administrator gives a topic more partitions: so many in all", "{at: 10s, create_partitions: {topic: orders, partitions: 6}}"},
	{"delete_topic", "O2", "an administrator deletes a topic", "{at: 10s, delete_topic: orders}"},
	{"create_topic", "O2", "an administrator creates a topic again that was deleted, as it was", "{at: 20s, create_topic: orders}"},
}

// Words are the scenario words of all faults, in the order of the table.
func Words() []string {
	words := make([]string, len(Table))
	for i := range Table {
		words[i] = Table[i].Word
	}
	return words
}
