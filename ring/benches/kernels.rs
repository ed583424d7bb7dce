//! Kernels against what the machine can do at most, both measured in one run.
//!
//! `cargo bench -p slvr-ring --bench kernels [-- filter]`; `RAYON_NUM_THREADS=1` measures one
//! core. Beside Criterion's report it prints a table: kernel, achieved, fraction of the peak, from
//! the fastest repetition of each.
//!
//! # Peaks
//!
//! Of as many threads at once as the kernels may use, each the fastest of several repetitions.
//!
//! *Integer multiply-add*: a loop over 24 independent sums in vector registers, each multiplied and
//! added to in every round ([`kernels::multiply_adds`]), for words of 64 and of 32 bits. Narrower words
//! are compared with the 32-bit peak, which they may exceed. A product of 128 bits is nine products of
//! 52-bit limbs in vector registers, at the rate of 64-bit ones: a ninth of that is its peak.
//!
//! *Memory bandwidth*: a triad `a[i] = b[i] ^ c[i]` over three buffers of 256 MiB, counted as two
//! reads and one write. Elementwise kernels and layers of a comparison are counted likewise: the bytes
//! that they must read and write, no matter how often they do. What fits into the cache may exceed it.

use criterion::{Criterion, criterion_group, criterion_main};
use rayon::prelude::*;
use slvr_circuit::Conv;
use slvr_circuit::Dom;
use slvr_circuit::multi_and::MultiAnd;
use slvr_ring::kernels::{self, ConvDims, MatMulDims};
use slvr_ring::{Data, Planes, Words, carry};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Kernel, work done, unit (1e9 of it a second) and peak of the unit.
static ROWS: Mutex<Vec<(String, f64, &'static str, f64)>> = Mutex::new(Vec::new());

/// What the machine can do, in 1e9 a second.
#[derive(Clone, Copy)]
struct Peaks {
    mac64: f64,
    mac32: f64,
    bytes: f64,
}

fn fastest(repeats: usize, mut f: impl FnMut()) -> Duration {
    let timed = |_| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    (0..repeats).map(timed).min().unwrap_or_default()
}

fn peaks() -> Peaks {
    let threads = rayon::current_num_threads();
    let mac = |bits| {
        let rounds = 1_000_000;
        let work = threads * kernels::multiply_adds(bits, 1);
        let time = fastest(50, || {
            rayon::broadcast(|_| kernels::multiply_adds(bits, rounds));
        });
        (work * rounds) as f64 / time.as_secs_f64() / 1e9
    };
    let n = 32 << 20;
    let (mut a, b, c) = (vec![1u64; n], vec![2u64; n], vec![3u64; n]);
    let part = n.div_ceil(threads);
    let triad = fastest(20, || {
        let parts = a.par_chunks_mut(part).zip(b.par_chunks(part).zip(c.par_chunks(part)));
        parts.for_each(|(a, (b, c))| {
            a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = b ^ c)
        });
        black_box(&mut a);
    });
    let bytes = (3 * 8 * n) as f64 / triad.as_secs_f64() / 1e9;
    let peaks = Peaks { mac64: mac(64), mac32: mac(32), bytes };
    println!(
        "peaks of {threads} threads: {:.1} G/s 64-bit and {:.1} G/s 32-bit multiply-adds, {:.1} GB/s",
        peaks.mac64, peaks.mac32, peaks.bytes
    );
    peaks
}

