//! `--seeds` and `--vary`: many analyses and their tables, a study without a file (`docs/reference/study.md`).

use super::args::CongestionArgs;
use crate::cli::error::{CliError, bad_config};
use crate::cli::instead::{self, Wanted};
use crate::cli::study;
use flitwise::config::{Base, NetworkSource, Study, load_network};

pub(super) fn run(args: &CongestionArgs) -> Result<(), CliError> {
    let bad = |problem: String| Err(CliError::BadInput(problem));
    let of_one = [
        ("--tables", !args.tables.is_empty()),
        ("--routing", !args.routing.is_empty()),
        ("--fail", !args.fail.is_empty()),
        ("--vls", args.vls),
        ("--until-ci", args.until_ci.is_some()),
        ("--cables", args.cables > 0),
        ("--check", args.check),
    ];
    let given = of_one.iter().find(|(_, given)| *given);
    let given = given.map(|(option, _)| *option);
    if let Some(option) = given.or(args.options.without_key()) {
        return bad(format!(
            "{option} is for one analysis; leave out --seeds and --vary, or the option"
        ));
    }
    let experiment = args
        .fabric
        .as_deref()
        .filter(|file| file.as_os_str() != "-");
    let Some(file) = experiment else {
        return bad("--seeds and --vary vary the keys of an experiment; name its file".to_owned());
    };
    let wrong = |e| instead::error("congestion", Wanted::Network, Some(file), &e);
    // Checked first, so that no other file is taken for an experiment.
    let loaded = load_network(Some(file), None, &[]).map_err(wrong)?;
    let NetworkSource::Experiment(only) = &loaded.source else {
        return bad(format!(
            "{}: --seeds and --vary vary the keys of an experiment, and this is none; name it in one (docs/reference/experiment.md)",
            file.display()
        ));
    };
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let typed = |e| bad_config(None, &e);
    let mut base = Base::of_file(file).map_err(wrong)?;
    // The same as without these options.
    base.for_analyses = true;
    let mut study = Study::of(&name, base);
    if only.congestion.is_none() {
        study.set("congestion={}");
    }
    for set in args.options.sets().iter().chain(&args.sets) {
        study.set(set);
    }
    if let Some(seeds) = &args.seeds {
        study::set_seeds(&mut study, seeds)?;
    }
    for vary in args.options.axes().iter().chain(&args.vary) {
        study.vary(vary).map_err(typed)?;
    }
    let options = study::Options {
        out: args.out.clone(),
        jobs: args.threads,
        json: args.json,
        ..study::Options::default()
    };
    study::execute(study, &options)
}
