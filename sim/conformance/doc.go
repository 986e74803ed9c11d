// Package conformance holds the tests in which real Kafka is the judge. It has no
// code of its own.
//
// What Kafka wrote, we read: the golden directories of testdata/golden were left by
// real brokers; model/log replays their history and must leave the same bytes, and
// recovers what a killed broker left as that broker did. These tests need no Java.
//
// What we wrote, Kafka reads: Kafka's DumpLogSegments inspects every file that
// model/log and a simulated cluster leave behind, and a real broker starts on such a
// directory, serves it and appends to it. These tests need Java and the classes that
// testdata/conformance/run installs; without them they are skipped and say so.
//
// What Kafka would have done: its own log classes, in one JVM without a broker, live the
// same random histories as model/log, operation by operation, with transactions, retention,
// DeleteRecords, compaction, clean stops and kills, and have the same offsets and bytes
// after each; and its loader recovers what power failures leave as ours does, between
// random operations and, on a sample, in the middle of one.
//
// What Kafka refuses, we refuse: random produced batches, most of them spoilt, get the same
// error code and the same stored bytes.
//
// The same processes make the golden directories anew: testdata/conformance/generate.
//
// Left out: the bytes of compressed batches that a broker or a cleaner writes anew, which
// are those of its language's codecs: such batches are compared record by record.
package conformance
