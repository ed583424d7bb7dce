//! `slvrc lab`: federated learning around any predicate, under attack.
//!
//! | file | does |
//! |---|---|
//! | `options.rs` | arguments, and what is asked of them |
//! | `resume.rs` | what results are of, and whether they may be gone on with |
//! | `cells.rs`, `results.rs` | the grid of cells; what it found, on disk |
//! | `table.rs`, `counted.rs` | Markdown: accuracies; whose updates counted |
//! | `chart.rs`, `heat.rs`, `csv.rs` | SVG over rounds, and over settings; a line for each round, and for each class |
//! | `paper.rs` | the paper's figures |
//! | `page.rs` | a page of several results |

mod cells;
mod chart;
mod counted;
mod csv;
mod heat;
mod options;
mod page;
mod paper;
mod results;
mod resume;
mod table;

pub use options::Lab;

use crate::fail::{Usage, misuse, note, say, say_done, say_json};
use crate::lab::sizes::Declared;
use crate::lab::subject::{self, Bound};
use crate::lab::{attack, data, sizes};
use crate::progress::bar;
use cells::Grid;
use results::{ADAPTIVE, Results};
use serde_json::json;
use slvr::files;
use slvr_circuit::Security;
use slvr_simulation::lab::attacks::{Attack, ChosenError, name_of};
use slvr_simulation::lab::fill::Role;
use slvr_simulation::lab::knowledge::Knows;
use slvr_simulation::lab::shift::Shift;
use slvr_simulation::lab::world::{Setting, Source, World};
use slvr_simulation::train::Sgd;
use std::collections::BTreeMap;
use std::time::Instant;

/// Files in the folder of results, beside the results themselves.
const PLOT: &str = "accuracy.svg";
const TABLE: &str = "table.md";
const ROUNDS: &str = "rounds.csv";
const CLASSES: &str = "classes.csv";

/// What `--attacks paper` stands for.
const PAPER: [&str; 5] = ["noise", "label-flip", "sign-flip", ADAPTIVE, "extreme"];

/// What the file of the table and the terminal say alike.
struct Texts {
    /// The setting, what is measured, and the tables of accuracies.
    head: String,
    about: String,
    checks: String,
}

impl Texts {
    fn of(results: &Results) -> Texts {
        let (setting, measure) = (table::setting(results), table::measure(results));
        let table = table::table(results, false);
        let legend = table::legend(&table);
        let backdoor = table::backdoors(results).map(|t| format!("\n{t}")).unwrap_or_default();
        Texts {
            head: format!("{setting}\n\n{measure}\n\n{table}{legend}{backdoor}"),
            about: table::about(results),
            checks: table::checks(results),
        }
    }
}

