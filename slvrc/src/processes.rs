//! `slvrc run --processes`: each party a process of this binary, connected with the others over TCP.
//!
//! The run's certificates are made for it and thrown away after it. What a party is given (circuit,
//! seeds, its parts of the inputs, its key) goes through the pipe to its process alone: nothing of it
//! is on a command line or in a file. The receivers stay in this process.

use crate::fail::Usage;
use anyhow::Context;
use slvr_circuit::Circuit;
use slvr_runtime::link::memory::{Memory, Mesh, mesh};
use slvr_runtime::link::{Header, Link, Peer};
use slvr_runtime::party::remote::{self, Incoming, Keys, Message, Said, Setup, Setups};
use slvr_runtime::party::session::{
    Options, Outcome, Report, encode, encode_unchecked, join, listen,
};
use slvr_runtime::party::{Origin, PartyReport, RunError, receiving};
use slvr_runtime::share::encode::Inputs;
use slvr_runtime::share::state::Kept;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver as Heard, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The hidden verb of a party's process.
pub const VERB: &str = "party-process";

/// Where and how the parties' processes run.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Processes {
    /// Runs each party in a process of its own, connected over loopback TLS.
    #[arg(long, conflicts_with = "shape")]
    pub processes: bool,
    /// Without TLS: for measurements. Whoever can read the network learns the inputs.
    #[arg(long, requires = "processes")]
    pub plain: bool,
    /// Where the parties listen, in order: `10.0.0.1:7000,10.0.0.2:7000,10.0.0.3:7000`. Without it, on
    /// ports of this machine that are free.
    #[arg(long, requires = "processes", value_name = "HOST:PORT,…", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// What to put in front of the command of party {i}, split at spaces: `ip netns exec ns{i}`.
    #[arg(long, requires = "processes", value_name = "COMMAND")]
    pub spawn: Option<String>,
}

impl Processes {
    /// What the seconds of such a run were measured over.
    pub fn network(&self) -> &'static str {
        match (self.hosts.is_empty(), self.plain) {
            (true, false) => "loopback TLS",
            (true, true) => "loopback TCP",
            (false, false) => "TLS",
            (false, true) => "TCP",
        }
    }

    /// Where each party listens.
    fn bind(&self) -> anyhow::Result<[String; 3]> {
        if self.hosts.is_empty() {
            return Ok([0; 3].map(|_| "127.0.0.1:0".to_string()));
        }
        <[String; 3]>::try_from(self.hosts.clone())
            .map_err(|_| Usage("--hosts: name three, one for each party".into()).into())
    }

    fn command(&self, party: usize) -> anyhow::Result<Command> {
        let me = std::env::current_exe().context("the path of this program is not known")?;
        let prefix = self.spawn.as_deref().unwrap_or("").replace("{i}", &party.to_string());
        let mut words = prefix.split_whitespace();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(me);
                command
            }
            None => Command::new(me),
        };
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }
}

/// A certificate and key for each party.
fn keys() -> anyhow::Result<[Option<Keys>; 3]> {
    let made = || rcgen::generate_simple_self_signed(["party".to_string()]);
    let made = [made()?, made()?, made()?];
    let certificates = made.each_ref().map(|m| m.cert.der().to_vec());
    Ok(made.map(|m| {
        let key = m.signing_key.serialize_der();
        Some(Keys { certificates: certificates.clone(), key })
    }))
}

/// How long the other parties may take to say how they ended, once one has failed.
const GRACE: Duration = Duration::from_secs(1);

/// How often silence is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A party's process. Dropping it ends it.
struct Running {
    child: Child,
    /// What it is told, in order. A thread of its own writes it, since a process that is stopped does not read.
    tell: Sender<Message>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a party, which is told `first`. What it says goes to `heard`: nothing once its pipe is closed.
    fn start(
        how: &Processes,
        party: usize,
        first: &Setup,
        longest: u64,
        heard: Sender<(usize, Option<Said>)>,
    ) -> anyhow::Result<Running> {
        let mut command = how.command(party)?;
        let shown = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.spawn().with_context(|| format!("party {party}: {shown} does not start"))?;
        let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes")
        };
        let (tell, told) = channel::<Message>();
        thread::spawn(move || {
            for message in told {
                if message.write(&mut to).is_err() {
                    // It has gone, which its other pipe says.
                    return;
                }
            }
        });
        // Neither thread is waited for: a process that the party has started may keep its pipes open.
        thread::spawn(move || {
            let mut from = Incoming::new(from);
            loop {
                let said = from.message(longest).ok();
                let ended = said.is_none();
                if heard.send((party, said)).is_err() || ended {
                    return;
                }
            }
        });
        let running = Running { child, tell };
        running.tell(first)?;
        Ok(running)
    }

    fn tell<T: serde::Serialize>(&self, message: &T) -> anyhow::Result<()> {
        // Who has gone is heard of.
        let _ = self.tell.send(Message::of(message)?);
        Ok(())
    }
}

