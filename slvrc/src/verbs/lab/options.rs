//! The arguments, and what the lab asks of them and of the folder of results before anything runs.

use crate::fail::{Usage, misuse, note};
use crate::lab::sizes;
use anyhow::{Context, bail};
use clap::ValueEnum;
use slvr::files;
use slvr_simulation::lab::attacks::Attack;
use slvr_simulation::lab::knowledge::Knows;
use slvr_simulation::lab::shift::Scenario;
use slvr_simulation::partition::Partition;
use std::fs::{File, TryLockError};
use std::path::{Component, Path, PathBuf};

#[derive(clap::Args)]
pub struct Lab {
    /// A predicate: a `.slvr` file, or the name of one that comes with slvrc.
    pub(super) file: Option<String>,
    /// Sizes and parameters of the predicates: `lambda=1.5`. Clients, model and malicious clients have options of their own.
    #[arg(value_name = "NAME=VALUE")]
    pub(super) bindings: Vec<String>,
    /// More predicates; `paper` stands for the six of the paper's table.
    #[arg(long, value_name = "PREDICATE,...")]
    pub(super) predicate: Vec<String>,
    /// Attacks by their names, with parameters behind an @, as `noise@sigma=0.01` or `sign-flip@from=5`; a `.slvr` file with a
    /// function `attack` of one's own; `adaptive` for the
    /// worse of those that a predicate's header names and of the search; `paper` for those of the paper, or `all`.
    #[arg(long, value_name = "ATTACK", value_delimiter = ',', default_value = "none,paper")]
    pub(super) attacks: Vec<String>,
    /// The data: digits, mnist, fashion, cifar10, or a folder with IDX files or npz files of images and labels.
    #[arg(long, value_name = "NAME|FOLDER", default_value = "digits")]
    pub(super) dataset: String,
    /// The folder with the data sets, for those that do not come with slvrc; SLVR_DATA without it.
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// The model that is trained: a name, or `path/to/model.slvr:Name`.
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// m, the number of clients.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=1000))]
    pub(super) clients: u64,
    /// The part of the clients that takes part in a round.
    #[arg(long, default_value_t = 1.0)]
    pub(super) part: f64,
    /// What attackers know: only what they have themselves, or all that the honest have, too. Without it what the source of each
    /// attack says.
    #[arg(long, value_enum)]
    pub(super) knowledge: Option<Knowledge>,
    /// The part of the clients that is malicious. Predicates assume as many (their c, f or drop).
    #[arg(long, default_value_t = 0.2)]
    pub(super) malicious: f64,
    /// Concentration of the Dirichlet distribution of a client's labels.
    #[arg(long, default_value_t = 0.5)]
    pub(super) alpha: f64,
    /// How samples are shared out: by labels that follow a Dirichlet distribution, with unequal numbers of samples beside, or
    /// in pieces of samples that are sorted by their labels, two for each client.
    #[arg(long, value_enum, default_value = "dirichlet")]
    pub(super) partition: Shares,
    /// Samples of a client, at most.
    #[arg(long, default_value_t = 200)]
    pub(super) samples: usize,
    /// b, validation samples of a client in a round.
    #[arg(long, default_value_t = 10)]
    pub(super) validation: usize,
    /// Samples of the server's public validation set. The server trains on all of them, and its update should be longer
    /// than those of clients: bounds are made of it.
    #[arg(long, default_value_t = 300)]
    pub(super) public: usize,
    /// Test samples, at most.
    #[arg(long, default_value_t = 1000)]
    pub(super) test: usize,
    /// Passes over the samples that neither a client nor the server has, in which the global model is trained before the first
    /// round, as a client trains.
    #[arg(long, value_name = "EPOCHS", default_value_t = 0)]
    pub(super) pretrain: usize,
    /// Rounds.
    #[arg(long, default_value_t = 10)]
    pub(super) rounds: usize,
    /// Passes of a client over its data in a round.
    #[arg(long, default_value_t = 3)]
    pub(super) epochs: usize,
    /// Learning rate.
    #[arg(long, default_value_t = 0.05)]
    pub(super) rate: f32,
    /// Momentum.
    #[arg(long, default_value_t = 0.7)]
    pub(super) momentum: f32,
    /// Samples of a step.
    #[arg(long, default_value_t = 10)]
    pub(super) batch: usize,
    /// How many seeds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(super) seeds: u64,
    /// The first seed; everything random follows from it.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Evaluates predicates in floating point instead of in their circuits' arithmetic.
    #[arg(long)]
    pub(super) fast: bool,
    /// Runs every so many rounds, and the last one, of the first seed among three parties as well; 0 for none.
    #[arg(long, value_name = "ROUNDS", default_value_t = 1000)]
    pub(super) parties_every: usize,
    /// Data that shift.
    #[arg(long, value_name = "SCENARIO", value_enum)]
    pub(super) shift: Option<Shifting>,
    /// What data shift to: a data set, scaled to the size of the others. Without it the same samples with other polarity,
    /// contrast, background and noise.
    #[arg(long, value_name = "NAME|FOLDER", requires = "shift")]
    pub(super) shift_to: Option<String>,
    /// Rounds between shifts.
    #[arg(long, default_value_t = 10)]
    pub(super) shift_every: usize,
    /// What to give for an input of a predicate whose name says nothing: a role, or a number.
    #[arg(long, value_name = "NAME=ROLE")]
    pub(super) fill: Vec<String>,
    /// Which reveal is applied to the global model, and which revealed number divides it, if one does. Without it the
    /// first that is as long as the model, divided where it is a sum of which a number is the weight.
    #[arg(long, value_name = "NAME[/DIVISOR]")]
    pub(super) aggregate: Option<String>,
    /// Figures of tables are the mean of so many rounds, the last ones.
    #[arg(long, value_name = "ROUNDS", default_value_t = 1)]
    pub(super) last: usize,
    /// The folder for results, table and plots.
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(super) out: PathBuf,
    /// Goes on with the results in that folder.
    #[arg(long)]
    pub(super) resume: bool,
    /// Runs nothing, and writes a page of the results in these folders, with their plots beside it, and a heat map where they
    /// differ in alpha and malicious clients alone.
    #[arg(long, value_name = "DIR", value_delimiter = ',', requires = "page")]
    pub(super) from: Vec<PathBuf>,
    /// The page.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub(super) page: Option<PathBuf>,
}

