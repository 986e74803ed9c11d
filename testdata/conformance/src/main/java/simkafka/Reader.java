package simkafka;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads a partition from its start to its end and tells the records, a JSON object a line. */
final class Reader {
    private static final long READ_WITHIN_MS = 60_000;
    /** A log may end in offsets without records; a reader that gets no more has all of it. */
    private static final long STALLED_AFTER_MS = 1_000;
    private final String bootstrap;
    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>(); // by isolation level

    Reader(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    /**
     * Tells the number of records; each says whether read_committed saw it too. The last one
     * is expected right before the offset last, but if there are more they are told as well.
     */
    String consume(String topic, long last, PrintStream out) {
        Set<Long> committed = new HashSet<>();
        read(topic, last, "read_committed", r -> committed.add(r.offset()));
        int[] count = {0};
        read(topic, last, "read_uncommitted", r -> {
            count[0]++;
            out.println("\t" + json(r, committed.contains(r.offset())));
        });
        return "" + count[0];
    }

    private void read(String topic, long last, String isolation, Consumer<ConsumerRecord<byte[], byte[]>> each) {
        TopicPartition tp = new TopicPartition(topic, 0);
        var consumer = consumers.computeIfAbsent(isolation, this::open);
        consumer.assign(List.of(tp));
        consumer.seekToBeginning(List.of(tp));
        long end = consumer.endOffsets(List.of(tp)).get(tp);
        long began = System.currentTimeMillis();
        long moved = began;
        for (long at = consumer.position(tp); at < end; ) {
            consumer.poll(Duration.ofMillis(100)).forEach(each);
            long now = System.currentTimeMillis();
            if (consumer.position(tp) > at) {
                at = consumer.position(tp);
                moved = now;
            } else if (now > began + READ_WITHIN_MS || at >= Math.min(last, end) && now > moved + STALLED_AFTER_MS) {
                return;
            }
        }
    }

    private KafkaConsumer<byte[], byte[]> open(String isolation) {
        Properties p = new Properties();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, isolation);
        p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        p.put(ConsumerConfig.CHECK_CRCS_CONFIG, "true");
        p.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, "50");
        p.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, "200");
        return new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static String json(ConsumerRecord<byte[], byte[]> r, boolean committed) {
        StringBuilder s = new StringBuilder();
        s.append("{\"topic\":\"").append(r.topic());
        s.append("\",\"offset\":").append(r.offset());
        s.append(",\"timestamp\":").append(r.timestamp());
        s.append(",\"type\":\"").append(r.timestampType());
        s.append("\",\"epoch\":").append(r.leaderEpoch().orElse(-1));
        s.append(",\"key\":").append(hex(r.key()));
        s.append(",\"value\":").append(hex(r.value()));
        s.append(",\"headers\":[");
        String separator = "";
        for (Header h : r.headers()) {
            s.append(separator).append('[').append(hex(h.key().getBytes(StandardCharsets.UTF_8)));
            s.append(',').append(hex(h.value())).append(']');
            separator = ",";
        }
        return s.append("],\"committed\":").append(committed).append('}').toString();
    }

    private static String hex(byte[] b) {
        return b == null ? "null" : '"' + HexFormat.of().formatHex(b) + '"';
    }
}
