//! The connections of clients: how many there are, whose they are, and which one makes room for another.
//!
//! A connection is a stranger's until a request on it says who it is. Nobody has more than [`EACH`]: one more, and its own
//! first one ends. If all places are taken, the first stranger goes. If there is none, the first connection of whoever has
//! most goes, unless nobody has two. So neither strangers nor a client with many connections keep anybody out.

use crate::locks::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Connections that one client, or the coordinator, may have.
pub const EACH: usize = 16;

#[derive(Debug)]
struct One<T> {
    number: u64,
    /// Who has said on it who it is.
    who: Option<String>,
    task: T,
}

/// All of them, the first at the front.
#[derive(Debug)]
struct List<T>(VecDeque<One<T>>);

impl<T> List<T> {
    /// Takes out the one that makes room.
    fn make_room(&mut self) -> Option<One<T>> {
        let at = self.0.iter().position(|c| c.who.is_none()).or_else(|| {
            let mut each: BTreeMap<&str, usize> = BTreeMap::new();
            self.0
                .iter()
                .filter_map(|c| c.who.as_deref())
                .for_each(|w| *each.entry(w).or_default() += 1);
            let (most, n) = each.into_iter().max_by_key(|(_, n)| *n)?;
            let most = Some(most).filter(|_| n > 1)?;
            self.0.iter().position(|c| c.who.as_deref() == Some(most))
        })?;
        self.0.remove(at)
    }

    /// Notes who is at the other end, for good. Takes out its first connection if it has too many.
    fn says(&mut self, number: u64, who: &str) -> Option<One<T>> {
        let one = self.0.iter_mut().find(|c| c.number == number).filter(|c| c.who.is_none())?;
        one.who = Some(who.to_string());
        let mut own = self.0.iter().enumerate().filter(|(_, c)| c.who.as_deref() == Some(who));
        let (first, _) = own.next()?;
        match own.count() >= EACH {
            true => self.0.remove(first),
            false => None,
        }
    }
}

pub struct Connections {
    room: Arc<Semaphore>,
    list: Mutex<List<AbortHandle>>,
}

impl Connections {
    /// That many at one time.
    pub fn new(most: usize) -> Connections {
        Connections {
            room: Arc::new(Semaphore::new(most)),
            list: Mutex::new(List(VecDeque::new())),
        }
    }

    /// A place, if there is one.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.room.clone().try_acquire_owned().ok()
    }

    /// A place, once another connection has made room for it.
    pub async fn place_of_another(&self) -> Option<OwnedSemaphorePermit> {
        let gone = lock(&self.list).make_room()?;
        // It ends as soon as its task is looked at, and that waits for nobody.
        gone.task.abort();
        self.room.clone().acquire_owned().await.ok()
    }

    pub fn add(&self, number: u64, task: AbortHandle) {
        let ended = task.is_finished();
        let mut list = lock(&self.list);
        if !ended {
            list.0.push_back(One { number, who: None, task });
        }
    }

    pub fn remove(&self, number: u64) {
        lock(&self.list).0.retain(|c| c.number != number);
    }

    /// Somebody has said on a connection who it is.
    pub fn says(&self, number: u64, who: &str) {
        if let Some(first) = lock(&self.list).says(number, who) {
            first.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(of: &[Option<&str>]) -> List<()> {
        let one = |(i, who): (usize, &Option<&str>)| One {
            number: i as u64,
            who: who.map(str::to_string),
            task: (),
        };
        List(of.iter().enumerate().map(one).collect())
    }

    #[test]
    fn strangers_make_room_first_and_then_whoever_has_most() {
        for (of, goes) in [
            (&[Some("a"), None, None][..], Some(1)),
            (&[Some("a"), Some("b"), Some("b"), Some("a"), Some("b")], Some(1)),
            (&[Some("a"), Some("b"), Some("c")], None),
            (&[], None),
        ] {
            assert_eq!(list(of).make_room().map(|c| c.number), goes, "{of:?}");
        }
    }

    #[test]
    fn a_client_with_all_connections_makes_room_for_every_other_one() {
        // Nobody said more than once who it is, so all places are one client's.
        let mut all = list(&[Some("a"); 64]);
        for n in 0..63 {
            assert!(all.make_room().is_some_and(|c| c.who.as_deref() == Some("a")), "{n}");
            all.0.push_back(One { number: 100 + n, who: Some(format!("c{n}")), task: () });
        }
        assert!(all.make_room().is_none(), "now each has one");
    }

    #[test]
    fn nobody_has_more_connections_than_its_own_share() {
        let mut all = list(&[None; 40]);
        let mut ended = Vec::new();
        for n in 0..40 {
            ended.extend(all.says(n, "a").map(|c| c.number));
            // Saying it again changes nothing, and neither does saying something else.
            assert!(all.says(n, "a").is_none() && all.says(n, "b").is_none());
            assert!(all.0.iter().filter(|c| c.who.is_some()).count() <= EACH);
        }
        assert_eq!(ended, (0..40 - EACH as u64).collect::<Vec<_>>());
    }
}
