use super::*;
use crate::Data;
use proptest::prelude::*;
use slvr_circuit::Dom;
use slvr_circuit::multi_and::MultiAnd;

fn planes(w: u32, n: usize, seed: u64) -> Planes {
    let mut out = Planes::zeros(w, n);
    out.words_mut()
        .iter_mut()
        .zip(std::iter::repeat_with(crate::testing::words(seed)))
        .for_each(|(x, w)| *x = w);
    out.mask_tail();
    out
}

fn ones(n: usize) -> Planes {
    let mut out = Planes::zeros(1, n);
    out.words_mut().fill(u64::MAX);
    out.mask_tail();
    out
}

fn sum(a: &Planes, b: &Planes) -> Planes {
    let mut d = Data::Bits(a.clone());
    d.add_assign(&Data::Bits(b.clone()));
    match d {
        Data::Bits(p) => p,
        Data::Ring(_) => unreachable!(),
    }
}

proptest! {
    #[test]
    fn blocks_generate_and_propagate(
        blocks in proptest::collection::vec(1u32..9, 1..5), n in 1usize..200, seed: u64,
    ) {
        let w = blocks.iter().sum();
        let (a, b) = (planes(w, n, seed), planes(w, n, seed ^ 77));
        let table = thermometer(&a, &blocks);
        // Shares of the table, as two parties have them.
        let rho = planes(table.width(), n, seed ^ 99);
        let other = sum(&table, &rho);
        let none = Planes::zeros(1, n);
        let got = sum(&pick(&rho, &b, &blocks, &none), &pick(&other, &b, &blocks, &ones(n)));
        let count = blocks.len();
        prop_assert_eq!(got.width(), 2 * count as u32 - 1);
        let skip = (1 << blocks[0]) - 1;
        let above = match Data::Bits(b.clone()).planes(blocks[0], 1, w - blocks[0]) {
            Data::Bits(p) => p,
            Data::Ring(_) => unreachable!(),
        };
        let high = |t, one: &Planes| propagate(t, &above, &blocks[1..], skip, one);
        let all = sum(&high(&rho, &none), &high(&other, &ones(n)));
        for i in 0..n {
            let mut at = 0;
            for (j, bits) in blocks.iter().enumerate() {
                let m = (1u128 << bits) - 1;
                let s = (a.element(i) >> at & m) + (b.element(i) >> at & m);
                at += bits;
                prop_assert_eq!(got.get(j, i), s > m);
                if j > 0 {
                    prop_assert_eq!(got.get(count + j - 1, i), s == m);
                    prop_assert_eq!(all.get(j - 1, i), s == m);
                }
            }
        }
    }

    #[test]
    fn products_of_many(
        sizes in proptest::collection::vec(1u32..6, 1..5), n in 1usize..150, seed: u64, carry: bool,
    ) {
        let pattern = if carry { MultiAnd::Carry(sizes.clone()) } else { MultiAnd::And(sizes.clone()) };
        prop_assume!(pattern.mask_products() > 0);
        // Nodes, the masks of their factors, shares of each.
        let w = pattern.nodes();
        let x = planes(w, n, seed);
        let factors = match Data::Bits(x.clone()).select(&pattern.factors()) {
            Data::Bits(p) => p,
            Data::Ring(_) => unreachable!(),
        };
        prop_assert_eq!(factors.width(), pattern.inputs());
        let l = planes(pattern.inputs(), n, seed ^ 5);
        let m = sum(&factors, &l);
        let (y, w) = (planes(w, n, seed ^ 8), pattern.inputs());
        let z = sum(&x, &y);
        let given = |x| pattern.is_linear_in_some().then_some(x);
        let products = mask_products(&l, &pattern);
        let (rho, sigma) = (planes(w, n, seed ^ 6), planes(products.width(), n, seed ^ 7));
        let none = Planes::zeros(1, n);
        let got = sum(
            &and_many(&m, &rho, &sigma, given(&y), &pattern, &none),
            &and_many(&m, &sum(&l, &rho), &sum(&products, &sigma), given(&z), &pattern, &ones(n)),
        );
        for i in 0..n {
            let (mut at, nodes) = (0usize, sizes.iter().sum::<u32>() as usize);
            for (g, &s) in sizes.iter().enumerate() {
                let s = s as usize;
                let p = |j: usize| j == 0 || x.get(nodes + j - 1, i);
                if carry {
                    let c = (at..at + s).fold(false, |c, j| x.get(j, i) ^ (p(j) && c && j > at));
                    prop_assert_eq!(got.get(g, i), c);
                    if g > 0 {
                        let all = (at..at + s).all(p);
                        prop_assert_eq!(got.get(sizes.len() + g - 1, i), all);
                    }
                } else {
                    prop_assert_eq!(got.get(g, i), (at..at + s).all(|j| x.get(j, i)));
                }
                at += s;
            }
        }
    }
}

#[test]
fn axes_become_planes() {
    let x = Data::from_u128s(Dom::Bits(2), &[1, 2, 3, 0, 2, 1]);
    let Data::Bits(x) = x else { unreachable!() };
    let y = Data::Bits(to_planes(&x, 3));
    assert_eq!(y.to_u128s(), [0b11_10_01, 0b01_10_00]);
}
