// Package report turns the result of a run into what people and programs look at:
// a summary, a timeline, result.json, a text trace and charts. It mirrors no
// Kafka class. It decides nothing: every figure comes from model/outcome.
//
// Equal results give equal bytes: no wall-clock time, host, process id or machine
// path enters a file (interface 3.1 rule 9). Charts are compared on one
// architecture only, as they are drawn with floating point.
//
// # result.json, schema simkafka.result/v1
//
// One object, its keys sorted, as are those of every object inside. Numbers are
// whole; keys that end in _ns are nanoseconds of virtual time (points of time
// since the start of the run); no float appears. Partitions have Kafka's names
// ("orders-0"); node ids are numbers, -1 is no leader. Lists are never null.
//
//	chaos_end_ns      end of the chaos phase
//	checkpoints       [{event, hash}] the fingerprint after an event, to find where two runs part
//	end_ns            end of the run
//	engine            version of the engine's determinism
//	events            steps that were dispatched
//	expectations      [{line, metric, state: held|violated, value, where}] of the scenario
//	expected_loss     {count, reasons: [{count, example, text}]} what the configuration allowed to be lost
//	faults            [{from_ns, hit, index, text, to_ns}] windows; to_ns = -1: still active
//	fingerprint       128 bits, hex
//	groups            [{duplicates, expired_offsets, group, members: [{away: [{from_ns, to_ns}], client, owned: [{from_ns,
//	                  generation, partitions, to_ns}], phases: [{from_ns, name, to_ns}]}], partitions: [{committed_offset,
//	                  duplicates, high_watermark, overlaps, owner, partition, processed, skipped, unowned: [{from_ns,
//	                  to_ns}]}], processed, rebalances: [{cause, coordinator, find_coordinator_max_ns, from_ns, generation,
//	                  join_group_max_ns, members, moved_partitions, sync_group_max_ns, to_ns, unowned_max_ns}],
//	                  refused_commits, regressions, skipped}] consumer groups; to_ns = -1: it did not end
//	invariants        [{checked, name, note, rules, state: held|violated|suspended|not-exercised, words}]
//	metrics           figures over all partitions and phases, the worst of each
//	not_modelled      [key=value] of a server.properties
//	partitions        [{elections, high_watermark, isr, leader, leader_epoch, leaderless_ns, log_end_offset,
//	                  log_start_offset, outages: [{from_ns, to_ns}], partition, replicas, unavailable_ns,
//	                  unclean_elections, under_replicated_ns}]
//	phases            [{acked_bytes, acked_records, end_to_end_latency, from_ns, name, produce_latency, to_ns}]
//	                  with latencies {count, max_ns, p50_ns, p95_ns, p999_ns, p99_ns}
//	probes            [{count, name}] rare states that were reached
//	protocol          profile, such as zk-3.9
//	records           {acked, delivered, duplicated, expired, failed, lost, sent, unknown_outcome,
//	                  unknown_outcome_present}
//	scenario          its name
//	scenario_sha256   of its canonical text
//	schema            simkafka.result/v1
//	seed              an unsigned 64-bit number
//	settled_ns        when the cluster had converged; null: it did not
//	verdict           pass | violated | inconclusive | error
//	violations        [{at_ns, events: [{kind, node, seq, text, vt_ns}], facts, invariant, partition, what}]
//	warnings, why     [text]
//
// Several runs are {results: […], schema: simkafka.results/v1}.
//
// Sweeps have simkafka.sweep-summary/v1, after the same rules (see sweep_json.go), and
// JUnit XML (junit.go).
//
// # Other files
//
// summary.txt is what run prints, 100 columns wide. timeline.txt has every fact of
// the timeline. The charts are latency-produce, latency-e2e, throughput,
// partitions and lag; of runs with consumer groups also group-NAME and group-lag; all as
// .svg and .png. The text trace is described in TraceHelp.
// A failing seed's directory has more (failure.go): an explanation of at most 40 lines, and
// the shrunk scenario, whose comment says what happens.
//
// Left out: HTML, JUnit of single runs, Perfetto and ShiViz traces, event logs.
package report
