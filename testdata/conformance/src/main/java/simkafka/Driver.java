package simkafka;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The clients of one real broker, scripted over standard input: a command a line, words
 * separated by spaces. Each answer is any number of data lines, each after a tab, and then
 * "ok" with some words or "error" with a message. It runs until its input ends.
 */
public final class Driver {
    private final Topics topics;
    private final Producers producers;
    private final Reader reader;
    private final Groups groups;

    private Driver(String bootstrap) {
        topics = new Topics(bootstrap);
        producers = new Producers(bootstrap);
        reader = new Reader(bootstrap);
        groups = new Groups(bootstrap);
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Driver driver = new Driver(args[0]);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println("ok " + driver.run(line.trim().split(" +"), out));
            } catch (Exception e) {
                out.println("error " + e.toString().replace('\n', ' '));
            }
        }
        System.exit(0); // clients of a broker that was killed do not end by themselves
    }

    private String run(String[] words, PrintStream out) throws Exception {
        switch (words[0]) {
            case "ready":
                return topics.ready();
            case "create": // topic, replication factor, key=value ...
                return topics.create(words[1], Short.parseShort(words[2]), pairs(words, 3));
            case "describe": // topic
                return topics.describe(words[1]);
            case "offsets": // topic
                return topics.offsets(words[1]);
            case "times": // topic, time or "max" ...
                return topics.times(words[1], List.of(words).subList(2, words.length));
            case "delete-records": // topic, offset
                return topics.deleteRecords(words[1], Long.parseLong(words[2]));
            case "producer": // name, key=value ...
                return producers.open(words[1], pairs(words, 2));
            case "begin": // producer
            case "commit":
            case "abort":
                return producers.transaction(words[0], words[1]);
            case "batch": // producer, topic, record ...
                return producers.batch(words[1], words[2], List.of(words).subList(3, words.length));
            case "close": // producer
                return producers.close(words[1]);
            case "consume": // topic, and optionally the offset after its last record
                return reader.consume(words[1], words.length > 2 ? Long.parseLong(words[2]) : Long.MAX_VALUE, out);
            case "group": // id
                return groups.describe(words[1], out);
            default:
                throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    private static Map<String, String> pairs(String[] words, int from) {
        Map<String, String> out = new TreeMap<>();
        for (int i = from; i < words.length; i++) {
            int at = words[i].indexOf('=');
            out.put(words[i].substring(0, at), words[i].substring(at + 1));
        }
        return out;
    }
}
