package simkafka;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Named producers that send exactly the batches that they are told to. */
final class Producers {
    private final String bootstrap;
    private final Map<String, KafkaProducer<byte[], byte[]>> open = new HashMap<>();

    Producers(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    String open(String name, Map<String, String> configs) {
        Properties p = new Properties();
        p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ProducerConfig.LINGER_MS_CONFIG, "60000"); // a flush ends the batch, nothing else
        p.put(ProducerConfig.BATCH_SIZE_CONFIG, "1000000");
        p.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, "180000");
        p.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, "120000");
        p.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, "200");
        p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "false");
        p.putAll(configs);
        var producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
        if (configs.containsKey(ProducerConfig.TRANSACTIONAL_ID_CONFIG)) {
            producer.initTransactions();
        }
        open.put(name, producer);
        return name;
    }

    String transaction(String verb, String name) {
        var producer = open.get(name);
        switch (verb) {
            case "begin" -> producer.beginTransaction();
            case "commit" -> producer.commitTransaction();
            default -> producer.abortTransaction();
        }
        return verb;
    }

    /** Sends the records as one batch; tells the offset of the first. */
    String batch(String name, String topic, List<String> records) throws Exception {
        var producer = open.get(name);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String r : records) {
            sent.add(producer.send(parse(topic, r)));
        }
        producer.flush();
        long base = sent.get(0).get().offset();
        for (int i = 0; i < sent.size(); i++) {
            if (sent.get(i).get().offset() != base + i) {
                throw new IllegalStateException("the records went into several batches");
            }
        }
        return "" + base;
    }

    String close(String name) {
        open.remove(name).close();
        return name;
    }

    /** timestamp:key:value[:header=value ...]; bytes in hex, ~ is null, header fields between colons. */
    private static ProducerRecord<byte[], byte[]> parse(String topic, String text) {
        String[] parts = text.split(":", -1);
        RecordHeaders headers = new RecordHeaders();
        for (int i = 3; i < parts.length; i++) {
            int at = parts[i].indexOf('=');
            String key = new String(bytes(parts[i].substring(0, at)), java.nio.charset.StandardCharsets.UTF_8);
            headers.add(key, bytes(parts[i].substring(at + 1)));
        }
        return new ProducerRecord<>(topic, 0, Long.parseLong(parts[0]), bytes(parts[1]), bytes(parts[2]), headers);
    }

    private static byte[] bytes(String hex) {
        return hex.equals("~") ? null : HexFormat.of().parseHex(hex);
    }
}
