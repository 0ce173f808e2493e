// SPDX-License-Identifier: Apache-2.0
// Counts primes; a thread beside it only sleeps.
public class Sieve {
    static int count(int n) {
        boolean[] out = new boolean[n + 1];
        int found = 0;
        for (int i = 2; i <= n; i++) {
            if (out[i]) continue;
            found++;
            for (long k = (long) i * i; k <= n; k += i) out[(int) k] = true;
        }
        return found;
    }
    public static void main(String[] words) throws Exception {
        Thread idle = new Thread(() -> {
            try { Thread.sleep(20); } catch (InterruptedException end) { }
        });
        idle.start();
        int sum = 0;
        for (int i = 0; i < 60; i++) sum += count(1_000_000);
        idle.join();
        System.out.println(sum);
    }
}