/// What attackers know.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Knowledge {
    Partial,
    Full,
}

impl From<Knowledge> for Knows {
    fn from(knowledge: Knowledge) -> Knows {
        match knowledge {
            Knowledge::Partial => Knows::Partial,
            Knowledge::Full => Knows::Full,
        }
    }
}

/// How samples are shared out.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Shares {
    Dirichlet,
    Unequal,
    Pathological,
}

impl From<Shares> for Partition {
    fn from(shares: Shares) -> Partition {
        match shares {
            Shares::Dirichlet => Partition::Dirichlet,
            Shares::Unequal => Partition::Unequal,
            Shares::Pathological => Partition::Pathological,
        }
    }
}

/// How data shift.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Shifting {
    Evolving,
    Joining,
}

impl From<Shifting> for Scenario {
    fn from(shifting: Shifting) -> Scenario {
        match shifting {
            Shifting::Evolving => Scenario::Evolving,
            Shifting::Joining => Scenario::Joining,
        }
    }
}

/// The word on the command line.
pub(super) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |word| word.get_name().to_string())
}

impl Lab {
    /// Refuses numbers that no federation has.
    pub(super) fn sound(&self) -> anyhow::Result<()> {
        let hold = |good: bool, why: &str| match good {
            true => Ok(()),
            false => Err(anyhow::Error::from(Usage(why.into()))),
        };
        hold(
            (0.0..1.0).contains(&self.malicious),
            "--malicious is a part of the clients, from 0 to below 1",
        )?;
        hold(self.part > 0.0 && self.part <= 1.0, "--part is above 0, and at most 1")?;
        hold(self.rate > 0.0 && self.rate <= 100.0, "--rate is above 0, and at most 100")?;
        hold((0.0..1.0).contains(&self.momentum), "--momentum is from 0 to below 1")?;
        hold(
            self.alpha > 0.0 && self.alpha.is_finite(),
            "--alpha is above 0, and finite: a large one, as 1e6, makes shares alike",
        )?;
        let counts = [
            ("--rounds", self.rounds),
            ("--epochs", self.epochs),
            ("--last", self.last),
            ("--batch", self.batch),
            ("--shift-every", self.shift_every),
            ("--test", self.test),
            ("--public", self.public),
            ("--validation", self.validation),
        ];
        for (name, count) in counts {
            hold(count > 0, &format!("{name} is at least 1"))?;
        }
        hold(self.samples > 1, "--samples is at least 2")?;
        hold(
            self.seed.checked_add(self.seeds).is_some(),
            "--seed and --seeds together go beyond 64 bits",
        )
    }

