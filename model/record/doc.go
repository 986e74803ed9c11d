// Package record is the record batch of Kafka's message format v2 (magic 2,
// KIP-98): it encodes, decodes, compresses and validates the bytes that
// producers send, brokers store and followers copy.
//
// It mirrors DefaultRecordBatch, DefaultRecord, MemoryRecords,
// MemoryRecordsBuilder, ByteBufferLogInputStream, ControlRecordType,
// EndTransactionMarker, the compress package and LogValidator.
//
// A batch is a 61-byte header and its records. All integers are big endian:
//
//	 0 i64 baseOffset            0 from a client; set by the leader
//	 8 i32 batchLength           bytes after this field: total - 12
//	12 i32 partitionLeaderEpoch  -1 from a client; set by the leader
//	16 i8  magic                 2
//	17 u32 crc                   CRC-32C of the bytes 21 to the end
//	21 i16 attributes            0-2 codec, 3 LogAppendTime, 4 transactional,
//	                             5 control, 6 delete horizon
//	23 i32 lastOffsetDelta       keeps its value when compaction drops records
//	27 i64 baseTimestamp         or the delete horizon (bit 6)
//	35 i64 maxTimestamp
//	43 i64 producerId            -1 none
//	51 i16 producerEpoch         -1 none
//	53 i32 baseSequence          -1 none
//	57 i32 recordCount
//	61     records               as one compressed stream if the codec is not none
//
// The CRC leaves out base offset, length, leader epoch and magic, so a leader
// stamps the first and the third without touching it. A batch at the end of a
// buffer may be cut short: it is not an error but ends the data (ErrIncomplete).
//
// A record is a varint length and: i8 attributes (0), varlong timestamp delta,
// varint offset delta, key and value as varint length (-1 null) and bytes,
// varint header count, and for each header a key (never null) and a value.
//
// Left out: the formats of magic 0 and 1, which are refused; the estimate of
// the compression ratio (CompressionRatioEstimator), so that size estimates
// are those of uncompressed records; reading of a compressed batch as a stream:
// its record area is decompressed at once, up to MaxDecompressedSize bytes.
// Compressed bytes are not those of the Java libraries, only decodable by them.
package record
