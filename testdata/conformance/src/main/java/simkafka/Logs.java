package simkafka;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Kafka's own log classes, scripted over standard input like the Driver: a command a
 * line, data lines after a tab, then "ok" or "error".
 */
public final class Logs {
    private final HandClock clock = new HandClock();
    private final TaskList tasks = new TaskList();
    private final KafkaLogs logs;
    private final Properties defaults = new Properties();
    private final TreeMap<String, Properties> topics = new TreeMap<>();

    private Logs(String release) throws Exception {
        Class<?> c = Class.forName("simkafka." + release + ".LogsOfRelease");
        logs = (KafkaLogs) c.getConstructor(Time.class, Scheduler.class).newInstance(clock, tasks);
    }

    /** The argument is "kafka3" or "kafka4". */
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // what Kafka prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Logs l = new Logs(args[0]);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println("ok " + l.run(line.trim().split(" +"), out));
            } catch (Throwable e) {
                e.printStackTrace();
                out.println("error " + e.toString().replace('\n', ' '));
            }
        }
        System.exit(0);
    }

    private String run(String[] w, PrintStream out) throws Exception {
        switch (w[0]) {
            case "now": // milliseconds
                clock.set(Long.parseLong(w[1]));
                return "";
            case "defaults": // key=value ...
                set(defaults, w, 1);
                return "";
            case "forget": // the topics' settings
                topics.clear();
                return "";
            case "topic": // name, key=value ...
                Properties p = new Properties();
                set(p, w, 2);
                topics.put(w[1], p);
                return "";
            case "load": // directory
                return load(new File(w[1]));
            case "states": // of all topics
                for (String topic : new TreeSet<>(logs.topics())) {
                    out.println("\t" + topic + " " + logs.state(topic));
                }
                return "";
            case "tasks":
                tasks.runAll();
                return "";
            case "recovery-points":
                logs.writeRecoveryPoints();
                return "";
            case "starts":
                logs.writeStarts();
                return "";
            case "reads": // topic, offset, end: of a fetch at each offset the batch and its checksum
                return reads(w[1], Long.parseLong(w[2]), Long.parseLong(w[3]));
            case "times": // topic, timestamp, end: the offset found for each timestamp
                return times(w[1], Long.parseLong(w[2]), Long.parseLong(w[3]));
            case "produce": // topic, epoch, records in base 64: as a produce request
                return produce(w[1], Integer.parseInt(w[2]), w.length > 3 ? w[3] : "");
            case "clean": // bytes of the offset map, of a read
                return logs.clean(Integer.parseInt(w[1]), Integer.parseInt(w[2]));
            case "stop":
                logs.stop();
                tasks.runAll();
                return "";
            case "kill":
                logs.kill();
                tasks.shutdown();
                return "";
            default:
                return change(w);
        }
    }

    private String load(File dir) throws Exception {
        try {
            logs.load(dir, defaults, topics);
            return "";
        } catch (Throwable e) {
            logs.kill();
            tasks.shutdown();
            throw e;
        }
    }

    /** "ok", the first offset and the stored batch; or the error code and the indexes of the refused records. */
    private String produce(String topic, int epoch, String base64) throws Exception {
        long first;
        try {
            MemoryRecords records = records(base64);
            ProduceRequest.validateRecords((short) 9, records);
            first = logs.append(topic, records, epoch, AppendOrigin.CLIENT);
        } catch (RecordValidationException e) {
            StringJoiner out = new StringJoiner(" ");
            out.add(Errors.forException(e.invalidException()).name());
            e.recordErrors().forEach(r -> out.add(String.valueOf(r.batchIndex)));
            return out.toString();
        } catch (Throwable e) {
            return Errors.forException(e).name() + " | " + e.toString().replace('\n', ' ');
        }
        RecordBatch batch = logs.read(topic, first, 1).batches().iterator().next();
        ByteBuffer bytes = ByteBuffer.allocate(batch.sizeInBytes());
        batch.writeTo(bytes);
        return "ok " + first + " " + Base64.getEncoder().encodeToString(bytes.array());
    }

    private String reads(String topic, long from, long end) throws Exception {
        StringJoiner out = new StringJoiner(" ");
        for (long offset = from; offset < end; offset++) {
            var batches = logs.read(topic, offset, 1).batches().iterator();
            if (!batches.hasNext()) {
                out.add("none");
                continue;
            }
            RecordBatch batch = batches.next();
            out.add(batch.baseOffset() + ":" + batch.checksum());
        }
        return out.toString();
    }

    private String times(String topic, long from, long end) throws Exception {
        StringJoiner out = new StringJoiner(" ");
        for (long timestamp = from; timestamp < end; timestamp++) {
            out.add(String.valueOf(logs.offsetForTimestamp(topic, timestamp)));
        }
        return out.toString();
    }

    /** The commands that change one log; the answer is its state. */
    private String change(String[] w) throws Exception {
        String topic = w[1];
        switch (w[0]) {
            case "create": // topic, id
                logs.create(topic, Uuid.fromString(w[2]));
                break;
            case "append": // topic, epoch, CLIENT or COORDINATOR, batch in base 64
                logs.append(topic, records(w[4]), Integer.parseInt(w[2]), AppendOrigin.valueOf(w[3]));
                break;
            case "replicate": // topic, epoch, batches
                logs.replicate(topic, records(w[3]), Integer.parseInt(w[2]));
                break;
            case "epoch": // topic, epoch, start
                logs.assignEpoch(topic, Integer.parseInt(w[2]), Long.parseLong(w[3]));
                break;
            case "high-watermark": // topic, offset
                logs.updateHighWatermark(topic, Long.parseLong(w[2]));
                break;
            case "raise-start": // topic, offset
                logs.raiseStart(topic, Long.parseLong(w[2]));
                break;
            case "roll": // topic
                logs.roll(topic);
                break;
            case "retention": // topic
                logs.deleteOldSegments(topic);
                break;
            case "truncate": // topic, offset
                logs.truncate(topic, Long.parseLong(w[2]));
                break;
            case "restart-at": // topic, offset
                logs.restartAt(topic, Long.parseLong(w[2]));
                break;
            case "state": // topic
                break;
            default:
                throw new IllegalArgumentException("no such command: " + w[0]);
        }
        return logs.state(topic);
    }

    private static MemoryRecords records(String base64) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Base64.getDecoder().decode(base64)));
    }

    private static void set(Properties p, String[] words, int from) {
        for (int i = from; i < words.length; i++) {
            int at = words[i].indexOf('=');
            p.setProperty(words[i].substring(0, at), words[i].substring(at + 1));
        }
    }
}
