//! Where the shards of values are cut in a draft that `masked_exchange` makes: between the parts of the leading axis, such as
//! samples, so that sums and layouts within a part stay within a shard, and its owner knows ahead what it knows of
//! them.
//!
//! The cut follows from the shape alone. So what is computed element by element is cut alike, whatever it comes from.

use slvr_circuit::{Hold, Instr, Op, Type, ValueId, lead, verify};

/// Fewest parts that are cut although a third of them is no whole number: of these no shard has an eighth more than a
/// third.
const UNEVEN: u64 = 16;

/// Elements from which on single ones are not counted as parts: shards of bits then begin at words.
const MANY: u64 = 1 << 14;

/// Elements of the largest value from which on a draft is cut. Where all are small, the first shard has them all, one
/// party knows their parts, and the others say less and prove less.
const LARGE: u64 = 1 << 12;

/// How the values of a draft are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    between: bool,
}

impl Shards {
    /// Of the values of a draft of such types, all of which are cut every 64 elements: between parts if every
    /// instruction goes with that, and some are large.
    pub fn of(instrs: &[Instr], types: &[Type]) -> Shards {
        let shards = Shards { between: true };
        let cut: Vec<Type> = types.iter().map(|ty| shards.ty(ty)).collect();
        let fits = |i: &Instr| {
            let held = i.op.operands().into_iter().chain(i.out);
            let is_cut = |v: ValueId| types[v.index()].hold.is_sharded();
            if !held.into_iter().any(is_cut) {
                return true;
            }
            let made = verify::infer(&shards.op(&i.op, types), &|v| &cut[v.index()]);
            let want = i.out.map(|v| &cut[v.index()]);
            matches!(made, Ok(made) if made.as_ref() == want)
        };
        let is_large = |ty: &Type| ty.hold.is_sharded() && ty.elements() >= LARGE;
        Shards { between: types.iter().any(is_large) && instrs.iter().all(fits) }
    }

    /// Between how many groups a tensor is cut, 0 for every 64 elements.
    pub fn groups(self, shape: &[u64]) -> u32 {
        let parts = shape.get(lead(shape)).copied().unwrap_or(1);
        let even = parts >= UNEVEN || parts.is_multiple_of(3);
        let few = parts < MANY || shape.iter().product::<u64>() > parts;
        match u32::try_from(parts) {
            Ok(parts) if self.between && parts >= 3 && even && few => parts,
            _ => 0,
        }
    }

    /// A type of the draft with its cut.
    pub fn ty(self, ty: &Type) -> Type {
        match ty.hold.is_sharded() {
            true => ty.clone().grouped(self.groups(&ty.shape)),
            false => ty.clone(),
        }
    }

    /// An instruction of the draft on values that are cut so.
    pub fn op(self, op: &Op, types: &[Type]) -> Op {
        let whole = |x: &ValueId| matches!(types[x.index()].hold, Hold::Rep | Hold::Add3);
        let groups = |x: &ValueId| self.groups(&types[x.index()].shape);
        match op {
            Op::Own(x) if whole(x) && groups(x) > 0 => Op::OwnOf(*x, groups(x)),
            Op::Dup(x) if whole(x) && groups(x) > 0 => Op::DupOf(*x, groups(x)),
            Op::AsAdd2(x) if whole(x) && groups(x) > 0 => Op::AsAdd2Of(*x, groups(x)),
            Op::MaskOf(x, 0) => Op::MaskOf(*x, groups(x)),
            Op::Mask { tag, dom, shape, groups: 0 } => {
                Op::Mask { tag: *tag, dom: *dom, shape: shape.clone(), groups: self.groups(shape) }
            }
            op => op.clone(),
        }
    }

    /// Whether the owner's part of what an instruction makes of one replicated value is what it makes of the owner's
    /// part, though elements change their places or their number: none leaves its group.
    pub fn keeps(self, op: &Op, types: &[Type]) -> bool {
        let [x] = op.operands()[..] else { return false };
        let own = Type { hold: Hold::Own, ..types[x.index()].clone() };
        let own = own.clone().grouped(self.groups(&own.shape));
        let made = verify::infer(op, &|_| &own);
        (own.groups > 0 || matches!(op, Op::Reshape(..)))
            && matches!(made, Ok(Some(made)) if made.groups == self.groups(&made.shape))
    }
}
