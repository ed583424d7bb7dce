//! What a node does in a round.
//!
//! | file | does |
//! |---|---|
//! | `follow` | answers the questions of the other nodes: what this node has, whether it agrees, where it stands |
//! | `agreement` | whose submissions count, and in which circuit: what each node holds a proposal against |
//! | `gather` | from what three nodes have to whose submissions count |
//! | `attempt` | one attempt: connects, reads the parts, runs the circuit, keeps what the receivers get |
//! | `reveals` | what a round reveals to members of party sets, cut up for each of them |
//! | `lead` | node 0: closes, has everybody agree and run, releases, recovers |
//! | `backoff` | how long a node waits before it does something again, and for room on its disk |
//! | `retry` | runs a round again that was aborted |
//! | `opening` | a coordinator opens a round, and closes or aborts it before its time |
//! | `others` | node 0 asks both other nodes at the same time; what follows from another node having ended a round |
//! | `states` | tasks with a state: what a round continues, and who is which member |
//! | `workers` | a node's workers in an attempt |
//! | `tidy` | erases what is left of a round that has ended |
//! | `maintenance` | the others: ask the leader about rounds of which they have not heard |

mod agreement;
mod attempt;
mod backoff;
mod follow;
mod gather;
mod lead;
mod maintenance;
mod opening;
mod others;
mod retry;
mod reveals;
mod states;
mod tidy;
mod workers;

pub use follow::answer;
pub use gather::gather;
pub use lead::begin;
pub use maintenance::maintain;
pub use opening::{Wanted, open, ordered};
pub use others::OpenError;
pub(crate) use retry::{could, kept, retry};
pub(crate) use tidy::tidy;
