//! Seeds do not stay in memory that has been given back: looked for at the allocator.
//!
//! One test, since it looks at the whole process.

use slvr_circuit::text;
use slvr_runtime::party::remote::{Incoming, Job, Message, Setup, set_up};
use slvr_runtime::party::session::{Dealer, Options, encode};
use slvr_runtime::share::encode::{Inputs, RawTensor};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Watching;

/// What is looked for.
static SEEDS: OnceLock<[[u8; 16]; 3]> = OnceLock::new();
static FOUND: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came. A block is read before it is given back, when
// nobody else uses it; it may hold bytes that nothing has written, which zeroed blocks rule out.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if let Some(seeds) = SEEDS.get() {
            // SAFETY: the block has this many bytes, all of them written.
            let block = unsafe { std::slice::from_raw_parts(at, layout.size()) };
            if block.windows(16).any(|w| seeds.iter().any(|s| s == w)) {
                FOUND.fetch_add(1, Relaxed);
            }
        }
        // SAFETY: the caller's pointer and layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

const CIRCUIT: &str = r#"circuit "small"
party "Client" 2
party "Server" 1
input %0 "x" from 0 int(0, 10) [3] : A64[2,3]
output 0 "y" to 1 [2,3] ring 64 frac 0 factor 1.0 divisor 1.0
site 0 "s" line 1
layer 0:
  %1 = as_add3 %0 : add3.A64[2,3] @0
  exchange:
  open_to %1 output 0 @0
"#;

#[test]
fn seeds_are_wiped_from_setups_and_messages() {
    let circuit = text::parse(CIRCUIT).unwrap();
    let options = Options { seed: Some(5), ..Options::default() };
    let of = |x: i64| BTreeMap::from([("x".to_string(), RawTensor::integers([3], vec![x; 3]))]);
    let inputs = Inputs { sets: vec![vec![of(1), of(2)]], ..Inputs::default() };
    let encoded = || encode(&circuit, &inputs).unwrap();
    // With a fixed seed the parties' seeds are always the same.
    let pairs = Dealer::new(&options).unwrap().pairs();
    let seeds = pairs.each_ref().map(|p| *p.next.expose());
    let blind = encoded();
    assert!(SEEDS.set(seeds).is_ok());

    // What is not wiped is found.
    drop(std::hint::black_box(seeds[1].to_vec()));
    assert_eq!(FOUND.swap(0, Relaxed), 1);

    let bind = [0; 3].map(|_| "127.0.0.1:0".to_string());
    let all = set_up(&circuit, blind, &options, bind, [None, None, None]).unwrap();
    let messages: Vec<Message> = all.setups.iter().map(|s| Message::of(s).unwrap()).collect();
    drop(all);
    for message in messages {
        let mut pipe = Vec::new();
        message.write(&mut pipe).unwrap();
        drop(message);
        let mut from = Incoming::new(pipe.as_slice());
        let setup: Setup = from.message(u64::MAX).unwrap();
        drop(from);
        drop(Job::new(setup).unwrap());
        // The pipe itself is the system's.
        pipe.fill(0);
    }
    assert_eq!(FOUND.load(Relaxed), 0, "blocks with a seed were given back");
}
