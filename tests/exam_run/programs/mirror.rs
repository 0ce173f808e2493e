// SPDX-License-Identifier: Apache-2.0
//! Mirrors pages; a helper is parked all the time.  The cause: it is polite and sleeps between two pages.

mod work_clock;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use work_clock::mix;

#[inline(never)]
fn mirror_page(x: u64, polite: bool) -> u64 {
    if polite {
        thread::sleep(Duration::from_millis(25));
    }
    mix(x, 9_000_000)
}

fn main() {
    let (with, work) = work_clock::begin();
    let over = Arc::new(AtomicBool::new(false));
    let seen = over.clone();
    let helper = thread::Builder::new()
        .name("helper".into())
        .spawn(move || {
            while !seen.load(Ordering::Acquire) {
                thread::park();
            }
        })
        .unwrap();
    let x = (0..16).fold(1, |x, _| mirror_page(x, with));
    over.store(true, Ordering::Release);
    helper.thread().unpark();
    helper.join().unwrap();
    println!("{x}");
    work.end();
}
