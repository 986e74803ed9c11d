package simkafka;

import java.io.File;
import java.util.Collection;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.storage.internals.log.AppendOrigin;

/**
 * Kafka's own log layer of one data directory, as a broker uses it, without the broker:
 * its LogManager, UnifiedLog and Cleaner, which differ in name and type between releases.
 * Each partition is number 0 of its topic. Nothing happens in the background: clock and
 * tasks are those that were given.
 */
public interface KafkaLogs {
    /** Loads the directory as a broker's start does. Throws if the broker would not start or would go offline. */
    void load(File dir, Properties defaults, Map<String, Properties> topics) throws Exception;

    Collection<String> topics();

    void create(String topic, Uuid id) throws Exception;

    /** Start, end, high watermark, last stable offset, recovery point, last leader epoch or -1, count of segments. */
    String state(String topic) throws Exception;

    /** The offset of the first record. */
    long append(String topic, MemoryRecords records, int epoch, AppendOrigin origin) throws Exception;

    void replicate(String topic, MemoryRecords records, int epoch) throws Exception;

    /** What a fetch from offset on gets, at least one batch: a piece of a file. */
    Records read(String topic, long offset, int maxBytes) throws Exception;

    /** The offset of the first record at or after the timestamp, -1 if there is none. */
    long offsetForTimestamp(String topic, long timestamp) throws Exception;

    /** Syncs all of the log. */
    void flush(String topic) throws Exception;

    void assignEpoch(String topic, int epoch, long start) throws Exception;

    void updateHighWatermark(String topic, long offset) throws Exception;

    void raiseStart(String topic, long offset) throws Exception;

    void roll(String topic) throws Exception;

    int deleteOldSegments(String topic) throws Exception;

    void truncate(String topic, long offset) throws Exception;

    void restartAt(String topic, long offset) throws Exception;

    void writeRecoveryPoints();

    void writeStarts();

    /** One cleaning of the dirtiest log that is due: its topic and the end of what is clean now; or "nothing". */
    String clean(int mapBytes, int readBytes) throws Exception;

    /** A clean stop. */
    void stop() throws Exception;

    /** The end of the process: nothing is written, nothing stays open. */
    void kill() throws Exception;

    static TopicPartition partition(String topic) {
        return new TopicPartition(topic, 0);
    }
}
