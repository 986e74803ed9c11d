package simkafka;

import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.OffsetIndex;

/**
 * Times Kafka's own log classes on a real disk, so that the numbers of simkafka perf have
 * something to stand beside: UnifiedLog's appends and reads, LogManager's load after a kill,
 * OffsetIndex's lookup, Cleaner. Each case runs several times, each time on a log of its own;
 * MB are 10^6 bytes of the batches (of values in the compaction, as they go in). A run
 * whose result is wrong does not count: it ends the program.
 */
public final class Timing {
    private static final String TOPIC = "timing";
    private static final long NOW = 1_700_000_000_000L;
    private static final int VALUE = 1024;
    private static final int LOOKUPS = 1_000_000;
    private final HandClock clock = new HandClock();
    private final TaskList tasks = new TaskList();
    private final String release;
    private final Path root;
    private final long bytes;
    private final int runs;
    private final boolean json;
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private long cpuBegan;
    private long cpu; // of what was timed in this run, by all threads: a load has its own
    private long sink;

    private Timing(String[] args) {
        release = args[0];
        root = Path.of(args[1]);
        bytes = Long.parseLong(args[2]) << 20;
        runs = Integer.parseInt(args[3]);
        json = args.length > 4 && args[4].equals("json");
        clock.set(NOW);
    }

    /** Arguments: "kafka3" or "kafka4", a directory, MiB a run, runs, and optionally "json". */
    public static void main(String[] args) throws Exception {
        new Timing(args).all();
        System.exit(0);
    }

    private interface Timed {
        /** The nanoseconds that it took. */
        long run() throws Exception;
    }

    private void all() throws Exception {
        for (int records : new int[] {16, 64}) {
            report("leader-" + records, "MB/s", perSecond(bytes), () -> append(records, true, false));
            report("follower-" + records, "MB/s", perSecond(bytes), () -> append(records, false, false));
            report("leader-" + records + "-sync", "MB/s", perSecond(bytes), () -> append(records, true, true));
            report("read-" + records, "MB/s", perSecond(bytes), () -> reread(records));
            report("recover-" + records, "MB/s", perSecond(bytes), () -> recover(records));
        }
        for (int entries : new int[] {32_768, 10 << 20 >> 3}) {
            report("random-" + entries, "ns", nanos -> (double) nanos / LOOKUPS, () -> lookups(entries, entries));
            report("tail-" + entries, "ns", nanos -> (double) nanos / LOOKUPS, () -> lookups(entries, 64));
        }
        for (int value : new int[] {100, 1024}) {
            for (int unique : new int[] {10, 90}) {
                long total = bytes / (value + 40) / 16 * 16;
                report("value-" + value + "-unique-" + unique, "MB/s", perSecond(total * value), () -> compact(value, unique, total));
            }
        }
        if (sink == 42) {
            System.out.println(); // keeps what was read alive
        }
    }

    private static java.util.function.LongToDoubleFunction perSecond(long bytes) {
        return nanos -> bytes * 1e3 / nanos;
    }

    private void report(String name, String unit, java.util.function.LongToDoubleFunction value, Timed what) throws Exception {
        what.run(); // the compiler's
        double[] values = new double[runs];
        double[] onCpu = new double[runs];
        for (int i = 0; i < runs; i++) {
            cpu = 0;
            values[i] = value.applyAsDouble(what.run());
            onCpu[i] = value.applyAsDouble(cpu);
        }
        Arrays.sort(values);
        Arrays.sort(onCpu);
        double median = median(values);
        if (json) {
            System.out.printf("{\"name\":\"%s\",\"median\":%.1f,\"min\":%.1f,\"max\":%.1f,\"runs\":%d,\"unit\":\"%s\",\"cpu_median\":%.1f}%n",
                name, median, values[0], values[runs - 1], runs, unit, median(onCpu));
        } else {
            System.out.printf("%-24s %8.0f %-5s %8.0f to %-8.0f %8.0f by the process's CPU time%n",
                name, median, unit, values[0], values[runs - 1], median(onCpu));
        }
    }

    private static double median(double[] sorted) {
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    private long mark() {
        cpuBegan = SYSTEM.getProcessCpuTime();
        return System.nanoTime();
    }

    private long since(long began) {
        long took = System.nanoTime() - began;
        cpu += SYSTEM.getProcessCpuTime() - cpuBegan;
        return took;
    }

    private KafkaLogs logs() throws Exception {
        Class<?> c = Class.forName("simkafka." + release + ".LogsOfRelease");
        return (KafkaLogs) c.getConstructor(Time.class, Scheduler.class).newInstance(clock, tasks);
    }

    /** A data directory with one empty log. */
    private KafkaLogs fresh(File dir, String... settings) throws Exception {
        remove(dir);
        Files.createDirectories(dir.toPath());
        KafkaLogs l = open(dir, settings);
        l.create(TOPIC, new Uuid(1, 1));
        l.assignEpoch(TOPIC, 0, 0);
        return l;
    }

    private KafkaLogs open(File dir, String... settings) throws Exception {
        Properties p = new Properties();
        for (int i = 0; i < settings.length; i += 2) {
            p.setProperty(settings[i], settings[i + 1]);
        }
        KafkaLogs l = logs();
        l.load(dir, new Properties(), Map.of(TOPIC, p));
        return l;
    }

    private void close(KafkaLogs l, File dir) throws Exception {
        l.kill();
        tasks.shutdown();
        remove(dir);
    }

    private static void remove(File dir) throws Exception {
        if (!dir.exists()) {
            return;
        }
        try (Stream<Path> all = Files.walk(dir.toPath())) {
            for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(p);
            }
        }
    }

