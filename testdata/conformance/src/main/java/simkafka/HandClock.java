package simkafka;

import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still until it is set. */
public final class HandClock implements Time {
    private volatile long ms;

    void set(long ms) {
        this.ms = ms;
    }

    @Override
    public long milliseconds() {
        return ms;
    }

    @Override
    public long nanoseconds() {
        return ms * 1_000_000;
    }

    @Override
    public void sleep(long ms) {
        this.ms += ms;
    }

    @Override
    public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException();
    }
}
