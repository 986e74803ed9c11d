package simkafka;

import java.io.PrintStream;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;

/** What the broker's group coordinator knows. */
final class Groups {
    private final String bootstrap;
    private Admin admin;

    Groups(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    private Admin admin() {
        if (admin == null) {
            Properties p = new Properties();
            p.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
            admin = Admin.create(p);
        }
        return admin;
    }

    /** A line for each member and each committed offset, sorted; tells state and assignor. */
    @SuppressWarnings({"deprecation", "removal"}) // of state(), which 3.9 has alone
    String describe(String group, PrintStream out) throws Exception {
        ConsumerGroupDescription d = admin().describeConsumerGroups(List.of(group)).all().get().get(group);
        TreeMap<String, String> lines = new TreeMap<>();
        for (MemberDescription m : d.members()) {
            TreeMap<String, String> parts = new TreeMap<>();
            m.assignment().topicPartitions().forEach(p -> parts.put(p.toString(), ""));
            lines.put(m.consumerId(), m.clientId() + m.host() + " " + m.groupInstanceId().orElse("-") + " " + String.join(",", parts.keySet()));
        }
        admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((p, o) ->
            lines.put(p.toString(), o.offset() + " " + o.leaderEpoch().orElse(-1) + " \"" + o.metadata() + "\""));
        lines.forEach((key, value) -> out.println("\t" + key + " " + value));
        return d.state() + " " + d.partitionAssignor();
    }
}
