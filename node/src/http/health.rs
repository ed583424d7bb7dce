//! Whether a node is alive, and whether it should be sent clients.

use super::reply::{Body, Refused, blocking, object};
use crate::node::Node;
use hyper::Response;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Bytes of the disk of a folder: free for this process, and all; nothing where the system does not say.
pub(super) fn disk(folder: &Path) -> Option<[u64; 2]> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(folder).ok()?;
        Some([found.f_bavail, found.f_blocks].map(|n| n.saturating_mul(found.f_frsize)))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Says that the process answers.
pub(super) fn alive(node: &Node) -> Response<Body> {
    object(200, &json!({ "node": node.me(), "ok": true }))
}

/// Says whether the node serves clients.
pub(super) async fn ready(node: &Arc<Node>) -> Result<Response<Body>, Refused> {
    let asked = node.clone();
    Ok(match blocking(move || unready(&asked)).await? {
        None => object(200, &json!({ "node": node.me(), "ready": true })),
        Some(why) => object(503, &json!({ "node": node.me(), "ready": false, "why": why })),
    })
}

/// Bytes of the disk without which nothing can be stored reliably: a few parts, and the database.
const ROOM: u64 = 16 << 20;

/// Why a node should not be sent clients; nothing if it should. Other nodes that are away are no reason: it takes
/// submissions without them, and nodes that waited for each other before they can be reached would wait forever.
pub(super) fn unready(node: &Node) -> Option<&'static str> {
    if node.stopping() {
        return Some("it is being stopped");
    }
    if node.store.check().is_err() {
        return Some("its database does not answer");
    }
    let full = disk(&node.config.data).is_some_and(|[free, _]| free < ROOM);
    full.then_some("its disk is full")
}
