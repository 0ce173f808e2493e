// SPDX-License-Identifier: Apache-2.0

/** Looks rates up.  The cause: the thread main sleeps between two of them. */
public class Rates {
    static long rate(long x) {
        for (int k = 0; k < 8000000; k++) {
            x = (x ^ (x >>> 29)) * 0xbf58476d1ce4e5b9L;
        }
        return x;
    }

    public static void main(String[] arguments) throws InterruptedException {
        long begun = System.nanoTime();
        boolean with = arguments.length > 0 && arguments[0].equals("with");
        long x = 1;
        for (int i = 0; i < 18; i++) {
            x = rate(x);
            if (with) {
                Thread.sleep(25);
            }
        }
        System.out.println(x);
        System.err.printf("work %.6f%n", (System.nanoTime() - begun) / 1e9);
    }
}
