//! Starts and stops a node.

use crate::config::{NodeConfig, Roll, identity, is_open_to_others};
use crate::locks::{lock, write_lock};
use crate::node::Node;
use crate::peers::Peers;
use crate::round::{answer, begin, maintain, tidy};
use crate::state::Phase;
use crate::store::Store;
use crate::tasks::{Compile, longest, tasks};
use crate::threads::spawn;
use crate::vault::Key;
use crate::{http, trust};
use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

/// A node that runs. Dropping it does not stop it.
pub struct Service {
    /// What its threads share.
    pub node: Arc<Node>,
    /// Where the other nodes call.
    pub peer_address: SocketAddr,
    pub client_address: SocketAddr,
    /// Where the operator looks.
    pub operations_address: SocketAddr,
    end: Arc<Notify>,
    server: Option<JoinHandle<()>>,
    asks: Asks,
    signal: Option<Receiver<&'static str>>,
    compile: Arc<dyn Compile>,
    /// Held by whoever reads files again.
    reading: Arc<Mutex<()>>,
}

/// Asks a node to end, from elsewhere in its process.
#[derive(Clone, Debug)]
pub struct Asks(Sender<&'static str>);

impl Asks {
    /// Has [`Service::wait`] return this.
    pub fn end(&self, why: &'static str) {
        // One that has ended hears nothing.
        let _ = self.0.send(why);
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({:?})", self.node)
    }
}

fn listen<T>(
    at: &str,
    what: &str,
    then: impl FnOnce(TcpListener) -> std::io::Result<T>,
) -> Result<T, String> {
    let listener = TcpListener::bind(at).and_then(then);
    listener.map_err(|e| format!("{what} = \"{at}\": cannot listen there: {e}"))
}

/// The same for the runtime that is entered.
fn ready(listener: TcpListener) -> std::io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

/// Whether the operator may look there: everybody may on a loopback address, and on others those whom `[operator]` names.
///
/// # Errors
///
/// No address; an address of others, and nobody is named.
pub fn may_listen(config: &NodeConfig) -> Result<(), String> {
    let at = &config.operations;
    let found = at.to_socket_addrs().map_err(|e| format!("operations = \"{at}\": {e}"))?;
    if config.operator.is_none() && found.into_iter().any(|a| !a.ip().is_loopback()) {
        return Err(format!(
            "operations = \"{at}\": it is not a loopback address, and nobody would have to say there who they are: add [operator] with `tokens` or `certificates`"
        ));
    }
    Ok(())
}

impl Service {
    /// Starts a node: it listens, and takes up the rounds that it has on disk.
    ///
    /// # Errors
    ///
    /// A configuration that cannot be used; ports that are taken; data that cannot be read.
    pub fn start(config: NodeConfig, compile: Box<dyn Compile>) -> Result<Service, String> {
        may_listen(&config)?;
        let roll = Roll::read(&config.clients, config.party).map_err(|e| e.to_string())?;
        let (certificate, key) =
            identity(&config.certificate, &config.key).map_err(|e| e.to_string())?;
        let tls = trust::server((&certificate, &key), None)
            .map_err(|e| trust::unusable(&config.certificate, &config.key, &e))?;
        for secret in [&config.key, &config.storage_key] {
            if is_open_to_others(secret) {
                tracing::warn!(file = %secret.display(), "others than its owner may read this secret: chmod 600");
            }
        }
        let compile: Arc<dyn Compile> = compile.into();
        let tls = TlsAcceptor::from(Arc::new(tls));
        let for_looking = config.operator.is_some().then(|| tls.clone());
        let storage = Key::new(config.storage_key().map_err(|e| e.to_string())?);
        let tasks = tasks(&config, &*compile)?;
        let peers = Arc::new(Peers::new(&config, longest(tasks.values()))?);
        let for_peers = listen(&config.peer_listen, "peer_listen", Ok)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(16)
            .build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        let entered = runtime.enter();
        let for_clients = listen(&config.client_listen, "client_listen", ready)?;
        let for_operator = listen(&config.operations, "operations", ready)?;
        drop(entered);
        let store = Store::open(&config.data, storage).map_err(|e| e.to_string())?;
        let address = |found: std::io::Result<SocketAddr>| found.map_err(|e| e.to_string());
        let peer_address = address(for_peers.local_addr())?;
        let client_address = address(for_clients.local_addr())?;
        let operations_address = address(for_operator.local_addr())?;
        let node = Arc::new(Node::new(config, store, tasks, roll, peers.clone())?);
        let asked = node.clone();
        let threads = |e: std::io::Error| format!("no thread is left: {e}");
        peers
            .listen(for_peers, Arc::new(move |from, ask| answer(&asked, from, ask)), None)
            .map_err(threads)?;
        resume(&node).map_err(threads)?;
        let end = Arc::new(Notify::new());
        let (say, signal) = channel();
        let asks = Asks(say.clone());
        let (listens, listening) = channel::<()>();
        let (served, ended) = (node.clone(), end.clone());
        let server = thread::spawn(move || {
            runtime.block_on(async move {
                tokio::spawn(http::serve(served.clone(), for_clients, tls));
                tokio::spawn(http::serve_operator(served, for_operator, for_looking));
                signals(say).await;
                let _ = listens.send(());
                ended.notified().await;
            });
            runtime.shutdown_timeout(Duration::from_secs(5));
        });
        // Who is told that it has started may end it, and is heard. A thread that has ended says nothing.
        let _ = listening.recv();
        tracing::info!(node = node.me(), peers = %peer_address, clients = %client_address, operations = %operations_address, "started");
        let (server, signal) = (Some(server), Some(signal));
        Ok(Service {
            node,
            peer_address,
            client_address,
            operations_address,
            end,
            server,
            asks,
            signal,
            compile,
            reading: Arc::default(),
        })
    }

    /// Asks it to end, from another thread.
    pub fn asks(&self) -> Asks {
        self.asks.clone()
    }

    /// Reads the file of clients and the tasks again, on a thread: the node goes on, and may be stopped meanwhile.
    fn read_again(&self) {
        let (node, compile) = (self.node.clone(), self.compile.clone());
        let reading = self.reading.clone();
        // Without a thread nothing changes, which is logged.
        let _ = spawn("reload", move || {
            let _one = lock(&reading);
            reload_clients(&node);
            if let Err(why) = reload_tasks(&node, &*compile) {
                tracing::error!(why, "the tasks stay as they were");
            }
        });
    }

    /// Waits until the system asks the process to end; says how. On a hangup files are read again.
    pub fn wait(&mut self) -> &'static str {
        let Some(signal) = self.signal.take() else { return "stopped" };
        loop {
            match signal.recv() {
                Ok("hangup") => self.read_again(),
                Ok(asked) => return asked,
                Err(_) => return "stopped",
            }
        }
    }

    /// Stops it: takes nothing more, and gives an attempt that is under way some time to end. What does not end is
    /// repeated after the next start.
    pub fn stop(mut self, patience: Duration) {
        self.node.stop();
        let until = Instant::now() + patience;
        let running = || {
            self.node
                .rounds()
                .iter()
                .any(|r| r.phase == Phase::Running && self.node.is_busy(&r.spec.key))
        };
        while running() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        self.node.peers.stop(Some(self.peer_address));
        self.end.notify_one();
        if let Some(server) = self.server.take() {
            // It has ended, or panicked, which was printed.
            let _ = server.join();
        }
        tracing::info!(node = self.node.me(), "stopped");
    }
}

