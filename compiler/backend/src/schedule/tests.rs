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

/// A power x^16 by four messages, and with it, in the layer after them, the product with a mask that was dealt.
fn dealt_for_later(e: &mut Emit, x: ValueId, len: u64) -> (ValueId, ValueId, ValueId) {
    let mask = e.fresh_mask(Dom::Ring(64), vec![len], 0);
    let own = e.add(Op::Own(mask));
    let dealt = e.add(Op::Deal(own));
    let mut power = x;
    for _ in 0..4 {
        power = e.multiply(power, power);
    }
    (own, dealt, power)
}

#[test]
fn what_is_made_of_dealt_values_waits_with_them() {
    let (mut e, x, _) = emit(8);
    let (own, dealt, power) = dealt_for_later(&mut e, x, 8);
    let dup = e.add(Op::Dup(x));
    let product = e.add(Op::Mul(dealt, dup));
    let sum = e.add(Op::Sum { x: product, axes: vec![0] });
    let end = e.add(Op::Dup(power));
    let end = e.add(Op::Sum { x: end, axes: vec![0] });
    let end = e.add(Op::Mul(sum, end));
    // The sum is smaller than what it is made of; but then the dealt value would be kept from the start.
    assert_eq!(layers(&e, &[power, end, sum, product, dealt, own], |_| 0), [3, 4, 4, 4, 3, 3]);
}

#[test]
fn a_dealt_value_with_several_readers_waits_for_the_first() {
    let (mut e, x, _) = emit(8);
    let (_, dealt, power) = dealt_for_later(&mut e, x, 8);
    let dup = e.add(Op::Dup(x));
    let readers = [dup, dup].map(|by| e.add(Op::Mul(dealt, by)));
    let sums = readers.map(|x| e.add(Op::Sum { x, axes: vec![0] }));
    let end = e.add(Op::Dup(power));
    let end = e.add(Op::Sum { x: end, axes: vec![0] });
    let ends = sums.map(|sum| e.add(Op::Mul(sum, end)));
    let made = layers(&e, &[ends[0], ends[1], sums[0], sums[1], dealt], |_| 0);
    assert_eq!(made, [4, 4, 4, 4, 3]);
}
