package simkafka.kafka4;

import java.io.File;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentMap;
import kafka.log.LogManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import simkafka.KafkaLogs;

/** KafkaLogs of Kafka 4.1. */
public final class LogsOfRelease implements KafkaLogs {
    private final Time time;
    private final Scheduler scheduler;
    private LogManager manager;
    private LogCleaner cleaner;
    private BrokerTopicStats stats;

    public LogsOfRelease(Time time, Scheduler scheduler) {
        this.time = time;
        this.scheduler = scheduler;
    }

    @Override
    public void load(File dir, Properties defaults, Map<String, Properties> topics) throws Exception {
        LogConfig config = new LogConfig(defaults);
        CleanerConfig cleaning = new CleanerConfig(1, 1 << 20, 0.9, 1 << 20, 1 << 20, Double.MAX_VALUE, 1000, false);
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        stats = new BrokerTopicStats();
        scala.collection.Seq<File> dirs = CollectionConverters.asScala(List.of(dir));
        scala.collection.Seq<File> none = CollectionConverters.asScala(List.<File>of());
        manager = new LogManager(dirs, none, resource -> topics.getOrDefault(resource.name(), new Properties()), config,
            cleaning, 1, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 900_000, new ProducerStateManagerConfig(86_400_000, false),
            600_000, scheduler, stats, failures, time, false, 0L);
        // Never started, it has no threads; it keeps the checkpoint and picks what to clean.
        cleaner = new LogCleaner(cleaning, List.of(dir), currentLogs(), failures, time);
        field("_cleaner").set(manager, cleaner);
        scala.collection.mutable.Map<String, LogConfig> overrides = scala.collection.mutable.Map$.MODULE$.empty();
        topics.forEach((topic, settings) -> overrides.put(topic, LogConfig.fromProps(defaults, settings)));
        manager.loadLogs(config, overrides, log -> false);
        if (failures.hasOfflineLogDir(dir.getAbsolutePath())) {
            throw new IllegalStateException("the directory is offline");
        }
    }

    private static Field field(String name) throws Exception {
        Field f = LogManager.class.getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }

    @SuppressWarnings("unchecked")
    private ConcurrentMap<TopicPartition, UnifiedLog> currentLogs() throws Exception {
        return (ConcurrentMap<TopicPartition, UnifiedLog>) field("currentLogs").get(manager);
    }

    private UnifiedLog log(String topic) {
        return manager.getLog(KafkaLogs.partition(topic), false).get();
    }

    @Override
    public Collection<String> topics() {
        List<String> out = new ArrayList<>();
        CollectionConverters.asJava(manager.allLogs()).forEach(log -> out.add(log.topicPartition().topic()));
        return out;
    }

    @Override
    public void create(String topic, Uuid id) {
        manager.getOrCreateLog(KafkaLogs.partition(topic), true, false, Optional.of(id), Option.empty());
        log(topic).partitionMetadataFile().get().maybeFlush(); // not only with the first append
    }

    @Override
    public String state(String topic) {
        UnifiedLog log = log(topic);
        return log.logStartOffset() + " " + log.logEndOffset() + " " + log.highWatermark() + " " + log.lastStableOffset()
            + " " + log.recoveryPoint() + " " + log.latestEpoch().orElse(-1) + " " + log.numberOfSegments();
    }

    @Override
    public long append(String topic, MemoryRecords records, int epoch, AppendOrigin origin) {
        return log(topic).appendAsLeader(records, epoch, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL).firstOffset();
    }

    @Override
    public void replicate(String topic, MemoryRecords records, int epoch) {
        log(topic).appendAsFollower(records, epoch);
    }

    @Override
    public Records read(String topic, long offset, int maxBytes) throws Exception {
        return log(topic).read(offset, maxBytes, FetchIsolation.LOG_END, true).records;
    }

    @Override
    public long offsetForTimestamp(String topic, long timestamp) {
        var found = log(topic).fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt();
        return found.isEmpty() ? -1 : found.get().offset;
    }

    @Override
    public void flush(String topic) {
        log(topic).flush(true);
    }

    @Override
    public void assignEpoch(String topic, int epoch, long start) {
        log(topic).assignEpochStartOffset(epoch, start);
    }

    @Override
    public void updateHighWatermark(String topic, long offset) throws Exception {
        log(topic).updateHighWatermark(offset);
    }

    @Override
    public void raiseStart(String topic, long offset) {
        log(topic).maybeIncrementLogStartOffset(offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
    }

    @Override
    public void roll(String topic) throws Exception {
        log(topic).roll();
    }

    @Override
    public int deleteOldSegments(String topic) throws Exception {
        return log(topic).deleteOldSegments();
    }

    @Override
    public void truncate(String topic, long offset) {
        scala.collection.mutable.Map<TopicPartition, Object> offsets = scala.collection.mutable.Map$.MODULE$.empty();
        offsets.put(KafkaLogs.partition(topic), offset);
        manager.truncateTo(offsets, false);
    }

    @Override
    public void restartAt(String topic, long offset) {
        manager.truncateFullyAndStartAt(KafkaLogs.partition(topic), offset, false, Optional.empty());
    }

    @Override
    public void writeRecoveryPoints() {
        manager.checkpointLogRecoveryOffsets();
    }

    @Override
    public void writeStarts() {
        manager.checkpointLogStartOffsets();
    }

    @Override
    public String clean(int mapBytes, int readBytes) throws Exception {
        var of = cleaner.cleanerManager();
        Optional<LogToClean> dirtiest = of.grabFilthiestCompactedLog(time, new PreCleanStats());
        if (dirtiest.isEmpty()) {
            return "nothing";
        }
        LogToClean log = dirtiest.get();
        Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time);
        Cleaner c = new Cleaner(0, new SkimpyOffsetMap(mapBytes, "MD5"), readBytes, 1 << 20, 0.9, throttler, time,
            of::checkCleaningAborted);
        long end = log.firstDirtyOffset();
        try {
            end = c.clean(log).getKey();
        } finally {
            of.doneCleaning(log.topicPartition(), log.log().dir().getParentFile(), end);
        }
        return log.topicPartition().topic() + " " + end;
    }

    @Override
    public void stop() throws Exception {
        var all = List.copyOf(CollectionConverters.asJavaCollection(manager.allLogs()));
        manager.shutdown(-1);
        forget(all);
    }

    @Override
    public void kill() throws Exception {
        if (manager == null) {
            return;
        }
        var all = List.copyOf(CollectionConverters.asJavaCollection(manager.allLogs()));
        all.forEach(UnifiedLog::closeHandlers);
        for (FileLock lock : CollectionConverters.asJava(manager.dirLocks())) {
            lock.destroy();
        }
        if (cleaner != null) {
            cleaner.shutdown();
        }
        forget(all);
    }

    private void forget(Collection<UnifiedLog> all) {
        all.forEach(UnifiedLog::removeLogMetrics);
        stats.close();
        manager = null;
        cleaner = null;
    }
}
