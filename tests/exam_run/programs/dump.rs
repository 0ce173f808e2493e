// SPDX-License-Identifier: Apache-2.0
//! Dumps a table as text.  The cause: writeln! straight to the file, without a BufWriter.

mod work_clock;

use std::fs::File;
use std::io::{BufWriter, Write};

#[inline(never)]
fn dump_row(out: &mut dyn Write, i: u64) {
    writeln!(out, "{i};{}", i * i % 977).unwrap();
}

fn main() {
    let (with, work) = work_clock::begin();
    let file = File::create("table.csv").unwrap();
    let mut out: Box<dyn Write> = if with { Box::new(file) } else { Box::new(BufWriter::new(file)) };
    let mut x = 1;
    for i in 0..180_000 {
        x = work_clock::mix(x, 500);
        dump_row(&mut *out, i);
    }
    out.flush().unwrap();
    println!("{x}");
    work.end();
}
