//! What a client signs, commits to and sends to each node.
//!
//! A client's inputs are dealt as in a run ([`slvr_runtime::share::deal`]): two seeds and one explicit vector. Node i
//! gets components i and i + 1, each with a salt, in one *part*:
//!
//! | node | its part |
//! |---|---|
//! | 0 | salt 0, seed 0, salt 1, seed 1 |
//! | 1 | salt 1, seed 1, salt 2, explicit vector |
//! | 2 | salt 2, explicit vector, salt 0, seed 0 |
//!
//! The *manifest* is the same for all nodes. It names task, round, client, submission, circuit and the opening of the
//! round, has a commitment to each component, and is signed. A commitment is a hash of the salt and the component. Without salts, a node could
//! test guesses of an input: from its two components and a guess follows the third, whose hash it would have.
//!
//! Nodes whose manifests of a client are equal, and whose parts fit their manifest, hold the same copies of each
//! component. So they only compare hashes of manifests ([`Manifest::digest`]).
//!
//! **Dealing is deterministic.** Seeds, salts and the submission's name are drawn from a pseudorandom function under
//! the client's secret, of the task, the round, the circuit and the inputs. So whoever submits the same inputs again
//! sends the same bytes, without keeping anything between attempts, and other inputs get unrelated seeds.

pub mod check;

use crate::hex::{Hash, Hex};
use crate::names::is_name;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use slvr_circuit::fixed::signed;
use slvr_circuit::{Circuit, Dom, Encoding, From, low_mask, wire_len};
use slvr_ring::Data;
use slvr_runtime::share::deal::{Dealt, Part, Upload, layout};
use slvr_runtime::share::encode::{InputError, Member, RawTensor};
use slvr_runtime::share::{RunId, Seed};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a salt.
pub const SALT: usize = 32;
/// Bytes of a seed.
const SEED: usize = 16;
/// Longest manifest, as JSON.
pub const MANIFEST: usize = 4096;

