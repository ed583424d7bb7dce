//! Files of tensors: safetensors in and out, npz in.
//!
//! `DIR/public.safetensors` holds public inputs, `DIR/Client/3.safetensors` the secret inputs of
//! member 3 of the party set `Client`; each may be an npz file instead. A field of a record is
//! `input.field`. A member without a file, or with one that is not as the circuit declares it, has
//! submitted nothing.

mod arrays;
mod elements;
mod npz;
mod stored;
mod written;

pub use npz::{NpzArray, arrays as npz_arrays};

use crate::error::{About as _, Error, Result, refuse};
use crate::notes::{Note, Notes};
pub use arrays::{Array, Arrays, Submission, member_of, public_of};
pub use elements::Elements;
use elements::{Stored, fits};
use safetensors::tensor::SafeTensors;
use slvr_circuit::{Circuit, Encoding, From, Input, PartySet};
use slvr_compiler::diagnostic::plain::name as shown;
use slvr_ring::threads;
use slvr_runtime::share::encode::{InputError, Inputs, Member, Problem, RawData, RawTensor};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stored::{ENDS, File, Tensors, path_of};
pub use written::write_own;
pub(crate) use written::{Named, put_f64, put_i64, write_described};
pub use written::{can_make, named, write_file, write_outputs};

/// Reads the inputs that a circuit declares; the file of every member must be there.
pub fn read(circuit: &Circuit, dir: &Path, notes: Notes<'_>) -> Result<Inputs> {
    let Submitted { inputs, missing, surplus } = read_submitted(circuit, dir, Values::Declared)?;
    if let Some(m) = missing.into_iter().next() {
        return Err(m.error);
    }
    surplus.iter().for_each(|note| notes(Note::Note(note)));
    Ok(inputs)
}

/// Which numbers of a client's file are taken.
#[derive(Clone, Copy, PartialEq)]
pub enum Values {
    /// Those in their declared range.
    Declared,
    /// All finite ones.
    Unchecked,
}

/// A member whose file is not there, or not as it should be.
pub struct Missing {
    /// The party set, by number.
    pub set: usize,
    pub member: usize,
    /// Both, e.g. `Client 3`.
    giver: String,
    /// What is wrong with the file, in one line that begins with its name.
    what: String,
    /// What to say where the file is needed.
    error: Error,
}

impl Missing {
    /// What is wrong, in one line that begins with where.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// That zeros stand in, in one line.
    pub fn replaced(&self) -> String {
        format!("{}; zeros stand in for all inputs of {}", self.what, self.giver)
    }

    /// That it is left out, in one line.
    pub fn excluded(&self) -> String {
        format!("{}; {} is left out", self.what, self.giver)
    }
}

/// Has zeros stand in for all inputs of members that gave none: class 0 of labels, and where a range has no 0 the end
/// that is nearest to it.
pub fn stand_in(circuit: &Circuit, inputs: &mut Inputs) {
    for input in &circuit.inputs {
        if let From::Present(set) = input.from {
            let members = inputs.sets.get(set as usize).map_or(&[][..], Vec::as_slice);
            let bits = members.iter().map(|m| i64::from(!m.is_empty())).collect();
            let bits = RawTensor::integers(input.shape.clone(), bits);
            inputs.public.insert(input.name.clone(), bits);
        }
    }
    for (s, members) in inputs.sets.iter_mut().enumerate() {
        let expected = Expected::all(circuit, From::Each(s as u32));
        for member in members.iter_mut().filter(|m| m.is_empty()) {
            *member = expected.iter().map(|e| (e.name.clone(), e.zeros())).collect();
        }
    }
}

pub struct Submitted {
    /// Of everybody; nothing of who is missing.
    pub inputs: Inputs,
    pub missing: Vec<Missing>,
    /// What is said of tensors that no input asks for.
    pub surplus: Vec<String>,
}

