//! A run among three parties, repeated without whoever the parties cannot use.

use crate::cohort::Cohort;
use crate::error::{Error, Result};
use crate::notes::Notes;
use slvr_circuit::Circuit;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::party::{Replaced, RunError};
use slvr_runtime::share::encode::InputError;

/// Runs those who take part by `compute`, and again without those whom the parties leave out. `locate` says in which
/// file an input is that does not fit the circuit.
///
/// # Errors
///
/// Those of `compute`, and as [`Cohort::without`].
pub fn run<E: From<Error>>(
    cohort: &mut Cohort,
    notes: Notes<'_>,
    locate: impl Fn(&Circuit, InputError) -> Error,
    mut compute: impl FnMut(&Cohort) -> std::result::Result<std::result::Result<Report, RunError>, E>,
) -> std::result::Result<Report, E> {
    let mut report = loop {
        match compute(cohort)? {
            Ok(report) => break report,
            Err(RunError::Invalid(found)) => cohort.without(&found, notes)?,
            Err(RunError::Input(e)) => return Err(locate(cohort.circuit(), e).into()),
            Err(e) => return Err(Error::Run(e).into()),
        }
    };
    // Whoever is left out and keeps a place is named once, with the first reason.
    if cohort.keeps_places() {
        let parties = &cohort.circuit().parties;
        let set = |r: &Replaced| parties.get(r.set as usize).map_or("", |p| &p.name);
        let is_out = |r: &Replaced| {
            let mut out = cohort.excluded.iter();
            out.any(|(name, member, _)| name == set(r) && *member == r.member)
        };
        report.replaced.retain(|r| !is_out(r));
    }
    Ok(report)
}

/// The same among three threads of this process.
///
/// # Errors
///
/// As [`run`].
pub fn in_process(cohort: &mut Cohort, options: &Options<'_>, notes: Notes<'_>) -> Result<Report> {
    let compute = |c: &Cohort| Ok(session::run_local(c.circuit(), &c.inputs, options));
    run(cohort, notes, |_, e| Error::Input(e.to_string()), compute)
}