/// Times f, which does `work` units of what the machine does at most `peak` of in a second.
fn measure<S>(
    c: &mut Criterion,
    name: &str,
    (work, unit, peak): (usize, &'static str, f64),
    mut setup: impl FnMut() -> S,
    mut f: impl FnMut(&mut S),
) {
    let mut best = Duration::MAX;
    c.bench_function(name, |b| {
        let mut state = setup();
        b.iter_custom(|iterations| {
            let mut total = Duration::ZERO;
            for _ in 0..iterations {
                let start = Instant::now();
                f(&mut state);
                let time = start.elapsed();
                best = best.min(time);
                total += time;
            }
            total
        });
    });
    if best < Duration::MAX {
        let achieved = work as f64 / best.as_secs_f64() / 1e9;
        let mut rows = ROWS.lock().unwrap_or_else(|e| e.into_inner());
        rows.push((name.to_owned(), achieved, unit, peak));
    }
}

fn table() {
    let rows = ROWS.lock().unwrap_or_else(|e| e.into_inner());
    println!("\n{:<44} {:>10} {:>9}", "kernel", "achieved", "of peak");
    for (name, achieved, unit, peak) in rows.iter() {
        println!("{name:<44} {achieved:>7.2} {unit:<4} {:>6.0} %", 100.0 * achieved / peak);
    }
}

fn sample(k: u32, n: usize) -> Words {
    let mut s = 88_172_645_463_325_252_u64;
    let xs: Vec<u128> = (0..n)
        .map(|_| {
            s = s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u128::from(s) << 64 | u128::from(s.rotate_left(32))
        })
        .collect();
    Words::from_u128s(k, &xs)
}

/// Products of matrices.
struct Gemm {
    name: &'static str,
    rings: &'static [u32],
    /// Rows, what is added up, and columns.
    size: [usize; 3],
    batch: usize,
    /// The second matrix is the same for the whole batch.
    shared: bool,
    trans_b: bool,
}

const GEMM: Gemm =
    Gemm { name: "", rings: &[64], size: [0; 3], batch: 1, shared: false, trans_b: false };

const GEMMS: &[Gemm] = &[
    Gemm { name: "512 x 512 x 512", rings: &[16, 32, 64, 128], size: [512, 512, 512], ..GEMM },
    // Short enough not to be interrupted on a machine that others use too.
    Gemm { name: "128 x 256 x 256", rings: &[128], size: [128, 256, 256], ..GEMM },
    Gemm { name: "512 x 512 x 512, transposed", size: [512, 512, 512], trans_b: true, ..GEMM },
    Gemm { name: "16 x 65536 x 16, transposed", size: [16, 65_536, 16], trans_b: true, ..GEMM },
    Gemm { rings: &[64, 128], ..ten("10 x (30 x 400 x 120)", [30, 400, 120]) },
    Gemm { shared: true, ..ten("10 x (30 x 400 x 120), shared", [30, 400, 120]) },
    ten("10 x (30 x 120 x 84)", [30, 120, 84]),
    ten("10 x (30 x 84 x 10)", [30, 84, 10]),
    ten("10 x (1 x 400 x 120)", [1, 400, 120]),
    Gemm { shared: true, ..ten("10 x (1 x 400 x 120), shared", [1, 400, 120]) },
    Gemm { name: "1 x 512 x 1000", size: [1, 512, 1000], ..GEMM },
    Gemm { name: "1000 x 512 x 1", size: [1000, 512, 1], ..GEMM },
];

/// Those of ten clients.
const fn ten(name: &'static str, size: [usize; 3]) -> Gemm {
    Gemm { name, size, batch: 10, ..GEMM }
}

/// Convolutions with square kernels.
struct Conv2d {
    name: &'static str,
    rings: &'static [u32],
    /// Clients, and images of each.
    images: [usize; 2],
    channels: [usize; 2],
    /// Pixels of an image's side.
    size: usize,
    kernel: usize,
    stride: u64,
    pad: u64,
    /// The kernels are the same for all clients.
    shared: bool,
}

/// Of ResNet-18: of one client, with kernels of 3 by 3.
const fn resnet(name: &'static str, n: usize, channels: [usize; 2], size: usize) -> Conv2d {
    Conv2d {
        name,
        rings: &[64],
        images: [1, n],
        channels,
        size,
        kernel: 3,
        stride: 1,
        pad: 1,
        shared: true,
    }
}

/// Of LeNet-5: of ten clients with thirty images each, with kernels of 5 by 5.
const fn lenet(name: &'static str, channels: [usize; 2], size: usize) -> Conv2d {
    Conv2d {
        images: [10, 30],
        kernel: 5,
        pad: 0,
        shared: false,
        ..resnet(name, 30, channels, size)
    }
}

#[rustfmt::skip]
const CONVS: &[Conv2d] = &[
    Conv2d { rings: &[32, 64, 128], ..resnet("resnet 64 -> 64, 32 x 32", 1, [64, 64], 32) },
    resnet("resnet 3 -> 64, 32 x 32", 1, [3, 64], 32),
    Conv2d { stride: 2, ..resnet("resnet 64 -> 128, 32 x 32 by 2", 1, [64, 128], 32) },
    Conv2d { stride: 2, kernel: 1, pad: 0, ..resnet("resnet 64 -> 128, 32 x 32 by 2, 1 x 1", 1, [64, 128], 32) },
    resnet("resnet 128 -> 128, 16 x 16", 1, [128, 128], 16),
    resnet("resnet 256 -> 256, 8 x 8", 1, [256, 256], 8),
    Conv2d { stride: 2, ..resnet("resnet 256 -> 512, 8 x 8 by 2", 1, [256, 512], 8) },
    resnet("resnet 512 -> 512, 4 x 4", 1, [512, 512], 4),
    resnet("resnet 3 -> 64, 32 x 32, 8 images", 8, [3, 64], 32),
    Conv2d { stride: 2, ..resnet("resnet 64 -> 128, 32 x 32 by 2, 8 images", 8, [64, 128], 32) },
    Conv2d { stride: 2, kernel: 1, pad: 0, ..resnet("resnet 64 -> 128, by 2, 1 x 1, 8 images", 8, [64, 128], 32) },
    resnet("resnet 64 -> 64, 32 x 32, 8 images", 8, [64, 64], 32),
    resnet("resnet 128 -> 128, 16 x 16, 8 images", 8, [128, 128], 16),
    resnet("resnet 256 -> 256, 8 x 8, 8 images", 8, [256, 256], 8),
    resnet("resnet 512 -> 512, 4 x 4, 8 images", 8, [512, 512], 4),
    Conv2d { rings: &[32, 64], ..lenet("lenet 1 -> 6, 28 x 28, 10 x 30", [1, 6], 28) },
    Conv2d { rings: &[32, 64], ..lenet("lenet 6 -> 16, 12 x 12, 10 x 30", [6, 16], 12) },
    Conv2d { pad: 2, ..lenet("lenet 1 -> 6, 28 x 28 padded, 10 x 30", [1, 6], 28) },
    lenet("lenet 6 -> 16, 14 x 14, 10 x 30", [6, 16], 14),
    Conv2d { shared: true, ..lenet("lenet 6 -> 16, 14 x 14, 10 x 30, shared", [6, 16], 14) },
    Conv2d { images: [1, 1], shared: true, ..lenet("lenet 6 -> 16, 14 x 14, 1 image", [6, 16], 14) },
];

fn products(c: &mut Criterion, p: Peaks) {
    let peak = |k| match k {
        128 => p.mac64 / 9.0,
        64 => p.mac64,
        _ => p.mac32,
    };
    for (row, &k) in GEMMS.iter().flat_map(|row| row.rings.iter().map(move |k| (row, k))) {
        let (&Gemm { batch, trans_b, .. }, [m, inner, n]) = (row, row.size);
        let [a_batched, b_batched] = [true, !row.shared];
        let d = MatMulDims { batch, a_batched, b_batched, m, k: inner, n, trans_b };
        let [la, lb, lc] = d.lens();
        let work = (batch * m * inner * n, "G/s", peak(k));
        let operands = || (sample(k, la), sample(k, lb), Words::zeros(k, lc));
        let name = format!("gemm 2^{k} {}", row.name);
        measure(c, &name, work, operands, |(a, b, out)| kernels::matmul_acc(out, a, b, d));
    }
    for (row, &k) in CONVS.iter().flat_map(|row| row.rings.iter().map(move |k| (row, k))) {
        let ([g, n], [c_in, o]) = (row.images, row.channels);
        let d = ConvDims {
            g,
            x_batched: true,
            w_batched: !row.shared,
            n,
            c: c_in,
            h: row.size,
            w: row.size,
            o,
            kh: row.kernel,
            kw: row.kernel,
            conv: Conv::new(row.stride, row.pad),
        };
        let [lx, lw, lo] = d.lens();
        let work = (lo * c_in * row.kernel * row.kernel, "G/s", peak(k));
        let operands = || (sample(k, lx), sample(k, lw), Words::zeros(k, lo));
        let name = format!("conv 2^{k} {}", row.name);
        measure(c, &name, work, operands, |(x, w, out)| kernels::conv2d_acc(out, x, w, d));
    }
}

/// Elements of the tensors that are worked on elementwise.
const N: usize = 1_000_000;

fn layers(c: &mut Criterion, p: Peaks) {
    let data = |dom: Dom| match dom {
        Dom::Ring(k) => Data::Ring(sample(k, N)),
        Dom::Bits(w) => Data::Ring(sample(64, N)).to_bits(0, w),
    };
    // How many times a tensor's size is read or written.
    let mut two = |name: &str, dom: Dom, times: usize, f: &dyn Fn(&mut Data, &Data)| {
        let work = (times * data(dom).bytes(), "GB/s", p.bytes);
        measure(c, name, work, || (data(dom), data(dom)), |(a, b)| f(a, b));
    };
    for w in [25, 64] {
        two(&format!("{w} planes: and"), Dom::Bits(w), 3, &|a, b| a.mul_assign(b));
        two(&format!("{w} planes: xor"), Dom::Bits(w), 3, &|a, b| a.add_assign(b));
        two(&format!("{w} planes: not"), Dom::Bits(w), 2, &|a, _| a.not());
        two(&format!("{w} planes: xor into new"), Dom::Bits(w), 3, &|a, b| {
            let mut x = a.clone();
            x.add_assign(b);
            black_box(&x);
        });
        two(&format!("{w} planes: stack two"), Dom::Bits(w), 4, &|a, b| {
            black_box(Data::stack(&[a, b]));
        });
        two(&format!("{w} planes: every other"), Dom::Bits(w), 1, &|a, b| {
            black_box(a.planes(0, 2, b.dom().bits() / 2));
        });
    }
    let ring = Dom::Ring(64);
    two("2^64: add", ring, 3, &|a, b| a.add_assign(b));
    two("2^64: sub", ring, 3, &|a, b| a.sub_assign(b));
    two("2^64: mul", ring, 3, &|a, b| a.mul_assign(b));
    two("2^64: scale", ring, 2, &|a, _| a.scale(12_345));
    two("2^64: offset", ring, 2, &|a, _| a.offset(12_345));
    two("2^64: shr", ring, 2, &|a, _| {
        black_box(a.shr(13));
    });
    two("2^128: mul", Dom::Ring(128), 3, &|a, b| a.mul_assign(b));
    two("2^128: add", Dom::Ring(128), 3, &|a, b| a.add_assign(b));
    two("2^64: copy", ring, 2, &|a, _| {
        black_box(a.clone());
    });
    let mut one = |name: &str, dom: Dom, bytes: usize, f: &dyn Fn(&Data)| {
        measure(c, name, (bytes, "GB/s", p.bytes), || data(dom), |a| f(a));
    };
    one("2^64: narrow to 2^32", ring, 12 * N, &|a| {
        black_box(a.narrow(32));
    });
    one("2^64: extend to 2^128", ring, 24 * N, &|a| {
        black_box(a.extend(128));
    });
    for w in [25, 64] {
        one(&format!("2^64 to {w} planes"), ring, (8 + w as usize / 8) * N, &|a| {
            black_box(a.to_bits(0, w));
        });
        one(&format!("{w} planes to 2^64"), Dom::Bits(w), (8 + w as usize / 8) * N, &|a| {
            black_box(a.from_bits(64));
        });
    }
    one("2^32 to 32 planes", Dom::Ring(32), 8 * N, &|a| {
        black_box(a.to_bits(0, 32));
    });
    one("1 plane to 2^64", Dom::Bits(1), 8 * N + N / 8, &|a| {
        black_box(a.from_bits(64));
    });
    for dom in [ring, Dom::Bits(25)] {
        let bytes = data(dom).bytes();
        one(&format!("{dom:?} to wire"), dom, 2 * bytes, &|a| {
            let mut out = Vec::new();
            a.to_wire(&mut out);
            black_box(out);
        });
        let mut wire = Vec::new();
        data(dom).to_wire(&mut wire);
        one(&format!("{dom:?} from wire"), dom, 2 * bytes, &|_| {
            black_box(Data::from_wire(dom, N, &wire));
        });
    }
}

/// The boolean layers of comparisons of 64 bits, what each party does locally in each: in blocks of four
/// bits, then in groups of four blocks; and planes that fit into no cache.
fn boolean_layers(c: &mut Criterion, p: Peaks) {
    let planes = |w: u32| {
        let words =
            (0..w as u64 * N.div_ceil(64) as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Planes::from_words(w, N, words.collect()).unwrap_or_else(|| Planes::zeros(w, N))
    };
    let plane = N / 8;
    let mut layer = |name: &str, read: &[u32], f: &dyn Fn(&[Planes]) -> Planes| {
        let given: Vec<Planes> = read.iter().map(|&w| planes(w)).collect();
        let bytes = (read.iter().sum::<u32>() + f(&given).width()) as usize * plane;
        let work = (bytes, "GB/s", p.bytes);
        measure(
            c,
            name,
            work,
            || (),
            |()| {
                black_box(f(&given));
            },
        );
    };
    let blocks = [4; 16];
    let table = slvr_circuit::tables::thermometer_planes(&blocks);
    layer("comparison: thermometer", &[64], &|x| carry::thermometer(&x[0], &blocks));
    layer("comparison: pick", &[table, 64, 1], &|x| carry::pick(&x[0], &x[1], &blocks, &x[2]));
    layer("comparison: propagate", &[table, 64, 1], &|x| {
        carry::propagate(&x[0], &x[1], &blocks, 0, &x[2])
    });
    let level = MultiAnd::Carry(vec![4; 4]);
    let (factors, products) = (level.inputs(), level.mask_products());
    layer("comparison: mask_products", &[factors], &|x| carry::mask_products(&x[0], &level));
    layer("comparison: gates", &[factors, factors, products, level.nodes(), 1], &|x| {
        carry::and_many(&x[0], &x[1], &x[2], Some(&x[3]), &level, &x[4])
    });
    let large = || Data::Bits(Planes::zeros(64, 32 * N));
    let work = (3 * large().bytes(), "GB/s", p.bytes);
    measure(c, "64 planes, 256 MB: and", work, || (large(), large()), |(a, b)| a.mul_assign(b));
    measure(c, "64 planes, 256 MB: xor", work, || (large(), large()), |(a, b)| a.add_assign(b));
}

fn all(c: &mut Criterion) {
    // Else the pages of every result are faulted in again, which takes longer than computing it.
    slvr_allocator::keep_large_pages();
    let peaks = peaks();
    products(c, peaks);
    layers(c, peaks);
    boolean_layers(c, peaks);
    table();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .sample_size(10)
        .without_plots();
    targets = all
}
criterion_main!(benches);