fn reload_clients(node: &Node) {
    match Roll::read(&node.config.clients, node.me()) {
        Ok(roll) => {
            tracing::info!(clients = roll.clients.len(), "the file of clients was read again");
            *write_lock(&node.roll) = roll;
        }
        Err(why) => tracing::error!(%why, "the file of clients stays as it was"),
    }
}

/// Compiles the tasks of the file of configuration as it is now. Its other lines are read at a start only.
fn reload_tasks(node: &Node, compile: &dyn Compile) -> Result<(), String> {
    let fresh = NodeConfig::read(&node.config.path).map_err(|e| e.to_string())?;
    let fresh = NodeConfig { task: fresh.task, ..node.config.clone() };
    let changed = node.exchange(tasks(&fresh, compile)?);
    tracing::info!(changed = changed.join(", "), "the tasks were read again");
    Ok(())
}

/// Takes up what is on disk.
fn resume(node: &Arc<Node>) -> std::io::Result<()> {
    for round in node.rounds() {
        let key = round.spec.key.clone();
        if round.ended() {
            // The node may have been stopped between the step and this.
            tidy(node, &key);
        } else if node.leads() {
            begin(node, key)?;
        }
    }
    let node = node.clone();
    spawn("maintenance", move || maintain(&node))
}

/// Hears of signals that ask this process to end, from the moment on that this returns.
///
/// # Errors
///
/// A system that has no threads or no files left.
pub fn ending() -> std::io::Result<Receiver<&'static str>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (say, heard) = channel();
    let (listens, ready) = channel();
    thread::spawn(move || {
        runtime.block_on(async move {
            signals(say).await;
            // Who asked waits for it.
            let _ = listens.send(());
            std::future::pending::<()>().await;
        });
    });
    // Without an answer the thread has ended, and then nothing is heard.
    let _ = ready.recv();
    Ok(heard)
}

#[cfg(unix)]
async fn signals(say: std::sync::mpsc::Sender<&'static str>) {
    use tokio::signal::unix::{SignalKind, signal};
    let all = [
        (SignalKind::terminate(), "terminate"),
        (SignalKind::interrupt(), "interrupt"),
        (SignalKind::hangup(), "hangup"),
    ];
    for (kind, name) in all {
        let say = say.clone();
        match signal(kind) {
            Ok(mut signal) => {
                tokio::spawn(async move {
                    while signal.recv().await.is_some() && say.send(name).is_ok() {}
                });
            }
            Err(why) => tracing::error!(%why, name, "a signal cannot be waited for"),
        }
    }
}

#[cfg(not(unix))]
async fn signals(say: std::sync::mpsc::Sender<&'static str>) {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            // Nobody waits any more.
            let _ = say.send("interrupt");
        }
    });
}
