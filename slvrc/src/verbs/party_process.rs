//! A party of `slvrc run --processes`, which starts it: told what to do on standard input, says what happens
//! on standard output.

use anyhow::Context;
use slvr_runtime::link::tcp::Tcp;
use slvr_runtime::link::tls::Identity;
use slvr_runtime::party::remote::{self, Job, Said, Setup};
use std::io::{self, BufReader, BufWriter, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// Arguments.
#[derive(clap::Args)]
pub struct PartyProcess {}

impl PartyProcess {
    pub fn run(self) -> anyhow::Result<()> {
        let mut input = BufReader::new(io::stdin());
        let mut output = BufWriter::new(io::stdout());
        match prepare(&mut input, &mut output) {
            Ok((job, link)) => Ok(job.run(link, output)?),
            Err(e) => {
                let why = format!("{e:#}");
                Ok(remote::write(&mut output, &Said::Stopped { why, consequence: false })?)
            }
        }
    }
}

/// Everything before the first message of the run.
fn prepare(
    input: &mut BufReader<io::Stdin>,
    output: &mut impl Write,
) -> anyhow::Result<(Job, Tcp)> {
    let setup: Setup = remote::read(input).context("it was not told what to do")?;
    let (me, patience) = (setup.me, setup.deadline);
    let listener = TcpListener::bind(&setup.bind)
        .with_context(|| format!("cannot listen at {}", setup.bind))?;
    remote::write(output, &Said::Listening(listener.local_addr()?.to_string()))?;
    let addresses: Vec<String> =
        remote::read(input).context("it was not told where the others are")?;
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
    remote::write(output, &Said::Ready)?;
    let () = remote::read(input).context("it was not started")?;
    Ok((job, link))
}