    pub(super) fn malicious(&self, attacks: &[String]) -> anyhow::Result<usize> {
        let malicious = (self.clients as f64 * self.malicious).round() as usize;
        let attacked = attacks.iter().any(|a| a != Attack::NONE.name);
        if malicious == 0 && attacked {
            if self.malicious > 0.0 {
                misuse!(
                    "--malicious {} of {} clients is nobody: say at least {}, or --attacks none",
                    self.malicious,
                    self.clients,
                    1.0 / self.clients as f64
                );
            }
            note("nobody is malicious: all columns are like `none`");
        }
        if malicious as u64 == self.clients {
            misuse!("--malicious: at least one client must be honest");
        }
        Ok(malicious)
    }
}

/// Whether the first argument binds something: it has the form of NAME=VALUE, and there is no such file.
pub(super) fn is_binding(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    text.contains('=') && is_name && !Path::new(text).is_file()
}

/// One spelling of a predicate: a path without detours, and the bare name of what comes with slvrc.
pub(super) fn canonical(named: &str) -> String {
    let (file, own) = sizes::parts(named);
    let rest: String = own.iter().map(|binding| format!("@{binding}")).collect();
    let path: PathBuf = Path::new(file).components().filter(|c| *c != Component::CurDir).collect();
    let text = match path.to_str() {
        Some(text) if path.is_file() => text.to_string(),
        // No file: what comes with slvrc, with or without its ending.
        _ => file.strip_suffix(".slvr").unwrap_or(file).to_string(),
    };
    let known = path.is_file() || slvr::program::source(&slvr::Build::of_file(&text)).is_ok();
    format!("{}{rest}", if known { text } else { file.to_string() })
}

/// The file of a model of the user's own.
pub(super) fn model_file(model: &str) -> Option<PathBuf> {
    let file = match model.split_once(".slvr:") {
        Some((stem, _)) => format!("{stem}.slvr"),
        None => model.to_string(),
    };
    Some(PathBuf::from(file)).filter(|f| f.extension().is_some_and(|e| e == "slvr"))
}

/// Refuses what a file cannot be put in the place of.
pub(super) fn may_be_written(path: &Path) -> anyhow::Result<()> {
    match path.metadata() {
        Ok(there) if there.is_dir() => {
            bail!("{}: cannot be written: it is a directory", path.display())
        }
        Ok(there) if !there.is_file() => {
            bail!("{}: cannot be written: it is a pipe or a device, not a file", path.display())
        }
        _ => Ok(()),
    }
}

/// Holds the folder of results alone, until it is dropped or the program ends.
pub(super) struct Alone(#[allow(dead_code, reason = "held for its lock")] File);

impl Alone {
    pub(super) fn of(folder: &Path) -> anyhow::Result<Alone> {
        let path = folder.join(".lock");
        may_be_written(&path)?;
        let file = File::create(&path)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        match file.try_lock() {
            Ok(()) => {
                // Nobody else writes here, so these are of a program that was killed.
                files::forget_halves(folder);
                Ok(Alone(file))
            }
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{}: another slvrc lab writes there; wait for it, or say another folder with --out",
                    folder.display()
                )
            }
            // A file system without locks holds nobody up.
            Err(TryLockError::Error(_)) => Ok(Alone(file)),
        }
    }
}
