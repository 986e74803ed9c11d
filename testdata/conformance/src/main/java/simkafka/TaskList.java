package simkafka;

import java.util.ArrayDeque;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.server.util.Scheduler;

/**
 * A broker's background tasks, which run when they are told to, in their order and
 * whatever their delay. Periodic ones are left out.
 */
public final class TaskList implements Scheduler {
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

    @Override
    public void startup() {
    }

    @Override
    public synchronized void shutdown() {
        tasks.clear();
    }

    @Override
    public synchronized ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (periodMs < 0) {
            tasks.add(task);
        }
        return new Promise();
    }

    @Override
    public void resizeThreadPool(int threads) {
    }

    void runAll() {
        for (Runnable task = next(); task != null; task = next()) {
            task.run();
        }
    }

    private synchronized Runnable next() {
        return tasks.poll();
    }

    /** What schedule returns: some of its callers cancel a task when they stop. */
    private static final class Promise implements ScheduledFuture<Object> {
        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            return true;
        }

        @Override
        public boolean isCancelled() {
            return false;
        }

        @Override
        public boolean isDone() {
            return false;
        }

        @Override
        public Object get() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object get(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