/// Reads what was submitted: a member whose file is not there, or holds anything but what the circuit declares,
/// gives no tensors, and is listed. One client must not be able to end the run of all. A party set without any
/// good file is an error, and so is one of a single member without it.
///
/// # Errors
///
/// [`Error::Input`].
pub fn read_submitted(circuit: &Circuit, dir: &Path, values: Values) -> Result<Submitted> {
    is_folder(dir, &files(circuit))?;
    submitted(circuit, &Folder(dir), values)
}

/// Whose tensors: the public ones, or those of a member of a party set.
#[derive(Clone, Copy)]
enum Giver<'c> {
    Public,
    Member(&'c str, u64),
}

impl Giver<'_> {
    /// What the tensors are, in words.
    fn holds(self) -> String {
        match self {
            Giver::Public => "the public inputs".into(),
            Giver::Member(set, i) => format!("the inputs of {set} {i}"),
        }
    }
}

/// Where what was submitted is.
trait Source: Sync {
    /// Refuses what does not go with a party set.
    fn suits(&self, set: &PartySet) -> Result<()>;
    /// Whether a giver gives anything, good or bad.
    fn is_there(&self, giver: Giver<'_>) -> bool;
    /// The tensors of a giver.
    fn read(&self, giver: Giver<'_>, expected: &[Expected<'_>]) -> Result<Read>;
    /// Where they are, or would be.
    fn place(&self, giver: Giver<'_>) -> String;
    /// What is said where there are none.
    fn absent(&self, giver: Giver<'_>) -> String;
    /// An error with the place that it is about.
    fn locate(&self, circuit: &Circuit, e: InputError) -> Error;
}

/// Gathers what was submitted, see [`read_submitted`].
fn submitted(circuit: &Circuit, source: &dyn Source, values: Values) -> Result<Submitted> {
    let (mut missing, mut surplus) = (Vec::new(), Vec::new());
    let mut public = BTreeMap::new();
    let expected = Expected::all(circuit, From::Public);
    if !expected.is_empty() {
        let read = source.read(Giver::Public, &expected)?;
        surplus.extend(not_read(circuit, &[(source.place(Giver::Public), read.surplus)]));
        public = read.tensors;
    }
    let mut sets = Vec::new();
    for (s, set) in circuit.parties.iter().enumerate() {
        let expected = Expected::all(circuit, From::Each(s as u32));
        let mut members = Vec::new();
        if !expected.is_empty() {
            source.suits(set)?;
            let (mut absent, mut unread) = (Vec::new(), Vec::new());
            let given = threads::map(0..set.size, &|i| {
                let giver = Giver::Member(&set.name, i);
                let read = source.read(giver, &expected)?;
                let member = Member { set: s, member: i as usize, files: &read.tensors };
                let checked = member.check(circuit, values == Values::Declared);
                checked.map_err(|e| source.locate(circuit, e)).map(|()| read)
            });
            for (i, read) in given.into_iter().enumerate() {
                let giver = Giver::Member(&set.name, i as u64);
                match read {
                    Err(error) => {
                        let what = match source.is_there(giver) {
                            true => error.to_string(),
                            false => source.absent(giver),
                        };
                        let giver = format!("{} {i}", set.name);
                        absent.push(Missing { set: s, member: i, giver, what, error });
                        members.push(BTreeMap::new());
                    }
                    Ok(Read { tensors, surplus }) => {
                        unread.push((source.place(giver), surplus));
                        members.push(tensors);
                    }
                }
            }
            surplus.extend(not_read(circuit, &unread));
            if absent.len() < members.len() {
                missing.extend(absent);
            } else if let Some(first) = absent.into_iter().next() {
                return Err(first.error);
            }
        }
        sets.push(members);
    }
    Ok(Submitted { inputs: Inputs { public, sets }, missing, surplus })
}

/// A folder of files.
struct Folder<'d>(&'d Path);

impl Folder<'_> {
    /// The folder and the stem of a giver's file.
    fn stem(&self, giver: Giver<'_>) -> (PathBuf, String) {
        match giver {
            Giver::Public => (self.0.to_path_buf(), "public".into()),
            Giver::Member(set, i) => (self.0.join(set), i.to_string()),
        }
    }

