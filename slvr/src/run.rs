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
/// ```
/// use slvr::build::Build;
/// use slvr::cohort::{Cohort, Invalid};
/// use slvr::notes::silent;
/// use slvr::tensors::Submitted;
/// use slvr::{program, run};
/// use slvr_runtime::party::session::Options;
/// use slvr_runtime::share::encode::{Inputs, RawTensor};
/// use std::collections::BTreeMap;
///
/// let text = "use std::{sum};
///     predicate Mean[m]() {
///         parties Client[m];
///         parties Server;
///         input x: secret fix[2] in -8..8 from each Client;
///         reveal sum(x[i] for i in Client) / m to Server as mean;
///     }";
/// let build = Build::of_text("mean.slvr", text, vec![("m".into(), "3".into())]);
/// let client = |x| BTreeMap::from([("x".to_string(), RawTensor::reals([2], vec![x, -x]))]);
/// // One list for each set of parties, in the order of the program; the server gives nothing.
/// let sets = vec![[1.0, 2.0, 6.0].map(client).into(), Vec::new()];
/// let inputs = Inputs { public: BTreeMap::new(), sets };
/// let submitted = Submitted { inputs, missing: Vec::new(), surplus: Vec::new() };
///
/// let loaded = program::load(&build, &silent)?.into();
/// let mut cohort = Cohort::new(&build, loaded, submitted, Invalid::Exclude, &silent)?;
/// let report = run::in_process(&mut cohort, &Options::default(), &silent)?;
/// assert_eq!(report.outputs[0].values, [3.0, -3.0]);
/// # Ok::<(), slvr::Error>(())
/// ```
///
/// # Errors
///
/// As [`run`].
pub fn in_process(cohort: &mut Cohort, options: &Options<'_>, notes: Notes<'_>) -> Result<Report> {
    let compute = |c: &Cohort| Ok(session::run_local(c.circuit(), &c.inputs, options));
    run(cohort, notes, |_, e| Error::Input(e.to_string()), compute)
}
