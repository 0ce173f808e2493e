// SPDX-License-Identifier: Apache-2.0
// Sorts in a thread, which the main one joins.
fn fill(n: usize) -> Vec<u64> {
    let mut x: u64 = 1;
    (0..n).map(|_| { x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); x >> 7 }).collect()
}

#[inline(never)]
fn sort_all(mut all: Vec<u64>) -> u64 {
    all.sort();
    all.iter().step_by(1000).fold(0, |a, b| a ^ b)
}

fn main() {
    let sums: Vec<_> = (0..6).map(|k| std::thread::spawn(move || sort_all(fill(400_000 + k))).join().unwrap()).collect();
    println!("{:?}", sums);
}
