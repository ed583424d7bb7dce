//! How a run's inputs are dealt by the process that starts it: to parties elsewhere as clients upload, to those of this
//! process right to their places.

use super::RunError;
use super::intake::Intake;
use super::session::Options;
use super::uploads::Received;
use crate::share::deal::{Dealt, Upload, deal_to, layout, upload_bytes};
use crate::share::encode::InputError;
use crate::share::{PairSeeds, Prg, Purpose, RunId, Seed, Stream};
use slvr_circuit::Circuit;
use slvr_ring::{Data, threads};

/// What a member shares, from what it gives: its inputs as (index of the input, elements).
pub(super) type Encode<'a, G> = dyn Fn(G) -> Result<Vec<(u64, Data)>, InputError> + Sync + 'a;

/// What a member shares, with its seeds.
type Given = (Vec<(u64, Data)>, [Seed; 2]);

/// Deals a run's inputs.
pub struct Dealer {
    /// The run's public name.
    pub run: RunId,
    source: Source,
    seeds: [Seed; 3],
}

impl Dealer {
    /// Draws a run's name and the parties' seeds.
    ///
    /// # Errors
    ///
    /// No randomness.
    pub fn new(options: &Options<'_>) -> Result<Self, RunError> {
        let mut source = Source::new(options.seed);
        let run = RunId(*source.seed()?.expose());
        let seeds = [source.seed()?, source.seed()?, source.seed()?];
        Ok(Dealer { run, source, seeds })
    }

    /// What each party gets for its pairwise randomness.
    pub fn pairs(&self) -> [PairSeeds; 3] {
        PairSeeds::of_all(&self.seeds)
    }

    /// Deals every client's inputs. `members` gives those of a party set, and nothing of one that gives nothing; what they
    /// give is encoded right before it is dealt, and let go of once it is. Hands out, for each member of each party set in
    /// order, what the three parties get of it, or that it gave nothing. The result are the bytes that each client uploads,
    /// by party set and member; 0 for one that gave nothing.
    ///
    /// # Errors
    ///
    /// No randomness; those of `members` and `encode`.
    pub fn deal<G: Send>(
        self,
        circuit: &Circuit,
        members: impl FnMut(usize) -> Result<Vec<Option<G>>, InputError>,
        encode: &Encode<'_, G>,
        options: &Options<'_>,
        mut hand_out: impl FnMut(usize, usize, Option<[Upload; 3]>),
    ) -> Result<Vec<Vec<u64>>, RunError> {
        let run = self.run;
        self.batches(circuit, members, encode, options, |s, first, batch| {
            let dealt = threads::map(batch.into_iter(), &|given: Option<Given>| {
                given.map(|(inputs, [seed0, seed1])| Dealt::new(seed0, seed1, run, inputs))
            });
            for (i, dealt) in (first..).zip(dealt) {
                let mut parts = dealt.map(|d| d.uploads());
                if let (Some(tamper), Some(parts)) = (options.doors.tamper, &mut parts) {
                    tamper(s, i, parts);
                }
                hand_out(s, i, parts);
            }
        })
    }

    /// The same to parties of this process, which share components: no stream is drawn twice, and nothing is packed.
    pub(super) fn deal_in_place<G: Send>(
        self,
        circuit: &Circuit,
        members: impl FnMut(usize) -> Result<Vec<Option<G>>, InputError>,
        encode: &Encode<'_, G>,
        options: &Options<'_>,
        intakes: &mut [Intake<'_>; 3],
    ) -> Result<Vec<Vec<u64>>, RunError> {
        let run = self.run;
        self.batches(circuit, members, encode, options, |s, first, batch| {
            let mut dealt = Vec::new();
            for (i, given) in (first..).zip(batch) {
                let seeds = given.map(|(inputs, seeds)| {
                    deal_to(intakes.each_mut().map(Intake::firsts), i, &seeds, run, inputs);
                    seeds
                });
                dealt.push((i, seeds));
            }
            let (layout, explicit) = (layout(circuit, s), &*intakes[2].firsts());
            let received = threads::map(dealt.into_iter(), &|(i, seeds): (usize, _)| {
                (i, seeds.map(|seeds| Received::of_places(&seeds, explicit, &layout, i)))
            });
            for (i, received) in received {
                let each = received.map_or([None, None, None], |r| r.map(Some));
                intakes.iter_mut().zip(each).for_each(|(intake, r)| intake.dealt(s, i, r));
            }
        })
    }

    /// Has every client's inputs encoded and dealt, as many at a time as there are threads: `deal` gets the party set, the
    /// first of the members, and what each shares.
    fn batches<G: Send>(
        mut self,
        circuit: &Circuit,
        mut members: impl FnMut(usize) -> Result<Vec<Option<G>>, InputError>,
        encode: &Encode<'_, G>,
        options: &Options<'_>,
        mut deal: impl FnMut(usize, usize, Vec<Option<Given>>),
    ) -> Result<Vec<Vec<u64>>, RunError> {
        let mut uploaded = Vec::new();
        for (s, set) in circuit.parties.iter().enumerate() {
            let layout = layout(circuit, s);
            let size = if layout.is_empty() { 0 } else { set.size as usize };
            let bytes = upload_bytes(&layout);
            let mut sizes = Vec::with_capacity(size);
            let mut given = members(s)?;
            given.resize_with(size, || None);
            let mut given = given.into_iter();
            while sizes.len() < size {
                if options.is_cancelled() {
                    return Err(RunError::Cancelled);
                }
                let first = sizes.len();
                // Seeds are drawn in the order of the members.
                let mut batch = Vec::new();
                for given in given.by_ref().take(threads::count()) {
                    sizes.push(if given.is_some() { bytes } else { 0 });
                    batch.push(match given {
                        None => None,
                        Some(given) => Some((given, [self.source.seed()?, self.source.seed()?])),
                    });
                }
                let encoded = threads::map(batch.into_iter(), &|given: Option<(G, [Seed; 2])>| {
                    given.map(|(given, seeds)| Ok((encode(given)?, seeds))).transpose()
                });
                let encoded = encoded.into_iter().collect::<Result<_, InputError>>();
                deal(s, first, encoded.map_err(RunError::Input)?);
            }
            uploaded.push(sizes);
        }
        Ok(uploaded)
    }
}

/// Seeds from the operating system or from a number.
pub(super) struct Source {
    fixed: Option<Prg>,
    drawn: u64,
}

impl Source {
    pub(super) fn new(seed: Option<u64>) -> Self {
        let fixed = seed.map(|n| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&n.to_le_bytes());
            Prg::new(&Seed::new(bytes), RunId([0; 16]))
        });
        Source { fixed, drawn: 0 }
    }

    pub(super) fn seed(&mut self) -> Result<Seed, RunError> {
        self.drawn += 1;
        match &self.fixed {
            Some(g) => Ok(Seed::new(g.bytes(Stream::new(self.drawn, Purpose::Setup)))),
            None => Ok(Seed::random()?),
        }
    }
}
