//! Submissions as they come in.
//!
//! A client announces a submission by its manifest and then sends its part in one piece or several, each from the
//! offset at which the node is. What came of a part is in a sealed file that does not count; the announcement is in
//! memory. After a restart of the node the client announces its submission again, and goes on after the last piece of
//! the file that is whole. The client has its acknowledgement once the part is
//! whole, fits its manifest, and is durable.
//!
//! A part that is gone, or was found to be damaged, is taken once more from whoever announces the same submission, until the
//! round is released or its submissions are erased: also of a round that was aborted, since it may be run again. The record,
//! and with it the answer, stays the same.

use super::body::{Inbound, Paced, small};
use super::keep::{Place, is_mended, is_on_roll, keep, receipt, store};
use super::reply::{Body, Refused, blocking, no_round, object, refused};
use crate::clock::now;
use crate::codes::Code;
use crate::config::Enrolled;
use crate::hex::Hex;
use crate::locks::lock;
use crate::metrics::task;
use crate::node::Node;
use crate::state::{Phase, Round, RoundKey};
use crate::store::{Record, StoreError};
use crate::submission::check::Checker;
use crate::submission::{MANIFEST, Manifest};
use crate::tasks::{Known, Ready};
use crate::vault::Sealer;
use hyper::body::Body as _;
use hyper::{Request, Response};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tracing::Instrument;

/// A part of which something is still to come.
#[derive(Debug)]
struct Partial {
    manifest: Manifest,
    /// The party set of which it is, if it is not that of the clients.
    set: Option<String>,
    /// Nothing while a piece is being written, and after a failure.
    file: Option<(Sealer, Checker)>,
    length: u64,
    taken: u64,
}

type Shared = Arc<tokio::sync::Mutex<Partial>>;

/// What comes in at a node.
#[derive(Debug)]
pub struct Uploads {
    partial: Mutex<BTreeMap<Place, Shared>>,
    room: Arc<Semaphore>,
}

/// Which submission a request is about.
pub struct About<'a> {
    pub key: RoundKey,
    pub submission: &'a str,
    pub client: &'a Enrolled,
}

/// The answer of a client's complete submission, unless its part has to come again.
async fn complete(
    node: &Arc<Node>,
    place: &Place,
    submission: &str,
) -> Result<Option<Response<Body>>, Refused> {
    let (of, at) = (node.clone(), place.clone());
    let read = move || match is_mended(&of, &at) {
        true => Ok(None),
        false => of.store.submission(&at.0, &at.1),
    };
    match store(blocking(read).await?)? {
        Some(r) if r.manifest.submission.to_string() != submission => {
            store(Err(StoreError::Conflict))
        }
        record => Ok(record.map(|record| receipt(node, &record))),
    }
}

impl Uploads {
    /// That many are read at one time.
    pub fn new(room: usize) -> Uploads {
        Uploads { partial: Mutex::default(), room: Arc::new(Semaphore::new(room.max(1))) }
    }