impl Lab {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if let Some(page) = &self.page {
            page::write(&self.from, page)?;
            let page = page.display().to_string();
            return say_done(json, json!({ "page": page }), &format!("{page} is written"));
        }
        self.sound()?;
        let (predicates, attacks) = (self.predicates()?, self.attack_names()?);
        let malicious = self.malicious(&attacks)?;
        let (given, roles) = (self.given()?, self.roles()?);
        self.known_bindings(&predicates, &given)?;
        let started = Instant::now();
        let read = |name: &str| data::load(name, self.data.as_deref());
        let data = read(&self.dataset)?;
        let model = match &self.model {
            Some(model) => model.clone(),
            None => data::model(data.train.shape())?.to_string(),
        };
        let trained = subject::model(&model)?;
        let data = data::shaped(data, &trained.shape.input)?;
        let other = match &self.shift_to {
            Some(name) => Some(data::scaled_to(read(name)?, &trained.shape.input)?),
            None => None,
        };
        let source = Source { data: &data, other: other.as_ref() };
        let setting = self.setting(malicious);
        // Splits the data once beforehand: what is said of the setting is what there is, and not what was asked for.
        let world = World::new(trained.net.clone(), source, setting.clone())?;
        let bound = Bound {
            model: model.clone(),
            shape: trained.shape.clone(),
            corrupt: setting.in_a_round(malicious).max(1) as u64,
            samples: self.validation as u64,
            security: Security::SemiHonest,
            given,
            roles,
            aggregate: self.aggregate.clone(),
            sample: data.test.select(&(0..data.test.len().min(20)).collect::<Vec<_>>()),
        };
        let said = self.described(&model, (&world, source), &predicates)?;
        let fresh = Results {
            setting: resume::recorded(&said),
            predicates,
            attacks,
            seeds: (0..self.seeds).map(|i| self.seed + i).collect(),
            last: self.last,
            cells: BTreeMap::new(),
            about: BTreeMap::new(),
        };
        let _alone = self.folder()?;
        let results = self.known(fresh, &said)?;
        let bar = bar(0, "[{bar:24}] {pos}/{len} rounds, {eta} left: {msg}");
        let grid = Grid {
            setting,
            source,
            trained: &trained,
            bound,
            fast: self.fast,
            every: self.parties_every,
            knows: self.knowledge.map_or(Knows::Described, Knows::from),
            folder: self.out.clone(),
        };
        let results = grid.run(results, world, &bar)?;
        bar.finish_and_clear();
        self.report(&results, started.elapsed().as_secs_f64(), json)
    }

    /// Makes the folder of results, in which all that is written in the end can be written and nobody else writes.
    fn folder(&self) -> anyhow::Result<options::Alone> {
        files::make_folder(&self.out)?;
        for file in [results::FILE, PLOT, TABLE, ROUNDS, CLASSES] {
            options::may_be_written(&self.out.join(file))?;
        }
        options::Alone::of(&self.out)
    }

    /// Writes plot, table and the lines for each round and class.
    fn write(&self, results: &Results, texts: &Texts) -> anyhow::Result<()> {
        let shifts = self.shift.as_ref().map(|_| chart::shifts(self.shift_every, self.rounds));
        let shifts = shifts.unwrap_or_default();
        let title = format!("Test accuracy (%) over rounds: {}", self.dataset);
        let write = |file: &str, text: &str| files::write(&self.out.join(file), text.as_bytes());
        write(PLOT, &chart::svg(results, &title, &shifts))?;
        write(ROUNDS, &csv::rounds(results))?;
        write(CLASSES, &csv::classes(results))?;
        let Texts { head, about, checks } = texts;
        let notes: String = table::notes(results).iter().map(|n| format!("\n{n}\n")).collect();
        let counted = counted::all(results);
        write(TABLE, &format!("{head}{notes}\n{counted}\n{about}\n{checks}"))?;
        Ok(())
    }

    /// Writes what is to be written, and prints the table.
    fn report(&self, results: &Results, seconds: f64, json: bool) -> anyhow::Result<()> {
        let texts = Texts::of(results);
        self.write(results, &texts)?;
        let ran = |agrees| {
            let all = results.cells.values().flat_map(|d| &d.checks);
            all.filter(|c| c.agrees == agrees).count()
        };
        let (agree, differ, unproven) = (ran(Some(true)), ran(Some(false)), ran(None));
        for text in table::notes(results) {
            note(&text);
        }
        if unproven > 0 {
            note(&format!(
                "of {unproven} runs among three parties nothing is proven: their differences are not judged"
            ));
        }
        if differ > 0 {
            note(&format!(
                "{differ} runs among three parties differ by more than is proven: a decision came out otherwise"
            ));
        }
        if json {
            let worst = |p: &String| {
                let (attack, done) = results.worst(p)?;
                let (mean, _) = results.last(&done)?;
                Some((p.clone(), json!({ "attack": attack, "accuracy": mean })))
            };
            let worst: serde_json::Map<_, _> =
                results.predicates.iter().filter_map(worst).collect();
            return say_json(json!({
                "results": results, "worst": worst, "seconds": seconds, "disagreeing_runs": differ,
            }));
        }
        let Texts { head, about, checks } = texts;
        let ran = match agree + differ {
            0 if unproven == 0 => String::new(),
            n if differ + unproven == 0 => {
                format!("three parties agreed in all {n} runs\n\n{checks}\n")
            }
            n => format!(
                "three parties agreed in {agree} of the {n} runs that could be judged\n\n{checks}\n"
            ),
        };
        say(&format!(
            "{head}\n{}\n{about}\n{ran}{} and {} were written in {seconds:.0} s\n",
            counted::worst(results),
            table::plain(&self.out.join(TABLE).display().to_string()),
            table::plain(&self.out.join(PLOT).display().to_string()),
        ))
    }

    fn setting(&self, malicious: usize) -> Setting {
        Setting {
            clients: self.clients as usize,
            part: self.part,
            malicious,
            alpha: self.alpha,
            partition: self.partition.into(),
            samples: self.samples,
            validation: self.validation,
            public: self.public,
            test: self.test,
            pretrain: self.pretrain,
            rounds: self.rounds,
            sgd: Sgd {
                rate: self.rate,
                momentum: self.momentum,
                batch: self.batch,
                epochs: self.epochs,
            },
            shift: self.shift.map(|s| Shift { scenario: s.into(), every: self.shift_every }),
            seed: self.seed,
        }
    }

    fn predicates(&self) -> anyhow::Result<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        let named = self.file.iter().filter(|f| !options::is_binding(f));
        let listed = self.predicate.iter().flat_map(|list| sizes::listed(list));
        for name in named.cloned().chain(listed) {
            match name.as_str() {
                "" => misuse!("--predicate: a name is missing"),
                "paper" => all.extend(paper::defences()),
                name => all.push(options::canonical(name)),
            }
        }
        if all.is_empty() {
            all = ["norm_bound", "slvr_accuracy"].map(String::from).to_vec();
        }
        // Beside what checks nothing.
        if self.shift.is_none() && all.len() == 1 {
            all.push("secure_aggregation".into());
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|p| seen.insert(p.clone()));
        Ok(all)
    }

    fn attack_names(&self) -> anyhow::Result<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        for name in &self.attacks {
            match name.as_str() {
                "all" => {
                    all.extend(Attack::ALL.iter().map(|a| a.name.to_string()));
                    all.push(ADAPTIVE.into());
                }
                "paper" => all.extend(PAPER.map(String::from)),
                ADAPTIVE => all.push(ADAPTIVE.into()),
                name if name_of(name) == ADAPTIVE => {
                    misuse!(
                        "--attacks: {name}: `{ADAPTIVE}` stands for several attacks; give their parameters to these"
                    )
                }
                name => {
                    let known =
                        || Attack::ALL.iter().map(|a| a.name).collect::<Vec<_>>().join(", ");
                    attack::chosen(name).map_err(|e| match e.is::<ChosenError>() {
                        true => {
                            let all = format!("there are {}, {ADAPTIVE}, paper and all", known());
                            Usage(format!("--attacks: {e}; {all}")).into()
                        }
                        false => e,
                    })?;
                    all.push(name.to_string());
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|a| seen.insert(a.clone()));
        Ok(all)
    }

    /// NAME=VALUE of the command line; without a file the first one stands in its place.
    fn given(&self) -> anyhow::Result<Vec<(String, String)>> {
        let first = self.file.iter().filter(|f| options::is_binding(f));
        sizes::given(first.chain(&self.bindings))
    }

    /// Refuses what no predicate has, and what options say.
    fn known_bindings(
        &self,
        predicates: &[String],
        given: &[(String, String)],
    ) -> anyhow::Result<()> {
        let all: Vec<Declared> =
            predicates.iter().map(|p| Declared::read(p)).collect::<anyhow::Result<_>>()?;
        for (name, value) in given {
            let binding = format!("{name}={value}");
            for declared in &all {
                declared.may_bind(&binding, name)?;
            }
            if !all.iter().any(|d| d.names().any(|n| n == name)) {
                let mut known: Vec<&str> = all.iter().flat_map(Declared::names).collect();
                known.sort_unstable();
                known.dedup();
                misuse!("`{binding}`: no predicate has a `{name}`; they have {}", known.join(", "));
            }
        }
        Ok(())
    }

    fn roles(&self) -> anyhow::Result<BTreeMap<String, Role>> {
        let one = |text: &String| -> anyhow::Result<(String, Role)> {
            let role =
                text.split_once('=').and_then(|(n, r)| Some((n.to_string(), Role::named(r)?)));
            role.ok_or_else(|| {
                Usage(format!(
                    "--fill: `{text}` is not NAME=ROLE, where ROLE is one of {}, or a number",
                    Role::names(|_| true)
                ))
                .into()
            })
        };
        let mut roles = BTreeMap::new();
        for text in &self.fill {
            let (name, role) = one(text)?;
            if roles.insert(name.clone(), role).is_some() {
                misuse!("--fill {text}: `{name}` has two roles");
            }
        }
        Ok(roles)
    }
}
