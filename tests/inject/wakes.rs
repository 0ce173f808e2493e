// SPDX-License-Identifier: Apache-2.0
// wakes.rs - std::sync::Mutex and Condvar, 20 ms of waiting for each.
use std::sync::{Condvar, Mutex};
use std::time::Duration;

static LOCK: Mutex<bool> = Mutex::new(false);
static READY: Condvar = Condvar::new();
static HAS_LOCK: Mutex<bool> = Mutex::new(false);

fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn main() {
    let other = std::thread::spawn(|| {
        {
            let _held = LOCK.lock().unwrap();
            *HAS_LOCK.lock().unwrap() = true;
            pause();
        }
        pause();
        *LOCK.lock().unwrap() = true;
        READY.notify_all();
    });
    while !*HAS_LOCK.lock().unwrap() {
        std::thread::yield_now();
    }
    let mut ready = LOCK.lock().unwrap();
    while !*ready {
        ready = READY.wait(ready).unwrap();
    }
    drop(ready);
    other.join().unwrap();
}