/// The three parties, and when each was last heard of.
struct Watch {
    parties: Vec<Running>,
    heard: Heard<(usize, Option<Said>)>,
    /// How long a party may be silent.
    deadline: Duration,
    last: [Instant; 3],
    layers: [usize; 3],
    /// Who says nothing more.
    ended: [bool; 3],
}

impl Watch {
    /// The next thing that a party says, other than that it is there; what is wrong with it in its place. Nothing if
    /// nobody says anything before `until`.
    fn next(
        &mut self,
        until: Option<Instant>,
        progress: impl Fn(usize),
    ) -> Option<(usize, Result<Said, RunError>)> {
        loop {
            match self.heard.recv_timeout(LOOK) {
                Ok((party, said)) => {
                    self.last[party] = Instant::now();
                    match said {
                        _ if self.ended[party] => {}
                        Some(Said::Layers(done)) => {
                            self.layers[party] = done;
                            if party == 0 {
                                progress(done);
                            }
                        }
                        Some(Said::Invalid(replaced)) => {
                            self.ended[party] = true;
                            return Some((party, Err(RunError::Invalid(replaced))));
                        }
                        Some(Said::Stopped { why, origin }) => {
                            self.ended[party] = true;
                            let stopped = RunError::Stopped { party, why, origin };
                            return Some((party, Err(stopped)));
                        }
                        Some(said) => {
                            self.ended[party] = matches!(said, Said::Done(_));
                            return Some((party, Ok(said)));
                        }
                        None => {
                            self.ended[party] = true;
                            return Some((party, Err(self.gone(party))));
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // All three have ended.
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            let silent = |p: &usize| !self.ended[*p] && self.last[*p].elapsed() > self.deadline;
            if let Some(party) = (0..3).find(silent) {
                self.ended[party] = true;
                return Some((party, Err(self.silent(party))));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
        }
    }

    fn gone(&self, party: usize) -> RunError {
        RunError::Gone { party, layers: self.layers[party] }
    }

    fn silent(&self, party: usize) -> RunError {
        let (after, layers) = (self.last[party].elapsed(), self.layers[party]);
        RunError::Silent { party, after, layers }
    }

    /// What each party says next, in order. As soon as one fails all are given up: the others would wait for it.
    fn all_say(&mut self) -> Result<[Said; 3], RunError> {
        let mut all = [None, None, None];
        while all.iter().any(Option::is_none) {
            match self.next(None, |_| {}) {
                Some((party, Ok(said))) => all[party] = Some(said),
                Some((party, Err(e))) => return Err(self.cause(party, e)),
                None => return Err(self.gone(0)),
            }
        }
        Ok(all.map(|said| match said {
            Some(said) => said,
            None => unreachable!("all have said something"),
        }))
    }

    /// What a failure comes from: if it is not the party's own, another says more about it soon.
    fn cause(&mut self, party: usize, error: RunError) -> RunError {
        let mut errors = vec![(Some(party), error)];
        let until = Instant::now() + GRACE;
        while errors.iter().all(|(_, e)| e.origin() != Origin::Own) {
            match self.next(Some(until), |_| {}) {
                Some((party, Err(e))) => errors.push((Some(party), e)),
                Some((_, Ok(_))) => {}
                None => break,
            }
        }
        RunError::cause(errors).unwrap_or_else(|| self.gone(party))
    }

    /// Passes on to the receivers what the parties reveal, until all have ended.
    fn attend(
        &mut self,
        circuit: &Circuit,
        ends: [Memory; 3],
        progress: impl Fn(usize),
    ) -> ([Result<PartyReport, RunError>; 3], [Option<Kept>; 3]) {
        let mut kept = [None, None, None];
        let mut ends = ends.map(Some);
        let mut reports = [None, None, None];
        let mut until = None;
        while reports.iter().any(Option::is_none) {
            let Some((party, said)) = self.next(until, &progress) else { break };
            let ended = match said {
                Ok(Said::Reveals { set, header, body }) => {
                    let header = <[u8; Header::BYTES]>::try_from(header).ok();
                    match (header.as_ref().and_then(Header::decode), &mut ends[party]) {
                        (Some(header), Some(end)) => {
                            // A receiver that has stopped says why itself.
                            let _ = end.send(Peer::Receiver(set), header, body);
                            continue;
                        }
                        _ => Err(self.gone(party)),
                    }
                }
                Ok(Said::Keeps(bytes)) => match Kept::from_bytes(circuit, party, &bytes) {
                    Ok(shares) => {
                        kept[party] = Some(shares);
                        continue;
                    }
                    Err(e) => Err(e.into()),
                },
                Ok(Said::Done(report)) => Ok(report),
                Ok(
                    Said::Listening(_)
                    | Said::Ready
                    | Said::Layers(_)
                    | Said::Invalid(_)
                    | Said::Stopped { .. },
                ) => Err(self.gone(party)),
                Err(e) => Err(e),
            };
            if ended.is_err() {
                until.get_or_insert(Instant::now() + GRACE);
            }
            // The receivers learn that nothing follows.
            ends[party] = None;
            reports[party].get_or_insert(ended);
        }
        let mut party = 0..;
        let reports = reports.map(|report| {
            let party = party.next().unwrap_or(0);
            report.unwrap_or_else(|| {
                // A party that was there a moment ago is about to fail because another has.
                let there = self.last[party].elapsed() + GRACE < self.deadline;
                let why = "ended because another party had failed".to_string();
                match there {
                    true => Err(RunError::Stopped { party, why, origin: Origin::Echo }),
                    false => Err(self.silent(party)),
                }
            })
        });
        (reports, kept)
    }
}

/// Where a party listens, which is the first that it says.
fn address(party: usize, said: Said) -> Result<String, RunError> {
    let other = match said {
        Said::Listening(at) => return Ok(at),
        Said::Ready => "that it is ready",
        Said::Reveals { .. } => "what it reveals",
        Said::Keeps(_) => "what it keeps",
        Said::Done(_) => "that it has ended",
        Said::Layers(_) | Said::Invalid(_) | Said::Stopped { .. } => "how far it is",
    };
    let why = format!("it said {other} before it said where it listens");
    Err(RunError::Stopped { party, why, origin: Origin::Own })
}

/// Most bytes of anything that a party says: everything that it reveals, and its report.
fn longest(circuit: &Circuit) -> u64 {
    let words =
        circuit.outputs.iter().map(|o| o.shape.iter().fold(16, |n: u64, &d| n.saturating_mul(d)));
    let members = circuit.parties.iter().map(|p| p.size.saturating_mul(64));
    let states = circuit.states().map(|(_, i)| circuit.ty(i.value).elements().saturating_mul(32));
    let all = words.chain(members).chain(states).fold(0u64, u64::saturating_add);
    all.saturating_add(32 * circuit.instructions() as u64).saturating_add(1 << 20)
}

/// Runs a circuit among three processes.
pub fn run(
    circuit: &Circuit,
    inputs: &Inputs,
    options: &Options<'_>,
    how: &Processes,
) -> anyhow::Result<Report> {
    let encoded = match options.submit_unchecked {
        true => encode_unchecked(circuit, inputs)?,
        false => encode(circuit, inputs)?,
    };
    let keys = if how.plain { [None, None, None] } else { keys()? };
    let Setups { setups, run, upload_bytes } =
        remote::set_up(circuit, encoded, options, how.bind()?, keys)?;
    let (tell, heard) = channel();
    let mut parties = Vec::new();
    for (i, setup) in setups.into_iter().enumerate() {
        parties.push(Running::start(how, i, &setup, longest(circuit), tell.clone())?);
    }
    drop(tell);
    let (deadline, now) = (options.deadline, Instant::now());
    let (last, layers, ended) = ([now; 3], [0; 3], [false; 3]);
    // Parties say that they are there five times a second.
    let patience = deadline.max(Duration::from_secs(1));
    let mut watch = Watch { parties, heard, deadline: patience, last, layers, ended };
    let said = (0..).zip(watch.all_say()?);
    let addresses = said.map(|(party, said)| address(party, said));
    let addresses = addresses.collect::<Result<Vec<String>, RunError>>()?;
    for p in &watch.parties {
        p.tell(&addresses)?;
    }
    watch.all_say()?;

    let sets = receiving(circuit);
    let Mesh { parties: ends, receivers } = mesh(&sets);
    let start = Instant::now();
    for p in &watch.parties {
        p.tell(&())?;
    }
    let show = |done| {
        if let Some(progress) = options.progress {
            progress(done, circuit.layers.len());
        }
    };
    let (ended, receivers) = thread::scope(|scope| {
        let links = sets.into_iter().zip(receivers);
        let listening = listen(scope, circuit, links, (run, deadline));
        let ended = watch.attend(circuit, ends, show);
        let receivers: Vec<_> = listening.into_iter().map(join).collect();
        (ended, receivers)
    });
    let seconds = start.elapsed().as_secs_f64();
    let (parties, kept) = ended;
    let outcome = Outcome { parties, receivers, seconds, upload_bytes, recorded: None, kept };
    Ok(outcome.report(circuit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_that_does_not_say_where_it_listens_is_named() {
        let at = address(1, Said::Listening("a:1".into()));
        assert_eq!(at.expect("an address"), "a:1");
        let why = address(1, Said::Ready).expect_err("is no address").to_string();
        assert!(why.contains("party 1") && why.contains("it said that it is ready"), "{why}");
    }
}
