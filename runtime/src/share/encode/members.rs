//! The inputs of a circuit from those who give them: members of party sets, and everybody for public ones.

use super::{InputError, Problem, RawTensor, about, check, encode};
use slvr_circuit::{Circuit, Dom, From, Input};
use slvr_ring::Data;
use std::collections::BTreeMap;

/// The inputs, by index, that each member of a party set gives.
fn given_by(circuit: &Circuit, set: usize) -> impl Iterator<Item = usize> {
    let from = From::Each(set as u32);
    (0..circuit.inputs.len()).filter(move |&j| circuit.inputs[j].from == from)
}

/// What `done` ([`encode`] or [`check`]) makes of input number j as its giver's tensors have it.
fn declared<R>(
    (circuit, j): (&Circuit, usize),
    giver: &str,
    files: &BTreeMap<String, RawTensor>,
    ranges: bool,
    done: fn(&Input, Dom, &RawTensor, bool) -> Result<R, Problem>,
) -> Result<R, InputError> {
    let input = &circuit.inputs[j];
    let tensor = files.get(&input.name).ok_or(Problem::Missing);
    tensor
        .and_then(|tensor| done(input, circuit.ty(input.value).dom, tensor, ranges))
        .map_err(|problem| about(input, giver, problem))
}

/// What one member of a party set submits, by name.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub set: usize,
    pub member: usize,
    pub files: &'a BTreeMap<String, RawTensor>,
}

impl Member<'_> {
    /// Holds it against what the circuit declares: a run without the check of `ranges` does not refuse numbers outside
    /// their declared range.
    ///
    /// # Errors
    ///
    /// The first tensor that is missing or not as declared.
    pub fn check(self, circuit: &Circuit, ranges: bool) -> Result<(), InputError> {
        self.each(circuit, ranges, check).map(drop)
    }

    /// What it shares: its inputs as (index of the input, elements). Without `ranges`, numbers outside their declared range
    /// are taken modulo 2^k.
    ///
    /// # Errors
    ///
    /// As [`Member::check`].
    pub fn encode(self, circuit: &Circuit, ranges: bool) -> Result<Vec<(u64, Data)>, InputError> {
        self.each(circuit, ranges, encode)
    }

    fn each<R>(
        self,
        circuit: &Circuit,
        ranges: bool,
        done: fn(&Input, Dom, &RawTensor, bool) -> Result<R, Problem>,
    ) -> Result<Vec<(u64, R)>, InputError> {
        let name = circuit.parties.get(self.set).map_or("", |p| p.name.as_str());
        let giver = format!("{name} {}", self.member);
        let one = |j| Ok((j as u64, declared((circuit, j), &giver, self.files, ranges, done)?));
        given_by(circuit, self.set).map(one).collect()
    }
}

/// The public inputs of a circuit, by index.
///
/// # Errors
///
/// The first tensor that is missing or not as declared.
pub fn encode_public(
    circuit: &Circuit,
    files: &BTreeMap<String, RawTensor>,
) -> Result<BTreeMap<usize, Data>, InputError> {
    let public = circuit.inputs.iter().enumerate().filter(|(_, i)| i.from == From::Public);
    public.map(|(j, _)| Ok((j, declared((circuit, j), "public", files, true, encode)?))).collect()
}

/// What a circuit reads of who takes part ([`From::Present`]), by index of the input; `gives` says whether a member of a party
/// set gives inputs.
pub fn presence(circuit: &Circuit, gives: impl Fn(u32, u64) -> bool) -> BTreeMap<usize, Data> {
    let bits = |input: &Input| match input.from {
        From::Present(set) => {
            let members = circuit.parties.get(set as usize).map_or(0, |p| p.size);
            let bits: Vec<u128> = (0..members).map(|m| gives(set, m).into()).collect();
            Some(Data::from_u128s(circuit.ty(input.value).dom, &bits))
        }
        From::Public | From::Each(_) | From::State(_) => None,
    };
    circuit.inputs.iter().enumerate().filter_map(|(j, i)| Some((j, bits(i)?))).collect()
}

/// The input files of a run.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Public inputs by name.
    pub public: BTreeMap<String, RawTensor>,
    /// Secret inputs by party set (index in the circuit), member and name. Sets that give nothing
    /// may be left out at the end, or empty. A member without tensors submitted nothing: zeros stand in
    /// for its inputs.
    pub sets: Vec<Vec<BTreeMap<String, RawTensor>>>,
}

impl Inputs {
    /// What everybody knows: the public inputs, and who takes part.
    ///
    /// # Errors
    ///
    /// As [`encode_public`].
    pub(crate) fn known(&self, circuit: &Circuit) -> Result<BTreeMap<usize, Data>, InputError> {
        let mut known = encode_public(circuit, &self.public)?;
        known.extend(presence(circuit, |set, member| {
            let members = self.sets.get(set as usize);
            members.and_then(|all| all.get(member as usize)).is_some_and(|m| !m.is_empty())
        }));
        Ok(known)
    }

