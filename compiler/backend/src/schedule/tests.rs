use super::*;
use slvr_circuit::Dom;

/// Instructions on two secret vectors of so many words, and the values of these.
fn emit(len: u64) -> (Emit, ValueId, ValueId) {
    let mut e = Emit::default();
    let [x, y] = [0; 2].map(|_| e.input(true, Dom::Ring(64), vec![len]));
    (e, x, y)
}

fn draft(emit: Emit, blocks: Vec<u32>) -> Draft {
    Draft { emit, blocks, inputs: vec![], outputs: vec![], checks: vec![] }
}

/// The layers of the instructions that make these values; `block_of` is the block of an instruction by its number.
fn layers(e: &Emit, of: &[ValueId], block_of: impl Fn(usize) -> u32) -> Vec<usize> {
    let blocks = (0..e.instrs.len()).map(block_of).collect();
    let layer = place(&draft(e.clone(), blocks), &vec![0; e.instrs.len()]);
    of.iter().map(|v| layer[made(e, *v)]).collect()
}

/// The number of the instruction that makes a value.
fn made(e: &Emit, v: ValueId) -> usize {
    e.instrs.iter().position(|i| i.out == Some(v)).expect("it is made")
}

#[test]
fn independent_messages_share_the_earliest_layer() {
    let (mut e, x, y) = emit(4);
    let (xy, yy) = (e.multiply(x, y), e.multiply(y, y));
    let last = e.multiply(xy, yy);
    assert_eq!(layers(&e, &[xy, yy, last], |_| 0), [0, 0, 1]);
}

#[test]
fn no_instruction_comes_before_the_layer_that_it_is_raised_to() {
    let (mut e, x, y) = emit(4);
    let xy = e.multiply(x, y);
    let last = e.multiply(xy, y);
    let (raised, end) = (made(&e, xy), made(&e, last));
    let mut least = vec![0; e.instrs.len()];
    least[raised] = 3;
    let layer = place(&draft(e.clone(), vec![0; e.instrs.len()]), &least);
    assert_eq!((layer[raised], layer[end]), (3, 4));
}

#[test]
fn a_local_result_that_is_larger_than_its_operand_waits_for_its_first_user() {
    let (mut e, x, y) = emit(8);
    let short = e.add(Op::Slice { x, axis: 0, start: 0, step: 1, len: 1 });
    let long = e.broadcast(short, &[8]);
    let cube = e.multiply(y, y);
    let cube = e.multiply(cube, y);
    let last = e.multiply(cube, long);
    assert_eq!(layers(&e, &[cube, last, long], |_| 0), [1, 2, 2]);
}

#[test]
fn a_smaller_local_result_is_made_in_the_last_layer_in_which_its_operand_lives_anyway() {
    let (mut e, _, y) = emit(8);
    let sum = e.add(Op::Sum { x: y, axes: vec![0] });
    let cube = e.multiply(y, y);
    let cube = e.multiply(cube, y);
    let first = e.add(Op::Slice { x: cube, axis: 0, start: 0, step: 1, len: 1 });
    let one = e.add(Op::Reshape(first, vec![]));
    let last = e.multiply(one, sum);
    assert_eq!(layers(&e, &[cube, last, sum], |_| 0), [1, 2, 1]);
}

#[test]
fn a_block_begins_where_the_one_before_it_has_ended() {
    let (mut e, x, y) = emit(4);
    let xx = e.multiply(x, x);
    let xx = e.multiply(xx, x);
    let ends = e.instrs.len();
    let yy = e.multiply(y, y);
    assert_eq!(layers(&e, &[xx, yy], |_| 0), [1, 0]);
    assert_eq!(layers(&e, &[xx, yy], |n| if n < ends { 1 } else { 2 }), [1, 2]);
}

/// What a block reads from outside delays its start by no more layers than it has not used by then.
#[test]
fn a_block_begins_when_what_it_reads_from_outside_is_there() {
    let (mut e, x, y) = emit(4);
    let mut outside = x;
    for _ in 0..3 {
        outside = e.multiply(outside, x);
    }
    let begins = e.instrs.len();
    let first = e.multiply(y, y);
    let second = e.multiply(first, outside);
    let block = |n| u32::from(n >= begins);
    assert_eq!(layers(&e, &[outside, first, second], block), [2, 2, 3]);
}

#[test]
fn a_value_ends_in_the_layer_of_its_last_use() {
    let (mut e, x, y) = emit(4);
    let xy = e.multiply(x, y);
    let last = e.add(Op::Mul(xy, y));
    e.open_to(last, 0);
    let blocks = vec![0; e.instrs.len()];
    let circuit = schedule(&Graph::default(), draft(e, blocks));
    let ends = |v: ValueId| circuit.layers.iter().position(|l| l.drop.contains(&v));
    assert_eq!(circuit.layers.len(), 2);
    assert_eq!([x, y, xy, last].map(ends), [Some(0), Some(1), Some(1), Some(1)]);
}

/// What a dealer deals of a mask, its products with so many factors, and, after four messages, the products of these.
struct DealtForLater {
    own: ValueId,
    dealt: ValueId,
    products: Vec<ValueId>,
    ends: Vec<ValueId>,
}

fn dealt_for_later(e: &mut Emit, factors: usize) -> DealtForLater {
    let mut power = e.input(true, Dom::Ring(64), vec![8]);
    let factors: Vec<ValueId> =
        (0..factors).map(|_| e.input(true, Dom::Ring(64), vec![8])).collect();
    let mask = e.fresh_mask(Dom::Ring(64), vec![8], 0);
    let own = e.add(Op::Own(mask));
    let dealt = e.add(Op::Deal(own));
    for _ in 0..4 {
        power = e.multiply(power, power);
    }
    let power = e.add(Op::Dup(power));
    let dups: Vec<ValueId> = factors.into_iter().map(|x| e.add(Op::Dup(x))).collect();
    let products: Vec<ValueId> = dups.into_iter().map(|by| e.add(Op::Mul(dealt, by))).collect();
    let ends: Vec<ValueId> = products.iter().map(|&x| e.add(Op::Mul(x, power))).collect();
    ends.iter().for_each(|&end| {
        e.add(Op::ReshareTwo(end));
    });
    DealtForLater { own, dealt, products, ends }
}

/// A product takes less room than its factors. But if it came first, the dealt one would be kept from the start.
#[test]
fn what_is_made_of_dealt_values_waits_with_them() {
    let mut e = Emit::default();
    let DealtForLater { own, dealt, products, ends } = dealt_for_later(&mut e, 1);
    assert_eq!(layers(&e, &[ends[0], products[0], dealt, own], |_| 0), [4, 4, 3, 3]);
}

#[test]
fn a_dealt_value_with_several_readers_waits_for_the_first() {
    let mut e = Emit::default();
    let DealtForLater { own, dealt, products, .. } = dealt_for_later(&mut e, 3);
    let made = layers(&e, &[products[0], products[1], products[2], dealt, own], |_| 0);
    assert_eq!(made, [4, 4, 4, 3, 3]);
}
