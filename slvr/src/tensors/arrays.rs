//! Tensors that are in memory, by giver and name.

use super::elements::{Elements, Stored};
use super::stored::Tensors;
use super::{
    Expected, Giver, Read, Source, Submitted, Values, expect, not_read, placed, submitted,
};
use crate::error::{Error, Result, refuse};
use slvr_circuit::{Circuit, From, PartySet};
use slvr_runtime::share::encode::{InputError, RawTensor};
use std::collections::BTreeMap;

pub struct Array<'a> {
    /// Sizes of its axes.
    pub shape: Vec<u64>,
    /// The type of its elements, as messages call it.
    pub kind: String,
    /// Its elements, row by row; nothing of a type that no input has.
    pub data: Option<Elements<'a>>,
}

/// What a member of a party set gives.
pub enum Submission<'a> {
    None,
    /// Something that cannot be read, and why.
    Unreadable(String),
    Arrays(BTreeMap<String, Array<'a>>),
}

/// What was submitted, under the names that the tensors of files have.
#[derive(Default)]
pub struct Arrays<'a> {
    pub public: BTreeMap<String, Array<'a>>,
    /// By party set what each member gives.
    pub sets: BTreeMap<String, Vec<Submission<'a>>>,
}

impl Arrays<'_> {
    /// Gathers what was submitted, as [`read_submitted`](super::read_submitted) does from files.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] of public inputs, of a set that the circuit does not have, or has with other members, and of
    /// one in which nobody gives what is declared.
    pub fn submitted(&self, circuit: &Circuit, values: Values) -> Result<Submitted> {
        let known: Vec<&str> = circuit.parties.iter().map(|set| set.name.as_str()).collect();
        if let Some(other) = self.sets.keys().find(|name| !known.contains(&name.as_str())) {
            let near = slvr_compiler::diagnostic::near::did_you_mean(other, known.iter().copied());
            let hint = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            refuse!("`{}` has no party set `{other}`{hint}", circuit.name);
        }
        submitted(circuit, self, values)
    }

    /// An error of inputs that were in memory, with the field of a record that it is about.
    pub fn locate(circuit: &Circuit, e: InputError) -> Error {
        let giver = e.giver.clone();
        placed(circuit, &giver, e)
    }

    fn of(&self, set: &str, member: u64) -> &Submission<'_> {
        let members = self.sets.get(set).map_or(&[][..], Vec::as_slice);
        members.get(member as usize).unwrap_or(&Submission::None)
    }
}

/// What one member of a party set gives, and what is said of arrays that no input asks for.
///
/// # Errors
///
/// [`Error::Input`] of arrays that are not as declared.
pub fn member_of(
    circuit: &Circuit,
    set: usize,
    arrays: &BTreeMap<String, Array<'_>>,
) -> Result<(BTreeMap<String, RawTensor>, Option<String>)> {
    taken(circuit, From::Each(set as u32), "the client's inputs", arrays)
}

/// The same of public inputs.
///
/// # Errors
///
/// As [`member_of`].
pub fn public_of(
    circuit: &Circuit,
    arrays: &BTreeMap<String, Array<'_>>,
) -> Result<(BTreeMap<String, RawTensor>, Option<String>)> {
    taken(circuit, From::Public, "the public inputs", arrays)
}

fn taken(
    circuit: &Circuit,
    from: From,
    place: &str,
    arrays: &BTreeMap<String, Array<'_>>,
) -> Result<(BTreeMap<String, RawTensor>, Option<String>)> {
    let expected = Expected::all(circuit, from);
    let Read { tensors, surplus } = expect(&mut Named(arrays), place, &expected)?;
    Ok((tensors, not_read(circuit, &[(place.into(), surplus)])))
}

struct Named<'a>(&'a BTreeMap<String, Array<'a>>);

impl Tensors for Named<'_> {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn get(&mut self, name: &str, _: &[u64]) -> std::result::Result<Option<Stored<'_>>, String> {
        Ok(self.0.get(name).map(|a| Stored {
            shape: a.shape.clone(),
            kind: a.kind.clone(),
            data: a.data.as_ref().map(Elements::lent),
        }))
    }
}

impl Source for Arrays<'_> {
    fn suits(&self, set: &PartySet) -> Result<()> {
        match self.sets.get(&set.name) {
            None => {
                refuse!("nothing is given for `{}`, a party set of {} members", set.name, set.size)
            }
            Some(given) if given.len() as u64 != set.size => {
                refuse!("`{}` has {} members, and {} are given", set.name, set.size, given.len())
            }
            Some(_) => Ok(()),
        }
    }

    fn read(&self, giver: Giver<'_>, expected: &[Expected<'_>]) -> Result<Read> {
        let arrays = match giver {
            Giver::Public => &self.public,
            Giver::Member(set, i) => match self.of(set, i) {
                Submission::Arrays(arrays) => arrays,
                Submission::Unreadable(why) => refuse!("{}: {why}", self.place(giver)),
                Submission::None => return Err(Error::Input(self.absent(giver))),
            },
        };
        expect(&mut Named(arrays), &self.place(giver), expected)
    }

    fn is_there(&self, giver: Giver<'_>) -> bool {
        match giver {
            Giver::Public => true,
            Giver::Member(set, i) => !matches!(self.of(set, i), Submission::None),
        }
    }

    fn place(&self, giver: Giver<'_>) -> String {
        match giver {
            Giver::Public => "public".into(),
            Giver::Member(set, i) => format!("{set} {i}"),
        }
    }

    fn absent(&self, giver: Giver<'_>) -> String {
        format!("{}: nothing is given", self.place(giver))
    }

    fn locate(&self, circuit: &Circuit, e: InputError) -> Error {
        Arrays::locate(circuit, e)
    }
}
