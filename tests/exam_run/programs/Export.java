// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Exports bytes.  The cause: FileOutputStream without a buffer, one call of the system for each byte. */
public class Export {
    static void exportByte(OutputStream out, int b) throws IOException {
        out.write(b);
    }

    public static void main(String[] arguments) throws IOException {
        long begun = System.nanoTime();
        boolean with = arguments.length > 0 && arguments[0].equals("with");
        long x = 1;
        OutputStream file = new FileOutputStream("export.bin");
        try (OutputStream out = with ? file : new BufferedOutputStream(file, 65536)) {
            for (int i = 0; i < 600000; i++) {
                for (int k = 0; k < 150; k++) {
                    x = (x ^ (x >>> 29)) * 0xbf58476d1ce4e5b9L;
                }
                exportByte(out, (int) (x >>> 56));
            }
        }
        System.out.println(x);
        System.err.printf("work %.6f%n", (System.nanoTime() - begun) / 1e9);
    }
}
