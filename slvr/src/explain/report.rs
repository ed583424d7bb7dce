//! Everything that is said of a program.

use crate::build::Build;
use crate::clients::Clients;
use crate::error::Result;
use crate::notes::Notes;
use crate::program::{self, Loaded, Source};
use crate::units;
use slvr_circuit::{Circuit, Op};
use slvr_compiler::cost::{self, Cost, Estimate, Kind, LineRow, NetProfile, WorkersCost};
use slvr_compiler::lower::Family;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::report::leaks::{LeakReport, leaks, leaks_of_circuit};

pub struct Report {
    pub circuit: Circuit,
    /// The name of the file, as given.
    pub file: String,
    /// The source; empty for an artifact.
    pub source: String,
    pub cost: Cost,
    /// By line, in order; of an artifact by statement.
    pub lines: Vec<LineRow>,
    /// By step, the most expensive first.
    pub steps: Vec<LineRow>,
    /// By site of the circuit, its line in the predicate's file.
    pub places: Vec<u32>,
    pub leaks: LeakReport,
    /// What is proven; nothing of an artifact.
    pub certificate: Option<Certificate>,
    /// The network whose protocols were taken; nothing of an artifact or of family T1.
    pub chosen_for: Option<String>,
    /// What is built for other numbers of clients.
    pub clients: Option<Clients>,
    pub times: Vec<(NetProfile, Estimate)>,
    /// What workers would compute, on each of these networks, by name; empty if nobody has asked.
    pub workers: Vec<(String, WorkersCost)>,
}

/// The proofs of a circuit against a malicious party.
#[derive(Clone, Copy, Debug)]
pub struct Proofs {
    pub rounds: usize,
    /// Bytes, by all parties.
    pub sent: u64,
    /// Most bytes in a party, of values and of the vectors of proofs.
    pub memory: u64,
}

impl Report {
    /// The proofs; nothing where all parties follow the protocol.
    pub fn proofs(&self) -> Option<Proofs> {
        if !self.circuit.security.is_malicious() {
            return None;
        }
        let all = self.cost.layers.iter().filter_map(|l| l.proof.as_ref());
        Some(Proofs {
            rounds: all.clone().map(|p| p.rounds).sum(),
            sent: all.clone().flat_map(|p| p.bytes).sum(),
            memory: all.map(|p| p.memory).chain(self.cost.peak_memory).max().unwrap_or(0),
        })
    }

    /// Most bytes in a party, and when: of values, and what is more than that.
    pub fn memory(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let values = cost::busiest_party(self.cost.peak_memory);
        let proving = self.proofs().map(|p| p.memory);
        let failing = cost::memory_at_most(&self.circuit);
        let is_more = units::bytes(failing) != units::bytes(proving.unwrap_or(values));
        let failing = is_more.then_some((failing, "if a client fails a check"));
        let proving = proving.map(|n| (n, "with the vectors of its proofs"));
        [(values, "at most in a party")].into_iter().chain(proving).chain(failing)
    }

