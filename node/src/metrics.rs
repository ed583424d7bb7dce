//! What a node counts and measures, for Prometheus. Nothing of it is secret.
//!
//! Counts live as long as the process. What is only looked at when somebody asks, such as where rounds stand, is in
//! [`crate::http`], where the text is made.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Labels of a metric with one.
pub type One = [(&'static str, String); 1];

/// Labels of a metric with two.
pub type Two = [(&'static str, String); 2];

/// Counts by task.
pub type ByTask = Family<One, Counter>;

/// Counts by worker.
pub type ByWorker = ByTask;

/// The label of a task.
pub fn task(name: &str) -> One {
    [("task", name.to_string())]
}

/// The label of a worker.
pub fn worker(number: u16) -> One {
    [("worker", number.to_string())]
}

/// Seconds of requests: from a millisecond to a minute.
fn of_requests() -> Histogram {
    Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0])
}

/// Seconds of attempts: from a tenth of a second to half an hour.
fn of_attempts() -> Histogram {
    Histogram::new(exponential_buckets(0.125, 2.0, 15))
}

/// What a node counts since it was started.
#[derive(Debug)]
pub struct Metrics {
    /// Submissions that were acknowledged for the first time.
    pub submissions: ByTask,
    /// Bytes of their parts.
    pub bytes: ByTask,
    /// Submissions that were there already.
    pub repeated: ByTask,
    /// Submissions that were refused because there is another one.
    pub conflicts: ByTask,
    /// Attempts that were finished.
    pub computed: ByTask,
    /// Attempts that failed.
    pub failed: ByTask,
    /// Rounds that were released.
    pub released: ByTask,
    /// Rounds that were aborted.
    pub aborted: ByTask,
    /// Ranges that workers have computed, by worker.
    pub ranges_computed: ByWorker,
    /// Ranges that they have not.
    pub ranges_failed: ByWorker,
    /// Attempts in which a worker took no part.
    pub workers_away: ByWorker,
    /// Other requests that were refused.
    pub refused: Counter,
    /// Connections of clients that were turned away.
    pub turned_away: Counter,
    /// Connections of clients at this moment.
    pub connections: AtomicU64,
    requests: Family<Two, Histogram, fn() -> Histogram>,
    attempts: Family<Two, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            submissions: Family::default(),
            bytes: Family::default(),
            repeated: Family::default(),
            conflicts: Family::default(),
            computed: Family::default(),
            failed: Family::default(),
            released: Family::default(),
            aborted: Family::default(),
            ranges_computed: Family::default(),
            ranges_failed: Family::default(),
            workers_away: Family::default(),
            refused: Counter::default(),
            turned_away: Counter::default(),
            connections: AtomicU64::new(0),
            requests: Family::new_with_constructor(of_requests),
            attempts: Family::new_with_constructor(of_attempts),
        }
    }
}

impl Metrics {
    /// A request of a kind was answered with a status after so long.
    pub fn answered(&self, kind: &'static str, status: u16, after: Duration) {
        let labels = [("request", kind.to_string()), ("status", format!("{}xx", status / 100))];
        self.requests.get_or_create(&labels).observe(after.as_secs_f64());
    }

    /// An attempt of a task ended after so long.
    pub fn attempted(&self, task: &str, computed: bool, after: Duration) {
        let end = if computed { "computed" } else { "failed" };
        let labels = [("task", task.to_string()), ("end", end.to_string())];
        self.attempts.get_or_create(&labels).observe(after.as_secs_f64());
    }

    /// Connections of clients at this moment.
    pub fn connected(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Names all of it. Counts of these tasks, and of so many workers, are 0 until there is something to count, and not missing.
    pub fn register(&self, to: &mut Registry, tasks: &[String], workers: usize) {
        let by_task = [
            ("submissions", "Submissions acknowledged for the first time", &self.submissions),
            ("submission_bytes", "Bytes of their parts", &self.bytes),
            ("submissions_repeated", "Submissions that were there already", &self.repeated),
            (
                "submissions_conflicting",
                "Submissions refused because there is another one",
                &self.conflicts,
            ),
            ("attempts_computed", "Attempts that were finished", &self.computed),
            ("attempts_failed", "Attempts that failed", &self.failed),
            ("rounds_released", "Rounds that were released", &self.released),
            ("rounds_aborted", "Rounds that were aborted", &self.aborted),
        ];
        for (name, help, family) in by_task {
            tasks.iter().for_each(|t| drop(family.get_or_create(&task(t))));
            to.register(name, help, family.clone());
        }
        let by_worker = [
            ("ranges_computed", "Ranges that a worker has computed", &self.ranges_computed),
            ("ranges_failed", "Ranges that a worker has not computed", &self.ranges_failed),
            ("worker_away", "Attempts in which a worker took no part", &self.workers_away),
        ];
        for (name, help, family) in by_worker {
            (0u16..).take(workers).for_each(|w| drop(family.get_or_create(&worker(w))));
            to.register(name, help, family.clone());
        }
        to.register("requests_refused", "Requests that were refused", self.refused.clone());
        to.register(
            "connections_turned_away",
            "Connections of clients that were turned away",
            self.turned_away.clone(),
        );
        let help = "Seconds from the head of a request to its answer";
        to.register("request_duration_seconds", help, self.requests.clone());
        let help = "Seconds of attempts, by how they ended";
        to.register("attempt_duration_seconds", help, self.attempts.clone());
    }
}
