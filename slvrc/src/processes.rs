//! `slvrc run --processes`: each party a process of this binary, connected with the others over TCP.
//!
//! The run's certificates are made for it and thrown away after it. What a party is given (circuit,
//! seeds, its parts of the inputs, its key) goes through the pipe to its process alone: nothing of it
//! is on a command line or in a file. The receivers stay in this process.

use crate::fail::Usage;
use anyhow::Context;
use slvr_circuit::Circuit;
use slvr_runtime::link::memory::{Memory, Mesh, mesh};
use slvr_runtime::party::remote::{self, Keys, Said, Setup, Setups};
use slvr_runtime::party::session::{Options, Outcome, Report, encode, encode_unchecked};
use slvr_runtime::party::{PartyReport, Receiver, RunError, receive};
use slvr_runtime::share::encode::Inputs;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

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

/// A party's process. Dropping it ends it.
struct Running {
    party: usize,
    child: Child,
    to: ChildStdin,
}

/// Where a party's process speaks.
type Pipe = BufReader<ChildStdout>;

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Running {
    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn start(how: &Processes, party: usize, setup: &Setup) -> anyhow::Result<(Running, Pipe)> {
        let mut command = how.command(party)?;
        let shown = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.spawn().with_context(|| format!("party {party}: {shown} does not start"))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes")
        };
        let mut running = Running { party, child, to };
        running.tell(setup)?;
        Ok((running, BufReader::new(from)))
    }

    fn tell<T: serde::Serialize>(&mut self, message: &T) -> Result<(), RunError> {
        let party = self.party;
        remote::write(&mut self.to, message).map_err(|_| RunError::Gone { party })
    }
}

/// What each party says next. As soon as one stops, all are ended: the others would wait for it.
fn hear(parties: &mut [Running], pipes: &mut [Pipe]) -> Result<Vec<Said>, RunError> {
    thread::scope(|scope| {
        let (tell, heard) = channel();
        for (party, pipe) in pipes.iter_mut().enumerate() {
            let tell = tell.clone();
            scope.spawn(move || {
                let said = match remote::read(pipe) {
                    Ok(Said::Stopped { why, consequence }) => {
                        Err(RunError::Stopped { party, why, consequence })
                    }
                    Ok(said) => Ok(said),
                    Err(_) => Err(RunError::Gone { party }),
                };
                // Nobody listens any more once another party has stopped.
                let _ = tell.send((party, said));
            });
        }
        drop(tell);
        let mut all = BTreeMap::new();
        for (party, said) in heard {
            match said {
                Ok(said) => all.insert(party, said),
                Err(e) => {
                    parties.iter_mut().for_each(Running::end);
                    return Err(e);
                }
            };
        }
        Ok(all.into_values().collect())
    })
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
    let (mut parties, mut pipes) = (Vec::new(), Vec::new());
    for (i, setup) in setups.into_iter().enumerate() {
        let (party, pipe) = Running::start(how, i, &setup)?;
        parties.push(party);
        pipes.push(pipe);
    }
    let listening = hear(&mut parties, &mut pipes)?.into_iter();
    let addresses = listening.map(|said| match said {
        Said::Listening(at) => at,
        // It does not resolve, and that is said.
        _ => String::new(),
    });
    let addresses: Vec<String> = addresses.collect();
    for p in &mut parties {
        p.tell(&addresses)?;
    }
    hear(&mut parties, &mut pipes)?;

    let sets: BTreeSet<usize> = circuit.outputs.iter().map(|o| o.to as usize).collect();
    let sets: Vec<usize> = sets.into_iter().collect();
    let Mesh { parties: ends, receivers } = mesh(&sets);
    let start = Instant::now();
    for p in &mut parties {
        p.tell(&())?;
    }
    let deadline = options.deadline;
    let (ended, received) = thread::scope(|scope| {
        let attending = pipes.iter_mut().zip(ends).enumerate().map(|(party, (pipe, end))| {
            let layers = circuit.layers.len();
            scope.spawn(move || attend(party, pipe, end, options.progress, layers))
        });
        let attending: Vec<_> = attending.collect();
        let listening = receivers.into_iter().zip(&sets).map(|(mut link, &set)| {
            scope.spawn(move || {
                let link = &mut link;
                (set, receive(Receiver { circuit, set, link, run, deadline }))
            })
        });
        let listening: Vec<_> = listening.collect();
        let ended: Vec<_> = attending.into_iter().map(join).collect();
        let received: Vec<_> = listening.into_iter().map(join).collect();
        (ended, received)
    });
    let seconds = start.elapsed().as_secs_f64();
    let Ok(ended) = <[_; 3]>::try_from(ended) else { unreachable!("there are three parties") };
    let recorded = None;
    let outcome = Outcome { parties: ended, receivers: received, seconds, upload_bytes, recorded };
    Ok(outcome.report(circuit)?)
}

fn attend(
    party: usize,
    pipe: &mut Pipe,
    end: Memory,
    progress: Option<&(dyn Fn(usize, usize) + Sync)>,
    layers: usize,
) -> Result<PartyReport, RunError> {
    let show = |done| {
        if let Some(progress) = progress {
            progress(done, layers);
        }
    };
    remote::attend(party, pipe, end, show)
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
