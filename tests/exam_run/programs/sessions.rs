// SPDX-License-Identifier: Apache-2.0
//! Four threads keep sessions alive.  The cause: the table's Mutex is held while a server is waited for.

mod work_clock;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use work_clock::mix;

fn ask_server(id: u64) -> u64 {
    thread::sleep(Duration::from_millis(2));
    id * 3
}

#[inline(never)]
fn renew_session(table: &Mutex<HashMap<u64, u64>>, id: u64, held: bool) {
    if held {
        let mut sessions = table.lock().unwrap();
        sessions.insert(id, ask_server(id));
    } else {
        let answer = ask_server(id);
        table.lock().unwrap().insert(id, answer);
    }
}

fn main() {
    let (with, work) = work_clock::begin();
    let table = Arc::new(Mutex::new(HashMap::new()));
    let threads: Vec<_> = (0..4u64)
        .map(|t| {
            let table = table.clone();
            thread::spawn(move || {
                let mut x = t + 1;
                for i in 0..60 {
                    x = mix(x, 400_000);
                    renew_session(&table, t * 100 + i, with);
                }
                x
            })
        })
        .collect();
    let sum = threads.into_iter().map(|t| t.join().unwrap()).fold(0u64, u64::wrapping_add);
    println!("{} {}", table.lock().unwrap().len(), sum);
    work.end();
}
