package simkafka;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;

/** Topics of one partition. */
final class Topics {
    private static final long READY_WITHIN_MS = 120_000;
    private final String bootstrap;
    private Admin admin;

    Topics(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    private Admin admin() {
        if (admin == null) {
            Properties p = new Properties();
            p.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
            p.put(AdminClientConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, "200");
            p.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, "60000");
            admin = Admin.create(p);
        }
        return admin;
    }

    /** Waits some seconds for a broker to answer; tells the cluster's id. */
    String ready() throws Exception {
        return admin().describeCluster(new DescribeClusterOptions().timeoutMs(4000)).clusterId().get();
    }

    /** Tells the topic's id. */
    String create(String topic, short replication, Map<String, String> configs) throws Exception {
        NewTopic t = new NewTopic(topic, Optional.of(1), Optional.of(replication)).configs(configs);
        return admin().createTopics(List.of(t)).topicId(topic).get().toString();
    }

    /** Tells the topic's id and the leader of its partition, -1 if there is none. */
    String describe(String topic) throws Exception {
        TopicDescription d = admin().describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        var leader = d.partitions().get(0).leader();
        return d.topicId() + " " + (leader == null ? -1 : leader.id());
    }

    /** Tells log start, high watermark, and the leader epoch that goes with it (-1 if none). */
    String offsets(String topic) throws Exception {
        ListOffsetsResultInfo first = list(topic, OffsetSpec.earliest());
        ListOffsetsResultInfo end = list(topic, OffsetSpec.latest());
        return first.offset() + " " + end.offset() + " " + end.leaderEpoch().orElse(-1);
    }

    /** For each time, or "max": timestamp, offset and leader epoch of what ListOffsets finds. */
    String times(String topic, List<String> times) throws Exception {
        StringBuilder out = new StringBuilder();
        for (String time : times) {
            OffsetSpec spec = time.equals("max") ? OffsetSpec.maxTimestamp() : OffsetSpec.forTimestamp(Long.parseLong(time));
            ListOffsetsResultInfo found = list(topic, spec);
            out.append(found.timestamp()).append(' ').append(found.offset()).append(' ');
            out.append(found.leaderEpoch().orElse(-1)).append(' ');
        }
        return out.toString();
    }

    /** A broker that has just started may not know its topics yet. */
    private ListOffsetsResultInfo list(String topic, OffsetSpec spec) throws Exception {
        TopicPartition tp = new TopicPartition(topic, 0);
        long deadline = System.currentTimeMillis() + READY_WITHIN_MS;
        while (true) {
            try {
                return admin().listOffsets(Map.of(tp, spec)).partitionResult(tp).get();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof RetriableException) || System.currentTimeMillis() > deadline) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    String deleteRecords(String topic, long offset) throws Exception {
        TopicPartition tp = new TopicPartition(topic, 0);
        var result = admin().deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(offset)));
        return "" + result.lowWatermarks().get(tp).get().lowWatermark();
    }
}