    private File place(String name) {
        return root.resolve(name).toFile();
    }

    /** A batch of records of random bytes, as a client sends it. */
    private static MemoryRecords batch(int records, int value) {
        Random random = new Random(1);
        SimpleRecord[] all = new SimpleRecord[records];
        for (int i = 0; i < records; i++) {
            byte[] v = new byte[value];
            random.nextBytes(v);
            all[i] = new SimpleRecord(NOW, null, v);
        }
        return MemoryRecords.withRecords(Compression.NONE, all);
    }

    /** Appends until the log has its bytes; a leader writes offsets into the batch, a follower gets them. */
    private long fill(KafkaLogs l, int records, boolean leader) throws Exception {
        MemoryRecords batch = batch(records, VALUE);
        long count = bytes / batch.sizeInBytes();
        long began = mark();
        for (long i = 0; i < count; i++) {
            MutableRecordBatch b = batch.batches().iterator().next();
            if (leader) {
                b.setLastOffset(records - 1); // the append before has written its offsets
                l.append(TOPIC, batch, 0, AppendOrigin.CLIENT);
            } else {
                b.setLastOffset((i + 1) * records - 1);
                b.setPartitionLeaderEpoch(0);
                l.replicate(TOPIC, batch, 0);
            }
        }
        long took = since(began);
        expect(count * records, end(l));
        return took;
    }

    private static long end(KafkaLogs l) throws Exception {
        return Long.parseLong(l.state(TOPIC).split(" ")[1]);
    }

    private static void expect(long want, long got) {
        if (want != got) {
            throw new IllegalStateException("expected " + want + ", got " + got);
        }
    }

    private long append(int records, boolean leader, boolean sync) throws Exception {
        File dir = place("append");
        KafkaLogs l = fresh(dir);
        long took = fill(l, records, leader);
        if (sync) {
            long began = mark();
            l.flush(TOPIC);
            took += since(began);
        }
        close(l, dir);
        return took;
    }

    /** Reads by 1 MiB, checks the CRCs and goes over the records. */
    private long reread(int records) throws Exception {
        File dir = place("read");
        KafkaLogs l = fresh(dir);
        fill(l, records, true);
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        long count = 0;
        long began = mark();
        for (long at = 0, end = end(l); at < end; ) {
            FileRecords piece = (FileRecords) l.read(TOPIC, at, buffer.capacity());
            buffer.clear();
            buffer.limit(Math.min(buffer.capacity(), piece.sizeInBytes()));
            piece.readInto(buffer, 0);
            for (MutableRecordBatch b : MemoryRecords.readableRecords(buffer).batches()) {
                b.ensureValid();
                for (Record r : b) {
                    sink += r.valueSize();
                    count++;
                }
                at = b.nextOffset();
            }
        }
        long took = since(began);
        expect(end(l), count);
        close(l, dir);
        return took;
    }

    /** The load of a log that was not closed. */
    private long recover(int records) throws Exception {
        File dir = place("recover");
        KafkaLogs l = fresh(dir);
        fill(l, records, true);
        long end = end(l);
        l.kill();
        tasks.shutdown();
        long began = mark();
        l = open(dir);
        long took = since(began);
        expect(end, end(l));
        close(l, dir);
        return took;
    }

    /** Looks offsets up that are among the last of an index's entries. */
    private long lookups(int entries, int among) throws Exception {
        File file = place("lookup.index");
        Files.deleteIfExists(file.toPath());
        OffsetIndex index = new OffsetIndex(file, 0, entries * 8);
        for (int i = 0; i < entries; i++) {
            index.append(i * 16L, i * 1000);
        }
        long[] offsets = new Random(2).longs(LOOKUPS, (entries - among) * 16L + 1, entries * 16L).toArray();
        long began = mark();
        for (long o : offsets) {
            sink += index.lookup(o).position;
        }
        long took = since(began);
        expect((entries - 1) * 1000L, index.lookup(entries * 16L).position);
        index.close();
        Files.delete(file.toPath());
        return took;
    }

    /** Cleans a log once: both passes, and the replacement of the segments. */
    private long compact(int value, int unique, long total) throws Exception {
        File dir = place("compact");
        KafkaLogs l = fresh(dir, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01");
        Random random = new Random(3);
        byte[] payload = new byte[value];
        random.nextBytes(payload);
        long space = Math.max(1, total * unique / 100);
        for (long n = 0; n < total; n += 16) {
            List<SimpleRecord> batch = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                byte[] key = String.format("user-%019d", (random.nextLong() >>> 1) % space).getBytes();
                batch.add(new SimpleRecord(NOW, key, payload));
            }
            l.append(TOPIC, MemoryRecords.withRecords(Compression.NONE, batch.toArray(new SimpleRecord[0])), 0, AppendOrigin.CLIENT);
        }
        l.roll(TOPIC);
        l.updateHighWatermark(TOPIC, total);
        int map = (int) Math.min(total * 24 * 10 / 8, 128 << 20);
        long began = mark();
        String cleaned = l.clean(map, 256 << 10);
        long took = since(began);
        if (!cleaned.equals(TOPIC + " " + total)) {
            throw new IllegalStateException("cleaned: " + cleaned);
        }
        close(l, dir);
        return took;
    }
}