    fn path(&self, giver: Giver<'_>) -> PathBuf {
        let (folder, stem) = self.stem(giver);
        path_of(&folder, &stem).unwrap_or_else(|_| folder.join(format!("{stem}.{}", ENDS[0])))
    }
}

impl Source for Folder<'_> {
    fn suits(&self, set: &PartySet) -> Result<()> {
        let folder = self.0.join(&set.name);
        is_folder(&folder, &members_files("", set.size))?;
        no_surplus(&folder, &set.name, set.size)
    }

    fn read(&self, giver: Giver<'_>, expected: &[Expected<'_>]) -> Result<Read> {
        let (folder, stem) = self.stem(giver);
        let path = path_of(&folder, &stem).map_err(Error::Input)?;
        read_file(&path, &giver.holds(), expected)
    }

    fn is_there(&self, giver: Giver<'_>) -> bool {
        !matches!(self.path(giver).try_exists(), Ok(false))
    }

    fn place(&self, giver: Giver<'_>) -> String {
        self.path(giver).display().to_string()
    }

    fn absent(&self, giver: Giver<'_>) -> String {
        format!("{}: no such file", self.place(giver))
    }

    fn locate(&self, circuit: &Circuit, e: InputError) -> Error {
        locate(circuit, self.0, e)
    }
}

/// One line on the tensors that files have and no input asks for: another predicate may read them, or a name is
/// misspelt.
fn not_read(circuit: &Circuit, files: &[(String, Vec<String>)]) -> Option<String> {
    let with: Vec<&(String, Vec<String>)> = files.iter().filter(|(_, s)| !s.is_empty()).collect();
    let (first, _) = with.first()?;
    let names: BTreeSet<&str> =
        with.iter().flat_map(|(_, surplus)| surplus).map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let more = match with.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let are = if names.len() == 1 { "is" } else { "are" };
    let names = listed(&names);
    Some(format!("{first}{more}: {names} {are} not read: `{}` has no such input", circuit.name))
}

/// What one member of a party set submits: a safetensors or `.npz` file.
pub fn read_member(
    circuit: &Circuit,
    set: usize,
    path: &Path,
    notes: Notes<'_>,
) -> Result<BTreeMap<String, RawTensor>> {
    let expected = Expected::all(circuit, From::Each(set as u32));
    let read = read_file(path, "the client's inputs", &expected)?;
    note_not_read(circuit, path, read.surplus, notes);
    Ok(read.tensors)
}

/// Tells what a file has that no input asks for.
fn note_not_read(circuit: &Circuit, path: &Path, surplus: Vec<String>, notes: Notes<'_>) {
    if let Some(note) = not_read(circuit, &[(path.display().to_string(), surplus)]) {
        notes(Note::Note(&note));
    }
}

/// Public inputs of a file; none if the circuit has none.
pub fn read_public(
    circuit: &Circuit,
    path: Option<&Path>,
    notes: Notes<'_>,
) -> Result<BTreeMap<String, RawTensor>> {
    let expected = Expected::all(circuit, From::Public);
    match path {
        Some(path) if expected.is_empty() => {
            let why = "is not read: the program has no public inputs";
            notes(Note::Note(&format!("{} {why}", path.display())));
            Ok(BTreeMap::new())
        }
        None if expected.is_empty() => Ok(BTreeMap::new()),
        Some(path) => {
            let read = read_file(path, "the public inputs", &expected)?;
            note_not_read(circuit, path, read.surplus, notes);
            Ok(read.tensors)
        }
        None => {
            let names: Vec<&str> = expected.iter().map(|e| e.name.as_str()).collect();
            refuse!("the task has public inputs: --public FILE with {}", listed(&names))
        }
    }
}