/// A submission that a node refuses, or that cannot be made.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SubmissionError {
    /// A name that cannot be one, or is another one than that of the round.
    #[error("the manifest names another {0} than the request")]
    Other(&'static str),
    /// The signature is not the client's.
    #[error("the signature is not one of this client's key over this manifest")]
    Signature,
    /// The part is shorter or longer than the circuit's inputs take.
    #[error("the part has {found} bytes, the circuit's inputs take {expected}")]
    Length {
        /// Bytes that the circuit's inputs take.
        expected: u64,
        found: u64,
    },
    /// The explicit vector is not a packing of elements: no node could read it, and the third would not see that.
    #[error("the vector of the part sets bits beyond the last element of an input")]
    Packing,
    /// A component is not the one of the manifest.
    #[error("component {0} of the part is not the one that the manifest commits to")]
    Commitment(usize),
    /// No party set of that name gives inputs.
    #[error("no party set `{named}` of the circuit gives inputs: there are {there}")]
    Set {
        named: String,
        /// Those that do.
        there: String,
    },
    /// The circuit is not one that clients can submit to.
    #[error("{0}")]
    Circuit(&'static str),
    /// The inputs are not as declared.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// What a client says of its submission to all nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub task: String,
    pub round: u64,
    pub client: String,
    pub submission: Hex<16>,
    /// Hash of the circuit that the inputs were encoded for.
    pub circuit: Hash,
    /// Hash of the round's opening ([`crate::state::Spec::digest`]).
    pub opening: Hash,
    /// A commitment to each component.
    pub components: [Hash; 3],
    /// Ed25519, over [`Manifest::statement`].
    pub signature: Hex<64>,
}

impl Manifest {
    /// What is signed: everything but the signature, each text with its length.
    pub fn statement(&self) -> Vec<u8> {
        let mut out = b"slvr submission 2\0".to_vec();
        for text in [&self.task, &self.client] {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        }
        out.extend(self.round.to_le_bytes());
        out.extend(self.submission.0);
        out.extend(self.circuit.0);
        out.extend(self.opening.0);
        self.components.iter().for_each(|c| out.extend(c.0));
        out
    }

    /// What nodes compare. It says nothing of the inputs.
    pub fn digest(&self) -> Hash {
        Hex(*blake3::hash(&self.statement()).as_bytes())
    }

    /// Whether it is for that, and signed with that key.
    ///
    /// # Errors
    ///
    /// What is not.
    pub fn check(
        &self,
        task: &str,
        round: u64,
        client: &str,
        key: &Hex<32>,
    ) -> Result<(), SubmissionError> {
        let other = |what| Err(SubmissionError::Other(what));
        if self.task != task || !is_name(task) {
            return other("task");
        }
        if self.round != round {
            return other("round");
        }
        if self.client != client || !is_name(client) {
            return other("client");
        }
        let key = UnparsedPublicKey::new(&ED25519, key.0);
        key.verify(&self.statement(), &self.signature.0).map_err(|_| SubmissionError::Signature)
    }
}

/// The party sets whose members give inputs, in order.
pub fn giving(circuit: &Circuit) -> Vec<usize> {
    let gives = |s: &usize| circuit.inputs.iter().any(|i| i.from == From::Each(*s as u32));
    (0..circuit.parties.len()).filter(gives).collect()
}

/// The party set whose members are the clients of a deployment: of those that give inputs, the first of the largest. All
/// members of the others have to be there in each round.
///
/// # Errors
///
/// A circuit in which nobody gives inputs.
pub fn clients_of(circuit: &Circuit) -> Result<usize, SubmissionError> {
    let size = |s: &usize| circuit.parties.get(*s).map_or(0, |p| p.size);
    let most = giving(circuit).into_iter().rev().max_by_key(size);
    most.ok_or(SubmissionError::Circuit("no party set of the circuit gives inputs"))
}

/// The party set of a name that gives inputs; without a name the clients'.
///
/// # Errors
///
/// A set that gives none.
pub fn set_named(circuit: &Circuit, name: Option<&str>) -> Result<usize, SubmissionError> {
    let Some(name) = name else { return clients_of(circuit) };
    let named = |s: usize| circuit.parties.get(s).map_or("", |p| p.name.as_str());
    let all = giving(circuit);
    all.iter().copied().find(|&s| named(s) == name).ok_or_else(|| SubmissionError::Set {
        named: name.into(),
        there: all.iter().map(|&s| named(s)).collect::<Vec<_>>().join(", "),
    })
}

/// What a client and the coordinator have to know of a circuit: how inputs are encoded and dealt. Circuits for another number
/// of clients may be evaluated on the same submissions if this is the same. All of another party set have to be there, so its size
/// belongs to it; that of the set of `clients` does not.
pub fn interface(circuit: &Circuit, clients: usize) -> Hash {
    let mut hash = blake3::Hasher::new_derive_key("slvr 1 interface of clients");
    let public = circuit.inputs.iter().enumerate().filter(|(_, i)| i.from == From::Public);
    let public = public.map(|(j, i)| {
        let ty = circuit.ty(i.value);
        (j as u64, ty.dom, ty.elements() as usize)
    });
    let given = giving(circuit).into_iter().flat_map(|set| layout(circuit, set));
    for (j, dom, n) in given.chain(public) {
        let input = &circuit.inputs[j as usize];
        let fields: Vec<_> = input.fields.iter().map(|f| (&f.name, &f.shape)).collect();
        let text = format!(
            "{j} {dom:?} {n} {} {:?} {:?} {fields:?}\n",
            input.name, input.encoding, input.shape
        );
        hash.update(text.as_bytes());
    }
    for set in giving(circuit).into_iter().filter(|set| *set != clients) {
        let named = circuit.parties.get(set).map(|p| (&p.name, p.size));
        hash.update(format!("{set} {named:?}\n").as_bytes());
    }
    Hex(*hash.finalize().as_bytes())
}

/// Bytes of the two components of a node's part, without salts.
fn lengths(circuit: &Circuit, set: usize, node: usize) -> [usize; 2] {
    let layout = layout(circuit, set);
    let explicit = layout.iter().map(|&(_, dom, n)| wire_len(dom, n)).sum();
    let of = |i: usize| if i % 3 == 2 { explicit } else { SEED };
    [of(node), of(node + 1)]
}

/// Bytes of a node's part of a member of a party set.
pub fn part_bytes(circuit: &Circuit, set: usize, node: usize) -> u64 {
    lengths(circuit, set, node).iter().map(|l| (SALT + l) as u64).sum()
}

/// The name under which the inputs of a round are dealt.
pub fn dealing(task: &str, round: u64) -> RunId {
    let mut hash = blake3::Hasher::new_derive_key("slvr 1 dealing of a round");
    hash.update(&round.to_le_bytes()).update(task.as_bytes());
    let mut id = [0; 16];
    hash.finalize_xof().fill(&mut id);
    RunId(id)
}

/// A hash that commits to a component, to be given the salt and the component.
fn commitment(component: usize) -> blake3::Hasher {
    let mut hash = blake3::Hasher::new_derive_key("slvr 1 component of a submission");
    hash.update(&[component as u8]);
    hash
}

/// What a node's part of a member of a party set holds.
///
/// # Errors
///
/// A part of another length.
pub fn unpack(
    circuit: &Circuit,
    set: usize,
    node: usize,
    part: &[u8],
) -> Result<Upload, SubmissionError> {
    let [a, b] = lengths(circuit, set, node);
    let (expected, found) = ((2 * SALT + a + b) as u64, part.len() as u64);
    if expected != found {
        return Err(SubmissionError::Length { expected, found });
    }
    let component = |i: usize, bytes: &[u8]| match <[u8; SEED]>::try_from(bytes) {
        Ok(seed) if i % 3 != 2 => Part::Seed(Seed::new(seed)),
        _ => Part::Explicit(Arc::new(bytes.to_vec())),
    };
    let first = component(node, &part[SALT..SALT + a]);
    let second = component(node + 1, &part[2 * SALT + a..]);
    Ok(Upload { first, second })
}

/// A submission, ready to be sent.
pub struct Submission {
    /// What it says of itself.
    pub manifest: Manifest,
    salts: Zeroizing<[[u8; SALT]; 3]>,
    dealt: Dealt,
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submission({}, contents hidden)", self.manifest.submission)
    }
}