    /// Held for a moment, and never while the disk is waited for: the one thread that serves everybody takes it.
    fn all(&self) -> MutexGuard<'_, BTreeMap<Place, Shared>> {
        lock(&self.partial)
    }

    fn find(&self, place: &Place) -> Option<Shared> {
        self.all().get(place).cloned()
    }

    fn forget(&self, place: &Place) {
        self.all().remove(place);
    }

    /// Forgets what was begun in rounds that take nothing any more.
    fn tidy(&self, node: &Node) {
        let open = |key: &RoundKey| node.round(key).is_some_and(|r| r.phase == Phase::Open);
        let all = self.all().clone();
        // Nobody waits for the disk but this thread.
        for (place, partial) in all.into_iter().filter(|((key, _), _)| !open(key)) {
            if is_mended(node, &place) {
                continue;
            }
            // It may have been announced again in the meantime.
            let is_it = |now: &Shared| Arc::ptr_eq(now, &partial);
            let mut all = self.all();
            if all.get(&place).is_some_and(is_it) {
                all.remove(&place);
            }
            drop(all);
            // What is being read removes its file itself.
            if let Ok(p) = partial.try_lock_owned() {
                node.store.give_up(&place.0, &place.1, &p.manifest.submission.to_string());
            }
        }
    }

    pub async fn announce(
        self: &Arc<Self>,
        node: &Arc<Node>,
        about: About<'_>,
        request: Request<Inbound>,
    ) -> Result<Response<Body>, Refused> {
        let body = small(node, request, MANIFEST).await?;
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&body) else {
            let why = "the body is not a manifest as the description has it";
            return refused(400, Code::Manifest, why);
        };
        let About { key, submission, client } = about;
        if let Err(e) = manifest.check(&key.task, key.round, &client.name, &client.key) {
            return refused(403, Code::Manifest, e.to_string());
        }
        if manifest.submission.to_string() != submission {
            let why = "the manifest names another submission than the request";
            return refused(400, Code::Manifest, why);
        }
        let (node, uploads, client) = (node.clone(), self.clone(), client.clone());
        blocking(move || uploads.announced(&node, &key, &client, manifest)).await?
    }

    fn announced(
        &self,
        node: &Node,
        key: &RoundKey,
        client: &Enrolled,
        manifest: Manifest,
    ) -> Result<Response<Body>, Refused> {
        let place = (key.clone(), client.name.clone());
        let enrolled = client.set.as_deref();
        if let Some(record) = store(node.store.submission(key, &client.name))? {
            return self.repeated(node, &place, enrolled, (&record, manifest));
        }
        let Some(round) = node.round(key) else {
            return no_round(key);
        };
        let known = takes(node, &round, &manifest)?;
        is_on_roll(node, &round.spec, client)?;
        if let Some(partial) = self.find(&place) {
            return match partial.try_lock() {
                Ok(p) if p.manifest == manifest && p.file.is_some() => Ok(progress(&p)),
                Ok(p) => {
                    drop(p);
                    self.begin(node, &place, (&known.full, enrolled), manifest)
                }
                Err(_) => {
                    let why =
                        "a piece of this client's submission is being read: ask for its state";
                    refused(409, Code::Busy, why)
                }
            };
        }
        if now() >= round.spec.deadline {
            let why = "the round's deadline is over: only what has begun is still taken";
            return refused(409, Code::Closed, why);
        }
        self.begin(node, &place, (&known.full, enrolled), manifest)
    }

    /// Announced again what is complete: it begins anew if this node's part is damaged.
    fn repeated(
        &self,
        node: &Node,
        place: &Place,
        enrolled: Option<&str>,
        (record, manifest): (&Record, Manifest),
    ) -> Result<Response<Body>, Refused> {
        let (key, client) = place;
        if record.manifest != manifest {
            node.metrics.conflicts.get_or_create(&task(&key.task)).inc();
            return store(Err(StoreError::Conflict));
        }
        // Nothing is erased meanwhile.
        let again = node.with_round(key, |round| {
            let round = round?;
            if round.phase != Phase::Released {
                node.store.look_for(key, client);
            }
            is_mended(node, place).then(|| match node.task_of(&round.spec) {
                Some(known) => self.begin(node, place, (&known.full, enrolled), manifest),
                None => {
                    let why = "this node's part of the submission is damaged, and it has another circuit for the task by now";
                    refused(409, Code::Circuit, why)
                }
            })
        });
        again.unwrap_or_else(|| {
            node.metrics.repeated.get_or_create(&task(&key.task)).inc();
            Ok(receipt(node, record))
        })
    }

    fn begin(
        &self,
        node: &Node,
        place: &Place,
        (full, enrolled): (&Ready, Option<&str>),
        manifest: Manifest,
    ) -> Result<Response<Body>, Refused> {
        self.tidy(node);
        let (key, client) = place;
        let Some((set, number, _)) = full.set_of(enrolled) else {
            let named = enrolled.unwrap_or("");
            let why = format!(
                "{client} is enrolled for the party set `{named}`, which gives nothing in this task"
            );
            return refused(403, Code::Set, why);
        };
        let mut checker = Checker::new(&full.circuit, number, node.me(), &manifest);
        let length = checker.expected();
        // Two announcements of a client at the same time: never are there two sealers of one file. So the place is taken
        // first, and is busy while the file is begun.
        let fresh =
            Partial { manifest: manifest.clone(), set: set.clone(), file: None, length, taken: 0 };
        let mut all = self.all();
        let shared = all.entry(place.clone()).or_insert_with(|| Shared::new(fresh.into())).clone();
        let Ok(mut p) = shared.try_lock() else {
            return refused(409, Code::Busy, "a piece of this client's submission is being read");
        };
        drop(all);
        if p.manifest == manifest && p.file.is_some() {
            return Ok(progress(&p));
        }
        // Whoever still holds it finds nothing in it.
        p.file = None;
        if p.manifest.submission != manifest.submission {
            node.store.give_up(key, client, &p.manifest.submission.to_string());
        }
        let submission = manifest.submission.to_string();
        let at = (key, client.as_str(), submission.as_str());
        let sealer = store(node.store.begin(at, length, |piece| checker.absorb(piece)))?;
        p.taken = sealer.taken();
        (p.manifest, p.set, p.length) = (manifest, set, length);
        p.file = Some((sealer, checker));
        Ok(progress(&p))
    }

    pub async fn state(
        &self,
        node: &Arc<Node>,
        about: About<'_>,
    ) -> Result<Response<Body>, Refused> {
        let About { key, submission, client } = about;
        let place = (key, client.name.clone());
        if let Some(receipt) = complete(node, &place, submission).await? {
            return Ok(receipt);
        }
        if let Some(partial) = self.find(&place) {
            let p = partial.lock().await;
            if p.manifest.submission.to_string() == submission && p.file.is_some() {
                return Ok(progress(&p));
            }
        }
        refused(404, Code::Submission, "this submission has not been announced")
    }

    /// Takes a piece of a part.
    pub async fn piece(
        self: &Arc<Self>,
        node: &Arc<Node>,
        about: About<'_>,
        request: Request<Inbound>,
    ) -> Result<Response<Body>, Refused> {
        let About { key, submission, client } = about;
        let place = (key, client.name.clone());
        if let Some(receipt) = complete(node, &place, submission).await? {
            return Ok(receipt);
        }
        let offset = request
            .headers()
            .get("upload-offset")
            .and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
        let Some(offset) = offset else {
            let why = "the header Upload-Offset says where the piece begins";
            return refused(400, Code::Offset, why);
        };
        let missing = || {
            let why =
                "this submission has not been announced, or the node was restarted: announce it";
            refused(404, Code::Submission, why)
        };
        let Some(partial) = self.find(&place) else { return missing() };
        let Ok(room) = self.room.clone().acquire_owned().await else { return missing() };
        let p = match partial.clone().try_lock_owned() {
            Ok(p) => p,
            Err(_) => {
                return refused(409, Code::Busy, "another piece of this submission is being read");
            }
        };
        if p.manifest.submission.to_string() != submission {
            return missing();
        }
        if offset != p.taken {
            return refused(409, Code::Offset, format!("the node is at offset {}", p.taken));
        }
        let left = p.length - p.taken;
        let sent = request.body().size_hint().lower();
        if sent > left {
            let why = format!(
                "the part has {} bytes, of which {left} are still to come, and {sent} were sent: it is the part of another node or circuit",
                p.length
            );
            return refused(413, Code::Length, why);
        }
        if p.file.is_none() {
            return missing();
        }
        // A task of its own: if the connection breaks, this one ends at once, and what came is kept by that one.
        let (uploads, node, body) = (self.clone(), node.clone(), request.into_body());
        let taking = async move {
            let done = uploads.take(&node, &place, p, body).await;
            drop(room);
            done
        };
        // What it logs is of this request.
        let taking = tokio::spawn(taking.in_current_span());
        match taking.await {
            Ok(done) => done,
            Err(_) => refused(500, Code::Bug, "this node has a bug: its log says more"),
        }
    }

    /// Takes what comes of a body.
    async fn take(
        &self,
        node: &Arc<Node>,
        place: &Place,
        mut p: OwnedMutexGuard<Partial>,
        body: Inbound,
    ) -> Result<Response<Body>, Refused> {
        let Some((mut sealer, mut checker)) = p.file.take() else {
            return refused(404, Code::Submission, "this submission has not been announced");
        };
        let submission = p.manifest.submission;
        let mut body = Paced::new(node, body);
        let failed = loop {
            let slow = "the body comes too slowly: send the rest in another request";
            let data = match body.next(slow).await {
                Ok(Some(data)) => data,
                ended => break ended.err(),
            };
            if p.taken + data.len() as u64 > p.length {
                self.drop_file(node, place, submission).await;
                let why = format!("the part has {} bytes, and more came", p.length);
                return refused(413, Code::Length, why);
            }
            let n = data.len() as u64;
            let (back, wrote) = blocking(move || {
                checker.absorb(&data);
                let wrote = sealer.write(&data);
                ((sealer, checker), wrote)
            })
            .await?;
            (sealer, checker) = back;
            if let Err(why) = wrote {
                self.drop_file(node, place, submission).await;
                return store(Err(StoreError::Io {
                    path: "part".into(),
                    why: io::Error::new(why.kind(), why),
                }));
            }
            p.taken += n;
        };
        if p.taken < p.length {
            // What came is kept, and the client goes on from there.
            p.file = Some((sealer, checker));
            return failed.map_or_else(|| Ok(progress(&p)), Err);
        }
        let record = Record { manifest: p.manifest.clone(), at: now(), set: p.set.clone() };
        let (counted, to) = (node.clone(), place.clone());
        let done = blocking(move || keep(&counted, &to, sealer, &checker, &record)).await?;
        match done.is_err() {
            true => self.drop_file(node, place, submission).await,
            false => self.forget(place),
        }
        done
    }

    /// In this order: once the place is free, the file may be another one's.
    async fn drop_file(&self, node: &Arc<Node>, place: &Place, submission: Hex<16>) {
        let (node, (key, client)) = (node.clone(), place.clone());
        // When the round ends what is left is removed anyway.
        let give_up = move || node.store.give_up(&key, &client, &submission.to_string());
        let _ = blocking(give_up).await;
        self.forget(place);
    }
}

/// The task of a round that takes such a submission.
fn takes(node: &Node, round: &Round, manifest: &Manifest) -> Result<Arc<Known>, Refused> {
    let spec = &round.spec;
    if round.phase == Phase::Aborted {
        let why = round.aborted.as_deref().unwrap_or("");
        return refused(409, Code::Aborted, format!("the round was aborted: {why}"));
    }
    let is_open = round.phase == Phase::Open && now() < spec.ends();
    let Some(known) = node.task_of(spec).filter(|_| is_open) else {
        return refused(409, Code::Closed, "the round takes no submissions any more");
    };
    if manifest.circuit != spec.circuit {
        let why = format!("the round's circuit is {}: fetch it again", spec.circuit);
        return refused(409, Code::Circuit, why);
    }
    if manifest.opening != spec.digest() {
        let why =
            "the submission is for another opening of the round: ask all three nodes for it again";
        return refused(409, Code::Opening, why);
    }
    Ok(known)
}

fn progress(p: &Partial) -> Response<Body> {
    object(202, &json!({ "state": "incomplete", "offset": p.taken, "length": p.length }))
}
