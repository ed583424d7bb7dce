//! What a client gives, and what that weighs.

use crate::{Circuit, Dom, From, wire_len};

/// Which secret inputs a member of a party set gives, as (index of the input, domain, elements).
pub type Layout = Vec<(u64, Dom, usize)>;

/// The inputs that each member of party set `set` shares, in declaration order. The number of
/// elements is that of one member: the value's first axis ranges over the members. The circuit must
/// be verified.
pub fn layout(circuit: &Circuit, set: usize) -> Layout {
    let members = circuit.parties.get(set).map_or(1, |p| p.size.max(1));
    let given = circuit.inputs.iter().enumerate();
    given
        .filter(|(_, input)| matches!(input.from, From::Each(s) if s as usize == set))
        .map(|(j, input)| {
            let ty = circuit.ty(input.value);
            (j as u64, ty.dom, (ty.elements() / members) as usize)
        })
        .collect()
}

/// Bytes that a client with these inputs uploads: 32, and k bits per element.
pub fn upload_bytes(layout: &Layout) -> u64 {
    32 + explicit_bytes(layout) as u64
}

/// Bytes of the explicit share: k bits for each element.
pub fn explicit_bytes(layout: &Layout) -> usize {
    layout.iter().map(|&(_, dom, n)| wire_len(dom, n)).sum()
}