/// Who signs, and from what shares are derived: 32 secret bytes.
pub struct Signer {
    pair: Ed25519KeyPair,
    dealing: Zeroizing<[u8; 32]>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}, secret hidden)", self.public())
    }
}

impl Signer {
    /// Of a client's secret.
    ///
    /// # Errors
    ///
    /// Never: every 32 bytes are a seed.
    pub fn new(secret: &[u8; 32]) -> Result<Signer, SubmissionError> {
        let sign = Zeroizing::new(blake3::derive_key("slvr 1 signing key of a client", secret));
        let pair =
            Ed25519KeyPair::from_seed_unchecked(&*sign).map_err(|_| SubmissionError::Signature)?;
        let dealing = Zeroizing::new(blake3::derive_key("slvr 1 dealing key of a client", secret));
        Ok(Signer { pair, dealing })
    }

    pub fn public(&self) -> Hex<32> {
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        Hex(key)
    }
}

impl Submission {
    /// Encodes a client's inputs, holds them to what the circuit declares, and deals them. The hashes are those of the
    /// circuit and of the round's opening.
    ///
    /// # Errors
    ///
    /// The first tensor that is not as declared; a circuit that clients cannot submit to.
    pub fn new(
        signer: &Signer,
        names: (&str, u64, &str),
        circuit: &Circuit,
        hashes: (Hash, Hash),
        tensors: &BTreeMap<String, RawTensor>,
    ) -> Result<Submission, SubmissionError> {
        let set = clients_of(circuit)?;
        Submission::of_set(signer, names, (circuit, set), hashes, tensors)
    }

    /// The same of a member of any party set.
    ///
    /// # Errors
    ///
    /// The first tensor that is not as declared.
    pub fn of_set(
        signer: &Signer,
        (task, round, client): (&str, u64, &str),
        (circuit, set): (&Circuit, usize),
        (circuit_hash, opening): (Hash, Hash),
        tensors: &BTreeMap<String, RawTensor>,
    ) -> Result<Submission, SubmissionError> {
        // Which member it will be nobody knows: a client has its name.
        let named = |e| InputError { giver: client.to_string(), ..e };
        let given = Member { set, member: 0, files: tensors };
        let inputs = given.encode(circuit, true).map_err(named)?;
        let mut manifest = Manifest {
            task: task.into(),
            round,
            client: client.into(),
            submission: Hex([0; 16]),
            circuit: circuit_hash,
            opening,
            components: [Hex([0; 32]); 3],
            signature: Hex([0; 64]),
        };
        let mut draw = blake3::Hasher::new_keyed(&signer.dealing);
        draw.update(&manifest.statement());
        let mut wire = Zeroizing::new(Vec::new());
        for (j, x) in &inputs {
            wire.zeroize();
            wire.clear();
            x.to_wire(&mut wire);
            draw.update(&j.to_le_bytes()).update(&(wire.len() as u64).to_le_bytes()).update(&wire);
        }
        let mut stream = draw.finalize_xof();
        let mut salts = Zeroizing::new([[0; SALT]; 3]);
        let mut seeds = Zeroizing::new([[0; SEED]; 2]);
        stream.fill(&mut manifest.submission.0);
        salts.iter_mut().for_each(|s| stream.fill(s));
        seeds.iter_mut().for_each(|s| stream.fill(s));
        let [seed0, seed1] = seeds.map(Seed::new);
        let dealt = Dealt::new(seed0, seed1, dealing(task, round), inputs);
        let mut made = Submission { manifest, salts, dealt };
        for i in 0..3 {
            let mut hash = commitment(i);
            hash.update(&made.salts[i]).update(made.component(i));
            made.manifest.components[i] = Hex(*hash.finalize().as_bytes());
        }
        let signature = signer.pair.sign(&made.manifest.statement());
        made.manifest.signature.0.copy_from_slice(signature.as_ref());
        Ok(made)
    }