    /// The members of a party set that gives inputs; nothing of one that submitted nothing.
    ///
    /// # Errors
    ///
    /// None of them submitted anything, or they are not as many as the circuit declares.
    pub(crate) fn members(
        &self,
        circuit: &Circuit,
        set: usize,
    ) -> Result<Vec<Option<Member<'_>>>, InputError> {
        let (Some(party), Some(first)) = (circuit.parties.get(set), given_by(circuit, set).next())
        else {
            return Ok(Vec::new());
        };
        let members = self.sets.get(set).map_or(&[][..], Vec::as_slice);
        let submitted = members.iter().filter(|m| !m.is_empty()).count();
        if members.len() as u64 != party.size || submitted == 0 {
            let found = if submitted == 0 { 0 } else { members.len() as u64 };
            let problem = Problem::Members { expected: party.size, found };
            return Err(about(&circuit.inputs[first], &party.name, problem));
        }
        let all = members.iter().enumerate().map(|(member, files)| Member { set, member, files });
        Ok(all.map(|m| (!m.files.is_empty()).then_some(m)).collect())
    }
}

/// All inputs of a circuit as ring elements.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// Public inputs, by index of the input.
    pub public: BTreeMap<usize, Data>,
    /// By party set and member: the secret inputs as (index of the input, elements). Nothing for a
    /// member that submitted nothing.
    pub sets: Vec<Vec<Vec<(u64, Data)>>>,
    /// States that an earlier round has left, by index of the input, for an evaluation in the clear; the others begin.
    pub states: BTreeMap<usize, Data>,
}

impl Encoded {
    /// Encodes every input that the circuit declares; tensors it does not declare are ignored.
    ///
    /// # Errors
    ///
    /// The first tensor that is missing or not as declared; a party set none of whose members
    /// submitted anything.
    pub fn new(circuit: &Circuit, inputs: &Inputs) -> Result<Self, InputError> {
        Self::with(circuit, inputs, true)
    }

    /// As [`Encoded::new`], but numbers of clients outside their declared range are taken modulo 2^k.
    /// What is not a finite number, or of another shape or kind, is refused all the same.
    ///
    /// # Errors
    ///
    /// As [`Encoded::new`], ranges of clients excepted.
    pub fn unchecked(circuit: &Circuit, inputs: &Inputs) -> Result<Self, InputError> {
        Self::with(circuit, inputs, false)
    }

    fn with(circuit: &Circuit, inputs: &Inputs, ranges: bool) -> Result<Self, InputError> {
        let mut out = Encoded { public: inputs.known(circuit)?, ..Encoded::default() };
        for set in 0..circuit.parties.len() {
            let members = inputs.members(circuit, set)?.into_iter();
            let one =
                |m: Option<Member<'_>>| m.map_or(Ok(Vec::new()), |m| m.encode(circuit, ranges));
            out.sets.push(members.map(one).collect::<Result<_, _>>()?);
        }
        Ok(out)
    }

    /// Takes what the members of a party set share; nothing of one that submitted nothing.
    pub(crate) fn take(&mut self, set: usize) -> Vec<Option<Vec<(u64, Data)>>> {
        let members = self.sets.get_mut(set).map(std::mem::take).unwrap_or_default();
        members.into_iter().map(|m| (!m.is_empty()).then_some(m)).collect()
    }

    /// The value of every input, in declaration order: secret inputs with the members' parts one
    /// after another, zeros for a member that submitted nothing.
    pub fn values(&self, circuit: &Circuit) -> Vec<Data> {
        let value = |j: usize| {
            let (input, ty) = (&circuit.inputs[j], circuit.ty(circuit.inputs[j].value));
            let set = match input.from {
                From::Each(set) => set,
                From::Public | From::Present(_) => {
                    return self.public.get(&j).cloned().unwrap_or(Data::zeros(ty.dom, 0));
                }
                From::State(word) => {
                    let begins = || {
                        let mut x = Data::zeros(ty.dom, ty.elements() as usize);
                        x.offset(word as i128 as u128 & slvr_circuit::low_mask(ty.bits()));
                        x
                    };
                    return self.states.get(&j).cloned().unwrap_or_else(begins);
                }
            };
            let size = circuit.parties.get(set as usize).map_or(1, |p| p.size.max(1));
            let zeros = Data::zeros(ty.dom, (ty.elements() / size) as usize);
            let members = self.sets.get(set as usize).map_or(&[][..], Vec::as_slice);
            let part = |i: u64| {
                let given = members.get(i as usize).map_or(&[][..], Vec::as_slice);
                given.iter().find(|(k, _)| *k == j as u64).map_or(&zeros, |(_, x)| x)
            };
            Data::concat(&(0..size).map(part).collect::<Vec<_>>())
        };
        (0..circuit.inputs.len()).map(value).collect()
    }
}
