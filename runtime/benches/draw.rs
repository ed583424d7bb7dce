//! What a core draws of the words that two parties share. `cargo bench -p slvr-runtime --bench draw`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slvr_circuit::Dom;
use slvr_runtime::share::{Prg, Purpose, RunId, Seed, Stream};
use std::hint::black_box;

const N: usize = 1_000_000;

fn draw(c: &mut Criterion) {
    let mut group = c.benchmark_group("chacha12");
    group.throughput(Throughput::Bytes(8 * N as u64));
    for (name, dom) in [("2^64", Dom::Ring(64)), ("64 planes", Dom::Bits(64))] {
        group.bench_function(name, |b| {
            b.iter(|| {
                // A generator for each draw: in builds with debug assertions none draws twice.
                let prg = Prg::new(&Seed::new([7; 16]), RunId([9; 16]));
                black_box(prg.draw(Stream::new(1, Purpose::Mask), dom, 0, N))
            });
        });
    }
}

criterion_group!(benches, draw);
criterion_main!(benches);
