// SPDX-License-Identifier: Apache-2.0

/** Follows an orbit and keeps its energy.  The cause: the thread main computes the energy at every point, compiled by the JIT. */
public class Orbit {
    static double energy(double a, double b) {
        double sum = 0;
        for (int i = 1; i < 20000; i++) {
            sum += Math.sqrt(a * i + b);
        }
        return sum;
    }

    static double advance(double a) {
        for (int i = 1; i < 5000; i++) {
            a = a * 0.999 + 1.0 / (i + a * a);
        }
        return a;
    }

    public static void main(String[] arguments) {
        long begun = System.nanoTime();
        boolean with = arguments.length > 0 && arguments[0].equals("with");
        double a = 0.5;
        double sum = 0;
        for (int i = 0; i < 8500; i++) {
            a = advance(a);
            if (with) {
                sum += energy(a, i);
            }
        }
        System.out.println(a);
        System.err.printf("work %.6f%s%n", (System.nanoTime() - begun) / 1e9, sum < 0 ? "!" : "");
    }
}