/// The files of a folder of inputs, in words.
fn files(circuit: &Circuit) -> String {
    let gives = |from: From| circuit.inputs.iter().any(|i| i.from == from);
    let mut all = Vec::new();
    if gives(From::Public) {
        all.push("public.safetensors".to_string());
    }
    let sets = circuit.parties.iter().enumerate();
    for (_, set) in sets.filter(|(s, _)| gives(From::Each(*s as u32))) {
        all.push(members_files(&format!("{}/", set.name), set.size));
    }
    all.join(", ")
}

fn members_files(folder: &str, size: u64) -> String {
    match size {
        1 => format!("{folder}0.safetensors"),
        n => format!("{folder}0.safetensors to {folder}{}.safetensors", n - 1),
    }
}

fn is_folder(path: &Path, holds: &str) -> Result<()> {
    let what = match path.is_dir() {
        true => return Ok(()),
        false if path.exists() => "not a directory",
        false => "no such directory",
    };
    refuse!("{}: {what}; it should hold {holds}", path.display())
}

/// A file of a member that is not there is most likely a wrong size on the command line.
fn no_surplus(folder: &Path, set: &str, size: u64) -> Result<()> {
    let unreadable = || format!("{}: cannot be read", folder.display());
    let mut surplus: Option<(u64, PathBuf)> = None;
    for entry in folder.read_dir().about(unreadable)? {
        let path = entry.about(unreadable)?.path();
        let is_tensors = path.extension().is_some_and(|e| ENDS.iter().any(|end| e == *end));
        let member = path.file_stem().and_then(|s| s.to_str()?.parse::<u64>().ok());
        if let (true, Some(i)) = (is_tensors, member)
            && i >= size
            && surplus.as_ref().is_none_or(|(least, _)| i < *least)
        {
            surplus = Some((i, path));
        }
    }
    let Some((i, path)) = surplus else { return Ok(()) };
    let members = match size {
        1 => "has only member 0".to_string(),
        n => format!("has only members 0 to {}", n - 1),
    };
    refuse!(
        "{}: {set} {members}, and this would be member {i}; give {set} its size on the command line, or remove the file",
        path.display()
    )
}

/// A tensor that a file should hold: an input, or a field of one.
struct Expected<'c> {
    input: &'c Input,
    name: String,
    shape: &'c [u64],
}

impl<'c> Expected<'c> {
    fn of(input: &'c Input) -> Vec<Self> {
        if input.fields.is_empty() {
            return vec![Expected { input, name: input.name.clone(), shape: &input.shape }];
        }
        let field = |f: &'c slvr_circuit::Field| {
            let name = format!("{}.{}", input.name, f.name);
            Expected { input, name, shape: &f.shape }
        };
        input.fields.iter().map(field).collect()
    }

    /// All that somebody gives.
    fn all(circuit: &'c Circuit, from: From) -> Vec<Self> {
        circuit.inputs.iter().filter(|i| i.from == from).flat_map(Expected::of).collect()
    }

    fn zeros(&self) -> RawTensor {
        let n = self.shape.iter().product::<u64>() as usize;
        let data = match self.input.encoding {
            Encoding::Fixed { lo, hi, .. } => RawData::F64(vec![0f64.clamp(lo, hi); n]),
            Encoding::Int { lo, hi } => RawData::I64(vec![0.clamp(lo, hi - 1); n]),
            Encoding::OneHot { .. } => RawData::I64(vec![0; n]),
        };
        RawTensor { shape: self.shape.to_vec(), data }
    }

    fn is_real(&self) -> bool {
        matches!(self.input.encoding, Encoding::Fixed { .. })
    }

    /// Whether every entry is 0 or 1.
    fn is_bit(&self) -> bool {
        matches!(self.input.encoding, Encoding::Int { lo: 0, hi: 2 })
    }

    /// What is expected, in words.
    fn kind(&self) -> &'static str {
        if self.is_real() { "real numbers" } else { "integers" }
    }

    fn shape(&self) -> String {
        format!("of shape {:?}", self.shape)
    }
}

/// Some names, for a message.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{}`", shown(n))).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A file may hold so many times the bytes that are read of it, and so many more: it may have other
/// tensors besides.
const MOST_TIMES: u64 = 8;
const MOST_EXTRA: u64 = 64 << 20;