    /// The family of a circuit's protocols against a malicious party: only in T2 two parties open words to each other
    /// under a mask.
    pub fn family(&self) -> &'static str {
        let mut sent = self.circuit.layers.iter().flat_map(|l| &l.exchange);
        if sent.any(|i| matches!(i.op, Op::OpenMasked { .. })) { "t2" } else { "t1" }
    }

    /// Compiles a program, or reads its circuit, and predicts times on these networks.
    ///
    /// # Errors
    ///
    /// As [`program::load`].
    pub fn new(build: &Build, nets: Vec<NetProfile>, notes: Notes<'_>) -> Result<Report> {
        Ok(Report::of(build, program::load(build, notes)?, nets))
    }

    /// The same of what was loaded so.
    pub fn of(build: &Build, loaded: Loaded, nets: Vec<NetProfile>) -> Report {
        let Source { checked, compiled, .. } = match loaded {
            Loaded::Source(source) => *source,
            Loaded::Artifact(circuit) => return Report::bare(build, *circuit, nets),
        };
        let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
        let certificate = Certificate::of(&compiled, &places);
        let circuit = compiled.circuit;
        let cost = Cost::of(&circuit);
        let source = cost::home(&checked.program).map_or("", |f| checked.sources.text(f));
        let mut leaks = leaks(&checked.program, &compiled.graph, &circuit);
        leaks.quote(&checked.sources);
        let dealer = checked.how.target.family() != Family::T1;
        Report {
            file: build.file.clone(),
            lines: certified(cost::rows_by_line(&cost, &places, source), &certificate),
            steps: cost::rows_by_step(&circuit, &cost, &places),
            source: source.to_string(),
            certificate: Some(certificate),
            chosen_for: dealer.then(|| build.network().name),
            clients: checked.clients.map(|(_, clients)| clients),
            times: times(&cost, nets),
            workers: Vec::new(),
            leaks,
            places,
            cost,
            circuit,
        }
    }

    fn bare(build: &Build, circuit: Circuit, nets: Vec<NetProfile>) -> Report {
        let cost = Cost::of(&circuit);
        let places = vec![0; circuit.sites.len()];
        Report {
            file: build.file.clone(),
            source: String::new(),
            lines: cost::rows_by_statement(&circuit, &cost),
            steps: cost::rows_by_step(&circuit, &cost, &places),
            leaks: leaks_of_circuit(&circuit),
            certificate: None,
            chosen_for: None,
            clients: None,
            times: times(&cost, nets),
            workers: Vec::new(),
            places,
            cost,
            circuit,
        }
    }

    /// The line of a site, and the name of its step.
    pub fn place(&self, site: u32) -> (u32, &str) {
        let line = cost::line_of(&self.places, site);
        (line, self.circuit.sites.get(site as usize).map_or("", |s| s.name.as_str()))
    }

    /// The line that the round of a layer waits for, and the name of its step. A proof before it waits for another.
    pub fn critical(&self, layer: usize) -> Option<(u32, &str)> {
        Some(self.place(self.cost.layers.get(layer)?.critical?))
    }

    /// The rounds in phases: runs of rounds that wait for one line, or (of an artifact) one statement.
    pub fn phases(&self) -> Vec<Phase> {
        let mut out: Vec<Phase> = Vec::new();
        let mut round = 0;
        for rounds in Rounds::all(&self.cost) {
            let (line, name) = rounds.site.map_or((0, ""), |site| self.place(site));
            let name = name.split('/').next().unwrap_or("").to_string();
            let bytes = rounds.kinds.iter().sum::<u64>();
            let (first, last) = (round + 1, round + rounds.count);
            round = last;
            match out.last_mut() {
                Some(p) if p.line == line && (line > 0 || p.name == name) => {
                    p.last = last;
                    p.bytes += bytes;
                }
                _ => out.push(Phase { first, last, line, name, bytes }),
            }
        }
        out
    }
}

/// Rounds of a run that wait for the same: the one of a layer, or those of a proof.
pub struct Rounds {
    pub count: usize,
    /// Bytes sent in all of them by the three parties, by [`Kind`], in the order of [`Kind::ALL`].
    pub kinds: [u64; Kind::ALL.len()],
    /// What they wait for.
    pub site: Option<u32>,
}

impl Rounds {
    /// All rounds, in order.
    pub fn all(cost: &Cost) -> Vec<Rounds> {
        let mut out = Vec::new();
        for layer in cost.layers.iter().filter(|l| l.rounds > 0) {
            let kinds = |proofs: bool| {
                let mut kinds = layer.kinds;
                for (bytes, kind) in kinds.iter_mut().zip(Kind::ALL) {
                    if (kind == Kind::Proofs) != proofs {
                        *bytes = 0;
                    }
                }
                kinds
            };
            let proven = layer.proof.as_ref().map_or(0, |p| p.rounds);
            if let Some(proof) = layer.proof.as_ref().filter(|proof| proof.rounds > 0) {
                out.push(Rounds {
                    count: proof.rounds,
                    kinds: kinds(true),
                    site: Some(proof.site),
                });
            }
            if layer.rounds > proven {
                let count = layer.rounds - proven;
                // A proof that nobody waits for is beside what layers send.
                let kinds = if proven > 0 { kinds(false) } else { layer.kinds };
                out.push(Rounds { count, kinds, site: layer.critical });
            }
        }
        out
    }
}

/// Rounds that wait for one line.
pub struct Phase {
    /// First round, from 1.
    pub first: usize,
    pub last: usize,
    pub line: u32,
    pub name: String,
    /// Bytes sent in these rounds by the three parties, of all lines.
    pub bytes: u64,
}

/// Rows with the range and the proven error of the values of their line.
fn certified(mut rows: Vec<LineRow>, certificate: &Certificate) -> Vec<LineRow> {
    for row in &mut rows {
        if let Some(known) = certificate.lines.iter().find(|l| l.line == row.line) {
            row.range = Some(units::range(known.range));
            row.error = Some(known.proven);
        }
    }
    rows
}

fn times(cost: &Cost, nets: Vec<NetProfile>) -> Vec<(NetProfile, Estimate)> {
    nets.into_iter()
        .map(|n| {
            let estimate = cost.seconds(&n);
            (n, estimate)
        })
        .collect()
}
