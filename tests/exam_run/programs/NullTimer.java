// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Computes in the thread main.  Not a cause: a scheduler that waits in its own thread, and the idle threads of the JVM. */
public class NullTimer {
    static long left(long x) {
        for (int k = 0; k < 3000000; k++) {
            x = (x ^ (x >>> 29)) * 0xbf58476d1ce4e5b9L;
        }
        return x;
    }

    static long right(long x) {
        for (int k = 0; k < 3000000; k++) {
            x = (x ^ (x >>> 31)) * 0x94d049bb133111ebL;
        }
        return x;
    }

    public static void main(String[] arguments) {
        long begun = System.nanoTime();
        boolean with = arguments.length > 0 && arguments[0].equals("with");
        ScheduledExecutorService timer = with ? Executors.newScheduledThreadPool(1) : null;
        if (with) {
            timer.scheduleAtFixedRate(() -> { }, 0, 40, TimeUnit.MILLISECONDS);
        }
        long x = 1;
        for (int i = 0; i < 60; i++) {
            x = right(left(x));
        }
        if (with) {
            timer.shutdownNow();
        }
        System.out.println(x);
        System.err.printf("work %.6f%n", (System.nanoTime() - begun) / 1e9);
    }
}