/// What a file holds.
struct Read {
    /// The tensors of its giver's inputs.
    tensors: BTreeMap<String, RawTensor>,
    /// The names of others.
    surplus: Vec<String>,
}

fn read_file(path: &Path, holds: &str, expected: &[Expected<'_>]) -> Result<Read> {
    let bytes = bytes_of(path, holds, expected)?;
    tensors_of(path, &bytes, expected)
}

fn bytes_of(path: &Path, holds: &str, expected: &[Expected<'_>]) -> Result<Vec<u8>> {
    let at = path.display();
    crate::files::read(path, most_bytes(expected)).map_err(|e| {
        let names: Vec<&str> = expected.iter().map(|e| e.name.as_str()).collect();
        let names = listed(&names);
        Error::Input(match e.kind() {
            ErrorKind::NotFound => format!("{at}: no such file; it should hold {holds}: {names}"),
            _ => format!("{at}: cannot be read: {e}"),
        })
    })
}

fn tensors_of(path: &Path, bytes: &[u8], expected: &[Expected<'_>]) -> Result<Read> {
    let at = path.display().to_string();
    let mut file = File::open(path, bytes).about(|| at.clone())?;
    expect(&mut file, &at, expected)
}

/// The tensors of some inputs, and what their file says of itself: of an npz file that is nothing.
pub(crate) fn read_described<'c>(
    path: &Path,
    holds: &str,
    inputs: impl Iterator<Item = &'c Input>,
) -> Result<(BTreeMap<String, RawTensor>, BTreeMap<String, String>)> {
    let expected: Vec<Expected<'_>> = inputs.flat_map(Expected::of).collect();
    let bytes = bytes_of(path, holds, &expected)?;
    let read = tensors_of(path, &bytes, &expected)?;
    let header = SafeTensors::read_metadata(&bytes).ok();
    let about = header.and_then(|(_, m)| m.metadata().clone()).into_iter().flatten();
    Ok((read.tensors, about.collect()))
}

/// Takes the tensors that are expected.
fn expect(file: &mut dyn Tensors, at: &str, expected: &[Expected<'_>]) -> Result<Read> {
    let names = file.names();
    let mut out: BTreeMap<String, RawTensor> = BTreeMap::new();
    for e in expected {
        let data = one(file, &names, e, expected).about(|| format!("{at}: tensor `{}`", e.name))?;
        // The fields of a record follow one another, as in the order of the circuit.
        match out.get_mut(&e.input.name).map(|t| (&mut t.shape, &mut t.data)) {
            None if e.input.fields.is_empty() => {
                let data = data.into_owned();
                out.insert(e.name.clone(), RawTensor { shape: e.shape.to_vec(), data });
            }
            None => {
                let data = data.first_of(elements_of(&e.input.shape) as usize);
                let flat = RawTensor { shape: vec![elements_of(e.shape)], data };
                out.insert(e.input.name.clone(), flat);
            }
            Some((shape, all)) => {
                *shape = vec![elements_of(shape).saturating_add(elements_of(e.shape))];
                // `one` holds every field to the kind of the input.
                if !data.append_to(all) {
                    refuse!("{at}: tensor `{}`: not of the kind of other fields", e.name);
                }
            }
        }
    }
    let known = |name: &String| expected.iter().any(|e| e.name == *name);
    Ok(Read { tensors: out, surplus: names.into_iter().filter(|n| !known(n)).collect() })
}

/// Bytes that are read of a file at most.
fn most_bytes(expected: &[Expected<'_>]) -> u64 {
    let wanted = expected.iter().fold(0, |n: u64, e| n.saturating_add(elements_of(e.shape)));
    wanted.saturating_mul(8).saturating_mul(MOST_TIMES).saturating_add(MOST_EXTRA)
}

fn elements_of(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// The elements of a tensor that is expected.
fn one<'f>(
    file: &'f mut dyn Tensors,
    names: &[String],
    e: &Expected,
    all: &[Expected],
) -> std::result::Result<Elements<'f>, String> {
    let Some(Stored { shape, kind, data }) = file.get(&e.name, e.shape)? else {
        return Err(format!(
            "missing, the circuit expects {} {}{}",
            e.kind(),
            e.shape(),
            instead(names, e, all)
        ));
    };
    if !fits(&shape, e.shape) {
        let turned = shape.len() == 2 && shape.iter().rev().eq(e.shape);
        let hint = if turned { "; is it transposed?" } else { "" };
        return Err(format!("has shape {shape:?}, the circuit expects {:?}{hint}", e.shape));
    }
    let is_bool = matches!(kind.as_str(), "BOOL" | "|b1");
    let data = data.filter(|d| d.is_real() == e.is_real() && (!is_bool || e.is_bit()));
    let data = data.ok_or_else(|| {
        let types = match e.is_real() {
            true => "F32, F64, F16 or BF16",
            false if e.is_bit() => "BOOL or an integer type",
            false => "I64 or another integer type",
        };
        format!("has elements of type {kind}, the circuit expects {}: {types}", e.kind())
    })?;
    Ok(data)
}

/// What the file may have in place of a missing tensor.
fn instead(names: &[String], e: &Expected, all: &[Expected]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    let input = &e.input.name;
    let field = e.name.strip_prefix(input.as_str()).and_then(|f| f.strip_prefix('.'));
    if names.is_empty() {
        return "; the file holds no tensors".into();
    }
    if let Some(field) = field
        && names.contains(&field)
    {
        return format!("; the file has `{field}`: the fields of `{input}` begin with `{input}.`");
    }
    if field.is_some() && names.contains(&input.as_str()) {
        return format!("; the file has `{input}` in one piece: give each field by its own name");
    }
    // A tensor that is expected itself is not what was meant.
    names.retain(|n| !all.iter().any(|e| e.name == *n));
    match slvr_compiler::diagnostic::near::did_you_mean(&e.name, names.iter().copied()) {
        Some(near) => format!("; the file has `{}`: is it that?", shown(near)),
        None if names.is_empty() => String::new(),
        None => format!("; what the file has besides: {}", listed(&names)),
    }
}

/// An input error with the file it came from, and for a record the field.
pub fn locate(circuit: &Circuit, dir: &Path, e: InputError) -> Error {
    let giver = match e.giver.split_once(' ') {
        None => Giver::Public,
        Some((set, member)) => Giver::Member(set, member.parse().unwrap_or(0)),
    };
    let place = Folder(dir).place(giver);
    placed(circuit, &place, e)
}

/// The same of tensors in another place.
fn placed(circuit: &Circuit, place: &str, e: InputError) -> Error {
    let input = circuit.inputs.iter().find(|i| i.name == e.tensor);
    let field = |index: &[u64]| -> Option<(String, Vec<u64>)> {
        let mut at = *index.first()?;
        for f in &input?.fields {
            let n: u64 = f.shape.iter().product();
            if at < n {
                let mut inner = vec![0; f.shape.len()];
                for (d, &size) in f.shape.iter().enumerate().rev() {
                    inner[d] = at % size;
                    at /= size;
                }
                return Some((format!("{}.{}", e.tensor, f.name), inner));
            }
            at -= n;
        }
        None
    };
    let (mut tensor, mut problem) = (e.tensor.clone(), e.problem.clone());
    if let Problem::NotFinite { index }
    | Problem::Range { index, .. }
    | Problem::Overflow { index, .. } = &mut problem
        && let Some((name, inner)) = field(index)
    {
        tensor = name;
        *index = inner;
    }
    // A scalar has no positions.
    let problem = problem.to_string().replace("the element at []", "the value");
    Error::Input(format!("{place}: tensor `{tensor}`: {problem}"))
}

/// Fraction bits of the words of an input.
pub fn frac(input: &Input) -> u32 {
    match input.encoding {
        Encoding::Fixed { frac, .. } => frac,
        Encoding::Int { .. } | Encoding::OneHot { .. } => 0,
    }
}
