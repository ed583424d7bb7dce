//! A party of `slvrc run --processes`, which starts it: told what to do on standard input, says what happens
//! on standard output.

use anyhow::Context;
use slvr_runtime::link::tcp::{ConnectError, Tcp};
use slvr_runtime::link::tls::Identity;
use slvr_runtime::party::Origin;
use slvr_runtime::party::remote::{Incoming, Job, Said, Setup, Voice};
use std::io::{self, Stdin, Stdout};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(clap::Args)]
pub struct PartyProcess {}

/// How often a party says that it is there.
const BEAT: Duration = Duration::from_millis(200);

type Pipe = Voice<Stdout>;

impl PartyProcess {
    pub fn run(self) -> anyhow::Result<()> {
        let mut input = Incoming::new(io::stdin());
        let voice = Arc::new(Voice::new(io::stdout()));
        let layers = Arc::new(AtomicUsize::new(0));
        let (speaks, done) = (voice.clone(), layers.clone());
        std::thread::spawn(move || {
            while speaks.say(&Said::Layers(done.load(Ordering::Relaxed))).is_ok() {
                std::thread::sleep(BEAT);
            }
            // Who started this process has gone, and nobody will miss it.
            std::process::exit(3);
        });
        let said = match prepare(&mut input, &voice) {
            Ok((job, link)) => job.run(link, &voice, &layers),
            Err(e) => {
                let origin = match e.downcast_ref() {
                    Some(ConnectError::Late { peer, .. }) => Origin::Waited(Some(*peer)),
                    _ => Origin::Own,
                };
                voice.say(&Said::Stopped { why: format!("{e:#}"), origin })
            }
        };
        // As above.
        said.or(Ok(()))
    }
}

/// Everything before the first message of the run.
fn prepare(input: &mut Incoming<Stdin>, voice: &Pipe) -> anyhow::Result<(Job, Tcp)> {
    // Whoever started this process may tell it anything.
    let setup: Setup = input.message(u64::MAX).context("it was not told what to do")?;
    let (me, patience) = (setup.me, setup.deadline);
    let circuit = setup.circuit()?;
    let values = slvr_compiler::cost::peak_memory(&circuit).get(me).copied().unwrap_or(0);
    let needed = values.saturating_add(slvr::memory::of_proofs(&circuit, 1));
    slvr::memory::must_fit(needed, "its part of the run")?;
    let listener = TcpListener::bind(&setup.bind)
        .with_context(|| format!("cannot listen at {}", setup.bind))?;
    voice.say(&Said::Listening(listener.local_addr()?.to_string()))?;
    let addresses: Vec<String> =
        input.message(u64::MAX).context("it was not told where the others are")?;
    let addresses: Vec<SocketAddr> =
        addresses.iter().filter_map(|a| a.to_socket_addrs().ok()?.next()).collect();
    let Ok(addresses) = <[SocketAddr; 3]>::try_from(addresses) else {
        anyhow::bail!("an address of a party does not resolve");
    };
    let identity = setup.keys.as_ref().map(|k| Identity {
        me,
        certificates: k.certificates.clone(),
        key: k.key.clone(),
    });
    let link = Tcp::connect(me, listener, &addresses, identity.as_ref(), patience)?;
    let job = Job::new(setup)?;
    // The others are doing the same: nobody waits for this later, round by round.
    crate::memory::ready(slvr_compiler::cost::peak_memory(job.circuit())[me]);
    voice.say(&Said::Ready)?;
    let () = input.message(u64::MAX).context("it was not started")?;
    Ok((job, link))
}