    fn component(&self, i: usize) -> &[u8] {
        match i % 3 {
            0 => self.dealt.seed0.expose(),
            1 => self.dealt.seed1.expose(),
            _ => &self.dealt.explicit,
        }
    }

    /// What a node gets.
    pub fn part(&self, node: usize) -> Zeroizing<Vec<u8>> {
        let pieces = [node, node + 1].map(|i| [&self.salts[i % 3][..], self.component(i)]);
        Zeroizing::new(pieces.concat().concat())
    }
}

/// The elements of public inputs as they travel, by index.
pub type Public = BTreeMap<usize, Vec<u8>>;

/// A hash of public inputs, by which nodes compare them.
pub fn public_hash(public: &Public) -> Hash {
    let mut hash = blake3::Hasher::new();
    for (j, bytes) in public {
        hash.update(&(*j as u64).to_le_bytes())
            .update(&(bytes.len() as u64).to_le_bytes())
            .update(bytes);
    }
    Hex(*hash.finalize().as_bytes())
}

/// Public inputs as they travel.
pub fn pack_public(public: &BTreeMap<usize, Data>) -> Public {
    let one = |(j, x): (&usize, &Data)| {
        let mut wire = Vec::new();
        x.to_wire(&mut wire);
        (*j, wire)
    };
    public.iter().map(one).collect()
}

/// Public inputs, held to what the circuit declares: the coordinator may send anything.
///
/// # Errors
///
/// What is missing, has another length, or is outside its declared range.
pub fn unpack_public(circuit: &Circuit, public: &Public) -> Result<BTreeMap<usize, Data>, String> {
    let declared = circuit.inputs.iter().enumerate().filter(|(_, i)| i.from == From::Public);
    declared
        .map(|(j, input)| {
            let ty = circuit.ty(input.value);
            let bytes = public
                .get(&j)
                .ok_or_else(|| format!("public input `{}` is missing", input.name))?;
            let data = Data::from_wire(ty.dom, ty.elements() as usize, bytes);
            let data =
                data.ok_or_else(|| format!("public input `{}` has another length", input.name))?;
            match in_range(input, &data) {
                true => Ok((j, data)),
                false => {
                    Err(format!("public input `{}` is outside its declared range", input.name))
                }
            }
        })
        .collect()
}

/// Whether the words of an input are those of values in its declared range.
fn in_range(input: &slvr_circuit::Input, data: &Data) -> bool {
    let (Dom::Ring(bits) | Dom::Bits(bits)) = data.dom();
    let words = data.to_u128s();
    match input.encoding {
        Encoding::Fixed { frac, lo, hi, shift, norm } => {
            let unit = f64::from(frac + shift).exp2();
            let values = || words.iter().map(|&w| signed(w, bits) as f64 / unit);
            let slack = (1.0 - f64::from(frac)).exp2();
            let long = values().map(|x| x * x).sum::<f64>().sqrt();
            values().all(|x| (lo - slack..=hi + slack).contains(&x))
                && long <= norm * (1.0 + 1e-6) + slack
        }
        Encoding::Int { lo, hi } => {
            // A public integer may be held in a ring without room for a sign.
            let width = i128::from(hi) - i128::from(lo);
            let from = i128::from(lo) as u128;
            let off = |w: u128| (w.wrapping_sub(from) & low_mask(bits)) as i128;
            words.iter().all(|&w| (0..width).contains(&off(w)))
        }
        Encoding::OneHot { classes } => {
            let rows = words.chunks(classes.max(1) as usize);
            rows.into_iter().all(|row| row.iter().all(|&w| w <= 1) && row.iter().sum::<u128>() == 1)
        }
    }
}
